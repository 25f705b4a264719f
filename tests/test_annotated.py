"""`kina check --annotated`: a program with its layouts written out checks to the same layouts and plan."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kina.frontend.form_annotated import annotate
from kina.pipeline import Options, Result, check, check_file
from kina.source import Source

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("mlp", "megatron_data", "fsdp", "sequence_parallel", "megatron_fsdp", "vocabulary")


def plan(result: Result) -> Counter[tuple[str, tuple[str, ...], int]]:
    assert result.ok, result.findings
    assert result.decisions is not None
    return Counter((one.kind, one.axes, one.bytes) for one in result.decisions.collectives)


@pytest.mark.parametrize("name", NAMES)
def test_layouts_written_out_change_nothing(name: str) -> None:
    options = Options(solver="clingo")
    before = check_file(str(ROOT / "examples" / f"{name}.kina"), options)
    assert before.source is not None
    assert before.program is not None
    assert before.decisions is not None
    layouts = dict(enumerate(before.decisions.layouts))
    text = annotate(before.source, before.program, layouts, before.decisions.priorities)
    after = check(Source("annotated.kina", text), options)
    assert plan(after) == plan(before)
    assert after.decisions is not None
    assert after.decisions.layouts == before.decisions.layouts
