"""Which rules can fire on given facts."""

from __future__ import annotations

import pytest

from kina.datalog.compiled import compiled
from kina.datalog.modules import parse_text
from kina.datalog.souffle_program import program

RULES = """
.decl kind(op: symbol, kind: symbol)
.input kind
.decl barred(op: symbol)
.input barred
.decl product(op: symbol)
@[rule = "product"]
product(op) :- kind(op, "dot"), !barred(op).
.decl reduced(op: symbol)
@[rule = "reduced"]
reduced(op) :- kind(op, "reduce").
.decl reached(op: symbol)
.output reached
@[rule = "start"]
reached(op) :- product(op).
@[rule = "other-start"]
reached(op) :- reduced(op).
@[rule = "on"]
reached(op) :- reached(op), product(op).
.decl size(n: number)
.output size
@[rule = "size"]
size(n) :- n = count : { reduced(_) }.
"""


def firing(facts: dict[str, list[tuple[str | int, ...]]]) -> set[str]:
    rules = compiled(parse_text(RULES, "x.dl", ()))
    return {rules.rulebook.rules[number].name for number in rules.live(facts).rules}


@pytest.mark.parametrize(
    ("facts", "names"),
    [
        ({}, {"size"}),
        ({"kind": [("a", "exp")]}, {"size"}),
        ({"kind": [("a", "dot")]}, {"product", "start", "on", "size"}),
        ({"kind": [("a", "dot")], "barred": [("a",)]}, {"product", "start", "on", "size"}),
        ({"kind": [("a", "reduce")]}, {"reduced", "other-start", "size"}),
        (
            {"kind": [("a", "reduce"), ("b", "dot")]},
            {"product", "reduced", "start", "other-start", "on", "size"},
        ),
    ],
)
def test_a_rule_can_fire_if_all_that_it_needs_can_be_there(
    facts: dict[str, list[tuple[str | int, ...]]], names: set[str]
) -> None:
    assert firing(facts) == names


def test_what_no_output_rests_on_is_left_out() -> None:
    rules = compiled(parse_text(RULES, "x.dl", ()))
    facts: dict[str, list[tuple[str | int, ...]]] = {"kind": [("a", "dot")]}
    written = program(rules.parts, rules.live(facts), rules.tables, ["reached"])
    assert written.inputs == ("kind",)
    assert "barred" not in written.text, "it is empty, so nothing is asked of it"
    assert "reduced" not in written.text
    assert len(written.lines) == len(written.text.splitlines())
    counted = program(rules.parts, rules.live(facts), rules.tables, ["size"])
    assert ".decl reduced(" in counted.text, "an aggregate reads it, empty as it is"
