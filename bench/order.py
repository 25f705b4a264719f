"""How many layouts change when the same program is written otherwise: operands swapped, reshapes, names.

`python -m bench order`. Every variant computes the same. Shardy is asked about each single rewriting, Kina
about a sample of them and about all together, since each of its answers is a run of the rules.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure import ROOT
from bench.peers.kina_variants import variants
from bench.peers.results import markdown, save
from bench.peers.run import jax_environment, written
from bench.peers.schemes import ALL_SCHEMES, Scheme, Sizes

REWRITINGS = {
    "swap": "operands of a commutative op swapped",
    "respell": "a reshape that adds dims of size 1 written as a broadcast, or the reverse",
    "rename": "mesh axes (Shardy) or values (Kina) renamed",
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one kind of rewriting does: for each variant that was tried, the number of layouts that change."""

    scheme: str
    tool: str
    rewriting: str
    layouts: int
    changed: tuple[int, ...]
    conflict: bool


def measured(scheme: Scheme, most: int) -> list[Row]:
    """A row for each tool and rewriting of a step of one layer."""
    with written(Sizes(1), scheme) as files:
        command = [sys.executable, "-m", "bench.peers.shardy_variants", str(files.stablehlo)]
        done = subprocess.run(
            command, cwd=ROOT, check=True, env=jax_environment(1), stdout=subprocess.PIPE, text=True
        )
        shardy = json.loads(done.stdout)
        count, conflict, kina = variants(files.kina.read_text(encoding="utf-8"), most)
    rows = []
    for kind in REWRITINGS:
        rows.append(Row(scheme.name, "Shardy", kind, shardy["layouts"], tuple(shardy[kind]), False))
        rows.append(Row(scheme.name, "Kina", kind, count, tuple(kina[kind]), conflict))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The worst variant of each kind, and how many of those that were tried change anything."""
    lines = [
        [
            "1 layer",
            "rewriting",
            "Shardy: worst",
            "variants that change",
            "Kina: worst",
            "variants that change",
        ]
    ]
    known = {(row.scheme, row.rewriting, row.tool): row for row in rows}
    conflicts = []
    for scheme in dict.fromkeys(row.scheme for row in rows):
        for kind in REWRITINGS:
            cells = [ALL_SCHEMES[scheme].title if kind == "swap" else "", kind]
            for tool in ("Shardy", "Kina"):
                row = known[scheme, kind, tool]
                worst = max(row.changed, default=0)
                cells += [f"{worst} of {row.layouts}", f"{sum(map(bool, row.changed))} of {len(row.changed)}"]
            lines.append(cells)
        if known[scheme, "swap", "Kina"].conflict:
            conflicts.append(ALL_SCHEMES[scheme].title)
    meaning = "\n".join(f"- {kind}: {said}" for kind, said in REWRITINGS.items())
    notes = ""
    if conflicts:
        notes = (
            f"\n\nKina reports a conflict for {', '.join(conflicts)}; settled here by `--on-conflict cost`."
        )
    return f"{markdown(lines)}{notes}\n\n{meaning}\n"


def main(arguments: Sequence[str] = ()) -> None:
    """Try all variants, print the table, and leave it in `bench/results`."""
    parser = argparse.ArgumentParser(prog="python -m bench order", description=__doc__)
    parser.add_argument("--schemes", default=",".join(ALL_SCHEMES))
    parser.add_argument(
        "--most", type=int, default=6, help="single rewritings of a kind that Kina is asked about"
    )
    values = parser.parse_args(arguments)
    rows = [row for name in values.schemes.split(",") for row in measured(ALL_SCHEMES[name], values.most)]
    save("order", rows, table(rows))
