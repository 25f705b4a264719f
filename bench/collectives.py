"""What has to move for the same step: collectives of XLA, of Shardy's own partitioner and of Kina; memory.

`python -m bench collectives`, or with `--layers 12 --schemes tensor`. Bytes are those that each device moves,
by the same ring formula from each tool's own list.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.measure import ROOT
from bench.peers.counted import KINDS, Total, in_hlo, in_sdy, in_stablehlo, total
from bench.peers.options import parsed
from bench.peers.results import markdown, save
from bench.peers.run import jax_environment, written
from bench.peers.schemes import SCHEMES, Scheme, Sizes
from bench.plots import bars

TOOLS = {
    "XLA": "the optimised module of one device, as XLA compiles it for CPU devices",
    "Shardy": "Shardy's own partitioner: explicit reshards in full, collectives, its simplifications",
    "Kina": "the emitted module; its bytes are also what `kina check` says",
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one tool makes of a step: its collectives, and bytes in one device.

    `arguments` is what lies there before the step, `rest` all that is needed beside it, both as XLA says;
    `estimate` is the peak by Kina's own count.
    """

    scheme: str
    layers: int
    tool: str
    total: Total
    arguments: int | None
    rest: int | None
    estimate: int | None = None


def child(*words: str, devices: int) -> str:
    """What `bench.peers.child` prints."""
    command = [sys.executable, "-m", "bench.peers.child", *words]
    done = subprocess.run(
        command, cwd=ROOT, check=True, env=jax_environment(devices), stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def kina(*words: str) -> str:
    """What `kina` prints as its result."""
    command = [sys.executable, "-m", "kina", *words]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def measured(sizes: Sizes, scheme: Scheme) -> list[Row]:
    """A row for each tool."""
    axes = dict(scheme.mesh)
    with written(sizes, scheme) as files:
        folder = files.kina.parent
        hlo, sdy, emitted = folder / "step.hlo", folder / "step.sdy", folder / "emitted.mlir"
        xla = json.loads(
            child("xla", str(files.stablehlo), str(scheme.devices), str(hlo), devices=scheme.devices)
        )
        child("partitioned", str(files.stablehlo), str(sdy), devices=1)
        kina("compile", str(files.kina), "-o", str(emitted))
        ours = json.loads(child("emitted", str(emitted), str(scheme.devices), devices=scheme.devices))
        said = json.loads(kina("check", str(files.kina), "--format", "json"))
        check_bytes(said["cost_bytes"], emitted)
        return [
            _row(sizes, scheme, "XLA", total(in_hlo(_text(hlo))), xla),
            _row(sizes, scheme, "Shardy", total(in_sdy(_text(sdy), axes)), {}),
            replace(
                _row(sizes, scheme, "Kina", total(in_stablehlo(_text(emitted))), ours),
                estimate=said["peak_bytes"],
            ),
        ]


def _row(sizes: Sizes, scheme: Scheme, tool: str, found: Total, stats: Mapping[str, int]) -> Row:
    rest = stats["temporaries"] + stats["results"] - stats["shared"] if stats else None
    return Row(scheme.name, sizes.layers, tool, found, stats.get("arguments"), rest)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def check_bytes(said: int, emitted: Path) -> None:
    """Stop if `kina check` says other bytes than the emitted module moves."""
    moves = total(in_stablehlo(_text(emitted))).bytes
    # each price is rounded down by itself
    if abs(said - moves) > 1 + said // 1000:
        raise SystemExit(f"`kina check` says {said} bytes, the emitted module moves {moves}")


def table(rows: Sequence[Row]) -> str:
    """One table for each number of layers."""
    blocks = []
    for layers in dict.fromkeys(row.layers for row in rows):
        lines = [
            [f"{layers} layers", "tool", *KINDS, "bytes moved", "of XLA's", "arguments", "beside", "estimate"]
        ]
        here = [row for row in rows if row.layers == layers]
        xla = {row.scheme: row.total.bytes for row in here if row.tool == "XLA"}
        for row in here:
            counts = [str(row.total.counts.get(kind, "")) for kind in KINDS]
            share = f"{row.total.bytes / xla[row.scheme]:.2f}"
            memory = [_number(row.arguments), _number(row.rest), _number(row.estimate)]
            title = SCHEMES[row.scheme].title if row.tool == "XLA" else ""
            lines.append([title, row.tool, *counts, _number(row.total.bytes), share, *memory])
        blocks.append(markdown(lines))
    meaning = "\n".join(f"- {tool}: {said}" for tool, said in TOOLS.items())
    notes = (
        "Bytes are per device and step. `arguments` and `beside` are what XLA needs on each device, for its "
        "own partitioning of the JAX program and for the module that Kina emits; `estimate` is the peak that "
        "Kina counts, arguments included."
    )
    return "\n\n".join([*blocks, notes, meaning]) + "\n"


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def pictures(rows: Sequence[Row]) -> dict[str, str]:
    """Bytes moved by each tool under each scheme, for the largest number of layers."""
    layers = max(row.layers for row in rows)
    groups: dict[str, dict[str, float]] = {}
    for row in rows:
        if row.layers == layers:
            groups.setdefault(row.scheme, {})[row.tool] = row.total.bytes / 2**20
    return {"bytes": bars(f"MiB that each device moves in a step, {layers} layers", groups)}


def main(arguments: Sequence[str] = ()) -> None:
    """Count, print the table, and leave it in `bench/results`."""
    values = parsed("collectives", __doc__, arguments, layers="12", rounds=1)
    rows = [
        row
        for layers in values.layers
        for scheme in values.schemes
        for row in measured(Sizes(layers), scheme)
    ]
    save("collectives", rows, table(rows), pictures(rows))
