"""Conflicts that are settled by cost."""

from __future__ import annotations

import pytest

from kina.frontend.form_annotated import annotate
from kina.pipeline import Options, Result, check
from kina.report.tables import layout_rows
from kina.source import Source
from tests.explain.test_conflicts import CONFLICTS, ENTANGLED

#: Both products are asked for the same two things by the same two annotations.
TWICE = """
(mesh (x 4))
(defn scores (q k) (einsum "bqd,bkd->bqk" q k))
(defn f ((q (tensor f32 [2 32 8]) @sharded(axis=1)) (k (tensor f32 [2 32 8]) @sharded(axis=1)))
  (sum (multiply (scores q k) (scores q k))))
"""

#: Two causes: the second conflict is about other tensors.
APART = """
(mesh (x 4))
(defn f ((a (tensor f32 [8 8]) @sharded(axis=0)) (b (tensor f32 [8 8]) @sharded(axis=1))
         (c (tensor f32 [4 8 4]) @sharded(axis=0)) (d (tensor f32 [4 8 4]) @sharded(axis=2)))
  (values (add a b) (add c d)))
"""


def settled(text: str) -> Result:
    result = check(Source("t.kina", text), Options(solver="clingo", on_conflict="cost"))
    assert result.ok, result.findings
    return result


def test_conflicts_of_one_cause_are_settled_alike() -> None:
    result = settled(TWICE)
    warnings = [finding for finding in result.findings if finding.code == "K203"]
    assert len(warnings) == 1
    assert warnings[0].notes == ("1 more place is settled alike (`scores#2` at 3:20)",)
    assert result.program is not None
    assert result.decisions is not None
    layouts = {result.decisions.layouts[note.value] for note in result.program.annotations if note.settled}
    assert len(layouts) == 1


def test_conflicts_of_two_causes_are_settled_one_by_one() -> None:
    assert [finding.code for finding in settled(APART).findings] == ["K203", "K203"]


def test_what_was_settled_is_not_called_given() -> None:
    result = settled(TWICE)
    assert result.program is not None
    assert result.decisions is not None
    rows, _ = layout_rows(result.program, result.decisions, True)
    origins = {row[0]: row[3] for row in rows}
    assert origins["f.q"] == "given"
    assert [name for name, origin in origins.items() if origin == "settled"] == [
        "f.scores",
        "f.scores#2",
    ]


@pytest.mark.parametrize("text", [TWICE, APART, *CONFLICTS.values(), *ENTANGLED.values()])
def test_what_was_settled_can_be_written_out(text: str) -> None:
    result = settled(text)
    assert result.program is not None
    assert result.decisions is not None
    source, layouts = Source("t.kina", text), dict(enumerate(result.decisions.layouts))
    written = annotate(source, result.program, layouts, result.decisions.priorities)
    again = check(Source("t.kina", written), Options(solver="clingo"))
    assert again.ok, again.findings
    assert again.decisions is not None
    assert again.decisions.layouts == result.decisions.layouts
    assert again.decisions.cost_bytes == result.decisions.cost_bytes
