"""Laws of the text renderer that hold for any finding."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina.diagnostics.cells import cells, cut, printable, row, wrap
from kina.diagnostics.diff import apply_edits
from kina.diagnostics.finding import Edit, Finding, Label, ProofStep
from kina.diagnostics.proof_tree import proof_lines
from kina.diagnostics.style import Style
from kina.diagnostics.text import render_text, summary
from kina.source import Source, Span
from tests.diagnostics.samples import SAMPLES, chain

TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80)
_SGR = re.compile(r"\x1b\[[\d;]*m")


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    source = Source("any.kina", draw(st.text(alphabet="ab (日\u0301\t\n)\r", max_size=200)))

    def span() -> Span:
        ends = draw(st.tuples(st.integers(0, len(source.text)), st.integers(0, len(source.text))))
        return Span(source, min(ends), max(ends))

    labels = tuple(Label(span(), draw(TEXTS)) for _ in range(draw(st.integers(0, 5))))
    return Finding(
        "K101", draw(st.sampled_from(["error", "warning", "note"])), draw(TEXTS), span(), draw(TEXTS), labels
    )


@given(findings(), st.integers(40, 120))
def test_any_spans_are_rendered_without_control_characters(finding: Finding, width: int) -> None:
    text = render_text([finding], Style(width))
    assert all(char == "\n" or printable(char) == char for char in text)
    assert not any(line.endswith(" ") for line in text.splitlines())


@given(findings(), st.integers(40, 120))
def test_colour_adds_only_escapes(finding: Finding, width: int) -> None:
    plain = render_text([finding], Style(width))
    coloured = _SGR.sub("", render_text([finding], Style(width, colour=True)))
    assert [line.rstrip() for line in coloured.splitlines()] == plain.splitlines()


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("name", SAMPLES)
def test_samples_keep_to_the_width(name: str, width: int) -> None:
    for line in render_text(SAMPLES[name](), Style(width)).splitlines():
        assert cells(line) <= width, line


@given(TEXTS, st.integers(1, 40))
def test_wrapped_text_is_the_text(text: str, width: int) -> None:
    assert " ".join(wrap(text, width)) == text


@given(TEXTS, st.integers(0, 30), st.integers(0, 30))
def test_a_cut_has_no_more_columns_than_asked(text: str, start: int, width: int) -> None:
    assert cells(cut(printable(text), start, width)) <= width


@given(TEXTS)
def test_a_row_knows_the_columns_of_what_it_shows(text: str) -> None:
    laid = row(text)
    assert laid.width == cells(laid.shown)
    assert list(laid.starts) == sorted(laid.starts)


def test_deep_proofs_are_drawn_without_recursion() -> None:
    (finding,) = chain(20_000, 1)
    lines = proof_lines(finding.proof, 100, Style(proof="full"))
    assert sum("`h" in line for line in lines) == 20_000
    assert max(map(len, lines)) < 200


@pytest.mark.parametrize("width", [60, 80, 100])
@pytest.mark.parametrize("most", [4, 16, 24])
def test_a_short_proof_keeps_to_its_rows_and_shows_both_ends(width: int, most: int) -> None:
    words = "a sentence that takes a while to read and is wrapped where there is little room"
    steps = [ProofStep(0, "all", (), "all of them", "a.all", "rules/a.dl:1", None, tuple(range(1, 100)))]
    steps += [
        ProofStep(i, "one", (i,), f"{words}, {i}", f"a.r{i}", "rules/a.dl:2", None, ()) for i in range(1, 100)
    ]
    lines = proof_lines(steps, width, Style(width), most)
    assert 2 < len(lines) <= 1 + most
    assert "all of them" in lines[1]
    left_out = [line for line in lines if line.endswith("(`--proof full` shows them)")]
    assert len(left_out) == 1
    assert any(", 99" in line for line in lines[lines.index(left_out[0]) :])


def test_edits_of_one_text_are_made_together() -> None:
    source = Source("a", "abcdef")
    edits = [Edit(Span(source, 0, 1), "AA"), Edit(Span(source, 3, 3), "-"), Edit(Span(source, 5, 6), "")]
    assert apply_edits(source.text, edits) == "AAbc-de"


def test_summary_counts_by_severity() -> None:
    made = [
        Finding("K101", "error", "", None),
        Finding("K301", "note", "", None),
        Finding("K302", "note", "", None),
    ]
    assert summary(made) == "1 error, 2 notes; `kina explain K101` says more\n"
    assert summary([]) == ""


def test_only_the_full_proof_has_what_the_user_did_not_write() -> None:
    (finding,) = SAMPLES["Steps that are shared and hidden"]()
    short = "\n".join(proof_lines(finding.proof, 100, Style()))
    full = "\n".join(proof_lines(finding.proof, 100, Style(proof="full")))
    for sentence in ("never shown", "an exception of the tables"):
        assert sentence not in short
        assert sentence in full


def test_a_proof_without_annotations_is_shown_whole() -> None:
    steps = [
        ProofStep(0, "all", (), "the whole", "a.all", "rules/a.dl:1", None, (1,)),
        ProofStep(1, "fact", (), "a fact of the program"),
    ]
    assert any("a fact of the program" in line for line in proof_lines(steps, 100, Style()))
