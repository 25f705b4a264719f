"""Soufflé's own proofs, by `-t explain`: height and leaves of a tuple."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kina.datalog.rules import Rulebook
from kina.datalog.souffle_engine import SouffleInstall, fact_text

Row = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Explained:
    """The height of a proof, and the tuples in it that have no premises."""

    height: int
    leaves: frozenset[str]


def explain(
    install: SouffleInstall,
    rulebook: Rulebook,
    facts: Mapping[str, Sequence[Row]],
    goals: Sequence[tuple[str, Row]],
) -> list[Explained]:
    """One answer for each goal; every relation is output, so that none is optimised away."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for relation in rulebook.inputs:
            (work / f"{relation.name}.facts").write_text(fact_text(relation, facts.get(relation.name, ())))
        outputs = "".join(
            f".output {name}\n" for name, each in rulebook.relations.items() if not each.is_output
        )
        (work / "main.dl").write_text(f"{rulebook.entry.text}\n{outputs}")
        command = [install.path, "--no-preprocessor", "-w", "-t", "explain", "-F", folder, "-D", folder]
        for place in rulebook.search:
            command += ["-I", str(Path(place).resolve())]
        asked = "".join(f"explain {atom(name, row)}\n" for name, row in goals)
        done = subprocess.run(
            [*command, str(work / "main.dl")],
            input=f"setdepth 10000\nformat json\n{asked}exit\n",
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    return [_explained(each["proof"]) for each in _documents(done.stdout)]


def atom(name: str, row: Row) -> str:
    return f"{name}({', '.join(json.dumps(value, ensure_ascii=False) for value in row)})"


def _documents(text: str) -> list[dict[str, Any]]:
    decoder = json.JSONDecoder()
    found = []
    position = text.find("{")
    while position >= 0:
        document, end = decoder.raw_decode(text, position)
        found.append(document)
        position = text.find("{", end)
    return found


def _explained(proof: dict[str, Any]) -> Explained:
    """Comparisons are no tuples; relations that the compiler made for aggregates are looked through."""
    leaves: set[str] = set()
    heights: dict[int, int] = {}
    stack = [(proof, False)]
    while stack:
        node, done = stack.pop()
        children = node.get("children", [])
        if not children:
            text = node["axiom"]
            if re.match(r"[a-z_][\w.]*\(", text) and not text.startswith("__"):
                leaves.add(text)
            heights[id(node)] = 0
        elif done:
            above = [heights[id(child)] for child in children]
            heights[id(node)] = 0 if node["premises"].startswith(("__", "+")) else 1 + max(above)
        else:
            stack.append((node, True))
            stack += [(child, False) for child in children]
    return Explained(heights[id(proof)], frozenset(leaves))
