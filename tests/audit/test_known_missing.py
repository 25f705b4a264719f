"""Placements that are known to be missing have reasons that people can read, and are of ops that exist."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

from kina.audit.lacking import known_missing
from kina.frontend.ops import OPS

LIMITS = Path(__file__).resolve().parents[2] / "docs" / "limits.md"


def test_every_reason_stands_in_the_limits_with_its_ops() -> None:
    text = " ".join(LIMITS.read_text(encoding="utf-8").split())
    for known in known_missing():
        assert f"`{known.op}`: {known.reason}" in text, known
    listed = text.partition("## Placements that no rule allows")[2].partition("## ")[0].count("- `")
    assert listed == len({(known.op, known.reason) for known in known_missing()})


def test_every_entry_is_about_an_op() -> None:
    for known in known_missing():
        assert any(fnmatchcase(kind, known.op) for kind in OPS), known.op


def test_a_pattern_covers_what_is_printed() -> None:
    sort = next(known for known in known_missing() if known.op == "sort")
    assert sort.covers("sort", "inputs[1] pending max -> result 1 pending max")
    assert not sort.covers("sort", "inputs[0] split -> result 0 split")
    assert not sort.covers("top_k", "inputs[1] pending max -> result 1 pending max")
