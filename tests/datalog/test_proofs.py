"""Proofs: least height, words, checks, and Soufflé's own as the oracle."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from kina.datalog.engine import solve
from kina.datalog.modules import parse_text
from kina.datalog.proof_steps import check_step
from kina.datalog.proofs import Prover, proof_relations, prove
from kina.datalog.rules import Rulebook
from kina.datalog.souffle_engine import find_souffle
from kina.diagnostics.finding import ProofStep
from kina.facts.dump import dump
from kina.frontend.form import form
from kina.frontend.reader import load, read
from kina.paths import rules_path
from tests.datalog.explain import explain

ROOT = Path(__file__).parents[2]

WAYS = """.type V <: symbol
.decl edge(from: V, to: V)
.input edge
.decl closed(value: V)
.input closed
/// Holds if there is a way.
@[says = "`{to}` is reached from `{from}`"]
.decl way(from: V, to: V)
.output way
@[rule = "x.edge"]
way(x, y) :- edge(x, y), !closed(y).
@[rule = "x.step"]
@[hide]
way(x, z) :- way(x, y), way(y, z), x != z.
.decl many(value: V, ways: number)
.output many
@[rule = "x.many"]
many(x, n + 1) :- way(x, _), n = count : { way(x, y) }, n > 1.
"""
FACTS = {"edge": [("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("a", "d")], "closed": [("z",)]}


def world(
    rulebook: Rulebook, facts: dict[str, list[tuple[str, ...]]]
) -> dict[str, list[tuple[int | str, ...]]]:
    found = solve("clingo", rulebook, facts, rulebook.relations.keys() - facts.keys())
    return {**facts, **found.relations}


def test_the_shortest_way_is_taken() -> None:
    rulebook = parse_text(WAYS, "x.dl", ())
    tuples = world(rulebook, FACTS)
    steps = prove(rulebook, tuples, "way", ("a", "e"))
    assert [(step.says, step.rule, step.premises) for step in steps] == [
        ("`e` is reached from `a`", "x.step", (1, 2, 3)),
        ("`d` is reached from `a`", "x.edge", (4, 5)),
        ("`e` is reached from `d`", "x.edge", (6, 7)),
        ('"a" != "e"', "", ()),
        ('edge("a", "d")', "", ()),
        ('not closed("d")', "", ()),
        ('edge("d", "e")', "", ()),
        ('not closed("e")', "", ()),
    ]
    assert (steps[0].rule_at, steps[0].hidden, steps[1].hidden) == ("x.dl:14", True, False)
    assert Prover(rulebook, tuples).height("way", ("a", "e")) == 2
    assert [step.id for step in steps] == list(range(len(steps)))


def test_aggregates_and_arithmetic_are_leaves() -> None:
    rulebook = parse_text(WAYS, "x.dl", ())
    steps = prove(rulebook, world(rulebook, FACTS), "many", ("c", 3))
    assert [step.says for step in steps][1:4] == [
        "`d` is reached from `c`",
        "2 = count : { way(x, y) }",
        "2 > 1",
    ]


def test_what_is_not_derived_has_no_proof() -> None:
    rulebook = parse_text(WAYS, "x.dl", ())
    with pytest.raises(KeyError):
        prove(rulebook, world(rulebook, FACTS), "way", ("e", "a"))


def changed(step: ProofStep) -> list[ProofStep]:
    """Ways to spoil a step."""
    others = [replace(step, columns=("b", *step.columns[1:])), replace(step, rule="x.none")]
    if step.premises:
        others += [replace(step, premises=step.premises[::-1]), replace(step, premises=step.premises[1:])]
    return [other for other in others if other != step]


def test_a_spoilt_step_does_not_check() -> None:
    rulebook = parse_text(WAYS, "x.dl", ())
    tuples = world(rulebook, FACTS)
    for goal in (("way", ("a", "e")), ("many", ("c", 3))):
        steps = prove(rulebook, tuples, *goal)
        assert all(check_step(rulebook, tuples, steps, number) for number in range(len(steps)))
        for other in changed(steps[0]):
            assert not check_step(rulebook, tuples, (other, *steps[1:]), 0)
        false = replace(steps[-1], columns=("no", "no")[: len(steps[-1].columns)])
        assert not all(
            check_step(rulebook, tuples, (*steps[:-1], false), number) for number in range(len(steps))
        )


def test_a_negation_that_does_not_hold_is_noticed() -> None:
    rulebook = parse_text(WAYS, "x.dl", ())
    tuples = world(rulebook, FACTS)
    steps = prove(rulebook, tuples, "way", ("a", "b"))
    assert check_step(rulebook, tuples, steps, 0)
    assert not check_step(rulebook, {**tuples, "closed": [("b",)]}, steps, 0)


def test_a_chain_of_thousands_of_steps() -> None:
    size = 3000
    rulebook = parse_text(
        ".decl next(from: number, to: number)\n.input next\n.decl on(number: number)\n.output on\n"
        '@[rule = "x.first"]\non(0).\n@[rule = "x.next"]\non(y) :- on(x), next(x, y).\n',
        "x.dl",
        (),
    )
    facts = {"next": [(number, number + 1) for number in range(size)]}
    tuples = {**facts, "on": [(number,) for number in range(size + 1)]}
    prover = Prover(rulebook, tuples)
    steps = prover.prove("on", (size,))
    assert len(steps) == 2 * size + 1
    assert prover.height("on", (size,)) == size
    assert all(check_step(rulebook, prover.tables, steps, number) for number in range(len(steps)))


def compare_with_souffle(
    rulebook: Rulebook, facts: dict[str, list[tuple[int | str, ...]]], count: int
) -> None:
    """Heights agree on sampled tuples, and leaves, where there is one proof of that height."""
    install = find_souffle()
    assert install is not None
    relations = [name for name in rulebook.relations if not rulebook.relations[name].is_input]
    solution = solve("souffle", rulebook, facts, relations)
    prover = Prover(rulebook, {**facts, **solution.relations})
    derived = [(name, row) for name in relations for row in solution.relations[name]]
    goals = random.Random(7).sample(derived, min(count, len(derived)))
    differing = 0
    for (name, row), oracle in zip(goals, explain(install, rulebook, facts, goals), strict=True):
        steps = prover.prove(name, row)
        assert all(check_step(rulebook, prover.tables, steps, number) for number in range(len(steps)))
        assert prover.height(name, row) == oracle.height, (name, row)
        differing += {plain(step) for step in steps if is_leaf(rulebook, step)} != oracle.leaves
    assert differing <= len(goals) // 4


@pytest.mark.souffle
def test_souffle_gives_the_same_height_and_leaves() -> None:
    text = (
        WAYS
        + """.comp Level { .decl at(value: V)
  .output at
  .decl before(value: V)
  .output before
  @[rule = "x.at"]
  at(x) :- before(x).
  @[rule = "x.along"]
  at(y) :- at(x), edge(x, y), !closed(y). }
.init low = Level
.init high = Level
@[rule = "x.low"]
low.before("v0").
@[rule = "x.high"]
high.before(x) :- low.at(x), edge(x, _), edge(_, x).
"""
    )
    chooser = random.Random(1)
    edges = {(f"v{chooser.randrange(14)}", f"v{chooser.randrange(14)}") for _ in range(30)}
    closed = [("v3",), ("v9",)]
    compare_with_souffle(parse_text(text, "x.dl", ()), {"edge": sorted(edges), "closed": closed}, 60)


@pytest.mark.souffle
@pytest.mark.deep
@pytest.mark.parametrize("example", ["mlp", "conflict", "vocabulary"])
def test_souffle_agrees_on_examples(example: str) -> None:
    facts = dump(form(read(load(str(ROOT / "examples" / f"{example}.kina")))))
    compare_with_souffle(parse_text(facts.entry, "main.dl", (rules_path(),)), facts.relations, 100)


def is_leaf(rulebook: Rulebook, step: ProofStep) -> bool:
    return not step.premises and step.relation in rulebook.relations


def plain(step: ProofStep) -> str:
    values = ", ".join(f'"{value}"' if isinstance(value, str) else str(value) for value in step.columns)
    return f"{step.relation}({values})"


def test_only_what_the_goal_rests_on_is_needed() -> None:
    rulebook = parse_text(WAYS, "x.dl", ())
    assert proof_relations(rulebook, "way") == {"way", "edge", "closed"}
