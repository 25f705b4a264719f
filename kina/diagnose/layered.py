"""Proofs in large programs by two runs: how layouts flow, then how the few ops on the way connect.

Most of what the rules derive of a program says how its ops connect, and a proof needs that of a few of them.
The first run gives the tuples of the levels, with the steps between dims as if they were given; the second
derives those steps from the facts of the ops that the proof passes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kina.datalog.proofs import Prover, proof_relations, without_collection
from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Atom, Negation
from kina.diagnose.case import Fact
from kina.diagnose.steps import STEP_RELATIONS
from kina.diagnostics.finding import ProofStep
from kina.facts.dump import Facts
from kina.facts.entry import ops_only

#: Relations whose tuples say how ops connect.
BOUNDARY = frozenset(STEP_RELATIONS)

#: Runs the rules of an entry file on facts: the tuples of the relations that are asked for.
Derive = Callable[[str, Mapping[str, Sequence[Fact]], Collection[str]], Mapping[str, Sequence[Fact]]]


@dataclass(frozen=True, slots=True)
class Outline:
    """What the first run is given and asked for, and the rules of its proofs."""

    rulebook: Rulebook
    inputs: frozenset[str]
    outputs: tuple[str, ...]


def outline(rulebook: Rulebook, goals: Iterable[str]) -> Outline:
    """The relations that proofs about `goals` need above the boundary."""
    rules: dict[str, list[Rule]] = {}
    for rule in rulebook.rules:
        rules.setdefault(rule.head.relation, []).append(rule)
    wanted, negated = _above(rules, goals)
    relations = {
        name: replace(relation, is_input=relation.is_input or name in BOUNDARY)
        for name, relation in rulebook.relations.items()
    }
    kept = tuple(rule for rule in rulebook.rules if rule.head.relation not in BOUNDARY)
    coarse = replace(rulebook, relations=relations, rules=kept)
    outputs = sorted(name for name in wanted | negated if not rulebook.relations[name].is_input)
    needed = proof_relations(rulebook, *outputs, *BOUNDARY)
    inputs = frozenset(name for name in needed if rulebook.relations[name].is_input)
    return Outline(coarse, inputs, tuple(outputs))


def facts_for(plan: Outline, facts: Facts, with_derived: bool) -> dict[str, list[Fact]]:
    """The facts that the first run needs.

    Those about gradients only `with_derived`: what the user wrote never takes a layout from there.
    """
    needed = {name: rows for name, rows in facts.relations.items() if name in plan.inputs}
    if with_derived or not facts.derived:
        return needed
    gone = {row[0] for name in ("op_derived", "value_derived") for row in facts.relations[name]}
    return {name: [row for row in rows if row[0] not in gone] for name, rows in needed.items()}


def _above(rules: Mapping[str, Sequence[Rule]], goals: Iterable[str]) -> tuple[set[str], set[str]]:
    """The relations that positive premises lead to, down to the boundary, and those that are negated."""
    queue = [*goals]
    wanted, negated = {*queue}, set[str]()
    while queue:
        name = queue.pop()
        for rule in rules.get(name, ()) if name not in BOUNDARY else ():
            for premise in rule.body:
                if isinstance(premise, Atom) and premise.relation not in wanted:
                    wanted.add(premise.relation)
                    queue.append(premise.relation)
                elif isinstance(premise, Negation):
                    negated.add(premise.atom.relation)
    return wanted, negated


@dataclass(frozen=True)
class LayeredProver:
    """Proves tuples of the relations that an outline was made for."""

    rulebook: Rulebook
    outline: Outline
    facts: Facts
    relations: Mapping[str, Sequence[Fact]]
    derive: Derive

    @cached_property
    def _coarse(self) -> Prover:
        return Prover(self.outline.rulebook, self.relations)

    def prove(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """A proof of the tuple, of least height where steps between dims count as given. KeyError if none."""
        with without_collection():
            steps = self.sketch(relation, fact)
            open_ = [(step.relation, step.columns) for step in steps if step.relation in BOUNDARY]
            if not open_:
                return steps
            return _joined(steps, open_, self._connections(steps).prove_all(open_))

    def sketch(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """The same without what the steps between dims rest on: by the first run alone."""
        return self._coarse.prove(relation, fact)

    def leaves(self, relation: str, fact: Fact, passed: Callable[[str], bool]) -> frozenset[tuple[str, Fact]]:
        """The input facts that any proof of the tuple can rest on, and the steps between dims."""
        return self._coarse.leaves(relation, fact, passed)

    def _connections(self, steps: Sequence[ProofStep]) -> Prover:
        """Derives how the ops connect that touch what the boundary steps of a proof speak of."""
        words = {str(each) for step in steps if step.relation in BOUNDARY for each in step.columns}
        given = self.facts.relations
        ops = {row[0] for name in ("op_operand", "op_result") for row in given[name] if row[3] in words}
        values = {row[3] for name in ("op_operand", "op_result") for row in given[name] if row[0] in ops}
        near = {
            table.name: _near(given.get(table.name, []), table.columns[0].type, ops, values)
            for table in self.rulebook.inputs
        }
        needed = proof_relations(self.rulebook, *BOUNDARY)
        derived = sorted(name for name in needed if not self.rulebook.relations[name].is_input)
        return Prover(self.rulebook, {**near, **self.derive(ops_only(self.facts.entry), near, derived)})


def _near(
    rows: Sequence[Fact], type_: str, ops: Collection[object], values: Collection[object]
) -> list[Fact]:
    """The facts about these ops and values; all that are about neither."""
    match type_:
        case "Op":
            return [row for row in rows if row[0] in ops]
        case "Value":
            return [row for row in rows if row[0] in values]
        case _:
            return list(rows)


def _joined(
    steps: Sequence[ProofStep], open_: Collection[tuple[str, Fact]], below: Sequence[ProofStep]
) -> tuple[ProofStep, ...]:
    """The proof with the steps at the boundary, `open_`, proved by those `below`; a tuple is one step."""
    merged = list(steps)
    known = {(step.relation, step.columns): step.id for step in steps}
    numbers = []
    for step in below:
        key = (step.relation, step.columns)
        if key not in known:
            known[key] = len(merged)
            merged.append(step)
        numbers.append(known[key])
    goals = frozenset(open_)
    for step, number in zip(below, numbers, strict=True):
        if step is merged[number] or (step.relation, step.columns) in goals:
            premises = tuple(numbers[premise] for premise in step.premises)
            merged[number] = replace(step, id=number, premises=premises)
    return tuple(merged)
