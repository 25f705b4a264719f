"""`docs/writing-rules.md` is true: its files are right, and its commands print what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.writing_rules import carried_out, steps

#: How many instances and placements an audit looks at may change; what it finds may not.
_COUNTS = re.compile(r"^(\w+) +\d+ +[\d,]+ +\d+(?= +\d+ +\d+$)|(?<=op, )[\d,]+(?= placements)", re.M)


def test_it_adds_the_ops_that_it_promises() -> None:
    files = [step.name for step in steps() if not step.command]
    for op in ("rotary", "window", "fused_attention"):
        assert {f"{op}.kina", f"{op}.dl", f"{op}.test.md"} <= set(files)
    assert sum(step.slow for step in steps()) == 9


def test_commands_print_what_is_said(tmp_path: Path) -> None:
    for step, text in carried_out(tmp_path, lambda step: not step.slow):
        assert text == step.text, f"{step.name}: run `make accept`"


@pytest.mark.deep
def test_audits_find_what_is_said(tmp_path: Path) -> None:
    for step, text in carried_out(tmp_path, lambda step: step.slow or step.name.startswith("kina rules new")):
        counted = [_COUNTS.sub(r"\1", each) for each in (text, step.text)]
        assert counted[0] == counted[1], f"{step.name}: run `python -m tests.writing_rules`"
