"""Answers as text for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kina.diagnose.case import subproof
from kina.diagnostics.cells import printable, wrap
from kina.diagnostics.finding import Finding, ProofStep
from kina.diagnostics.proof_tree import proof_lines
from kina.diagnostics.style import Style
from kina.diagnostics.text import section, sources
from kina.explain.answer import Answer
from kina.report.as_json import proof_json, span_json

#: Rows of a proof in its short form: with its statement and its place an answer fits on a screen.
_PROOF_ROWS = 16


def render_answers(answers: Sequence[Answer], style: Style) -> str:
    """All answers, a blank line between them."""
    return "\n".join("\n".join(_answer(answer, style)) + "\n" for answer in answers)


def _answer(answer: Answer, style: Style) -> list[str]:
    first, *rest = wrap(printable(answer.statement), style.width)
    out = [style.paint(first, "strong"), *(style.paint("  " + line, "strong") for line in rest)]
    if answer.brief:
        return out + [f"  = more: `{printable(command)}`" for command in answer.more]
    place = Finding("", "note", answer.statement, answer.at, answer.below, labels=answer.labels)
    digits, lines = sources(place, style)
    out += lines
    out += [part for line in answer.lines for part in _indented(printable(line), style.width)]
    for evidence in answer.evidence:
        if evidence.title:
            out += section("because", [printable(evidence.title)], digits, style)
        proof = evidence.proof if style.proof == "full" else _without_echo(evidence.proof)
        tree = proof_lines(proof, style.width - digits - 3, style, _PROOF_ROWS)
        out += section("proof", tree, digits, style)
    for note in answer.notes:
        out += section("note", [printable(note)], digits, style)
    if answer.more:
        commands = ", ".join(f"`{printable(command)}`" for command in answer.more)
        out += section("more", [commands], digits, style)
    return [line.rstrip() for line in out]


def _indented(line: str, width: int) -> list[str]:
    """A line that may be indented, wrapped with its continuation two columns further in."""
    text = line.lstrip(" ")
    indent = " " * (2 + len(line) - len(text))
    first, *rest = wrap(text, width - len(indent) - 2)
    return [indent + first, *(indent + "  " + part for part in rest)]


def _without_echo(proof: tuple[ProofStep, ...]) -> tuple[ProofStep, ...]:
    """The proof from the last step on that says what the root says, with nothing but hidden ones between."""
    start = current = 0
    while True:
        same = [number for number in proof[current].premises if proof[number].says == proof[0].says]
        if not same:
            return subproof(proof, start) if start else proof
        current = same[0]
        if not proof[current].hidden:
            return subproof(proof, current)


def answers_json(file: str, answers: Sequence[Answer], solver: tuple[str, str]) -> str:
    """One object on one line."""
    whole: dict[str, Any] = {
        "version": 1,
        "file": file,
        "holds": all(answer.holds for answer in answers),
        "answers": [_json(answer) for answer in answers],
        "solver": {"name": solver[0], "version": solver[1]},
    }
    return json.dumps(whole) + "\n"


def _json(answer: Answer) -> dict[str, Any]:
    return {
        "kind": answer.kind,
        "question": answer.question,
        "statement": answer.statement,
        "at": span_json(answer.at),
        "below": answer.below,
        "labels": [{"message": label.message, **span_json(label.span)} for label in answer.labels],
        "lines": list(answer.lines),
        "evidence": [
            {"title": evidence.title, "proof": proof_json(evidence.proof)} for evidence in answer.evidence
        ],
        "notes": list(answer.notes),
        "more": list(answer.more),
    }
