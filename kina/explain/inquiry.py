"""A solved program with all that proofs about some of its relations rest on: one run of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property

from kina.datalog.engine import solve
from kina.datalog.proofs import Prover, proof_relations
from kina.datalog.rules import Rulebook
from kina.diagnose.case import Case, Fact
from kina.diagnose.layered import LayeredProver, facts_for, outline
from kina.diagnose.solved import compiled_rules, deriving, rules_of
from kina.facts.dump import Facts, dump
from kina.facts.entry import layouts_only, level_names, steps_everywhere
from kina.facts.names import encode
from kina.frontend.ir import Program, Value

Stage = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Inquiry:
    """A program and what the rules derived of it, as far as the questions need it.

    `goal` is the relation that says where a dim is in the end; its rows begin with value, dim and list.
    """

    program: Program
    facts: Facts
    rulebook: Rulebook
    relations: Mapping[str, Sequence[Fact]]
    solver: tuple[str, str]
    prover: Prover | LayeredProver = field(repr=False)
    goal: str = "granted"

    @cached_property
    def case(self) -> Case:
        return Case(self.program, self.relations, self.prover.prove, self._hidden)

    def _hidden(self, relation: str) -> bool:
        known = self.rulebook.relations.get(relation)
        return known is not None and known.hidden

    def rows(self, relation: str) -> Sequence[Fact]:
        return self.relations.get(relation, ())

    @cached_property
    def granted(self) -> Mapping[tuple[str, int], tuple[Fact, ...]]:
        """The lists that each dim of each tensor is on, shortest first, as rows of `goal`."""
        found: dict[tuple[str, int], list[Fact]] = {}
        for row in self.rows(self.goal):
            found.setdefault((str(row[0]), int(row[1])), []).append(row)
        return {
            key: tuple(sorted(rows, key=lambda row: str(row[2]).count(","))) for key, rows in found.items()
        }

    def held(self, value: Value, dim: int) -> tuple[str, ...]:
        """The axes that propagation put on a dim, major to minor."""
        rows = self.granted.get((encode(value.name), dim))
        return self.case.axis_list(rows[-1][2]) if rows else ()

    def grant(self, value: Value, dim: int, axis: str) -> Fact | None:
        """The row of `goal` that puts the axis on the dim, behind those before it."""
        for row in self.granted.get((encode(value.name), dim), ()):
            if self.ends_in(row, axis):
                return row
        return None

    def ends_in(self, row: Fact, axis: str) -> bool:
        """Whether the list in a row (value, dim, list, …) ends in the axis."""
        return self.case.axis_list(row[2])[-1] == axis


def inquire(
    program: Program, solver: str, wanted: Iterable[str], stage: Stage, everywhere: bool = False
) -> Inquiry:
    """Run the rules for the relations `wanted` and all that proofs of their tuples rest on.

    With `everywhere` steps between dims are derived out of reach of annotations too.
    Raises ProgramError if a rule file is at fault, SetupError if the engine is.
    """
    with stage("dump"):
        facts = dump(program)
        if everywhere:
            facts = replace(facts, entry=steps_everywhere(facts.entry))
    return inquire_facts(program, facts, solver, wanted, stage)


def inquire_facts(
    program: Program, facts: Facts, solver: str, wanted: Iterable[str], stage: Stage
) -> Inquiry:
    """The same from the facts of a program."""
    with stage("rules"):
        rulebook = rules_of(facts.entry, program.rules)
    with stage("solve"):
        needed = proof_relations(rulebook, *wanted)
        derived = sorted(name for name in needed if not rulebook.relations[name].is_input)
        solution = solve(solver, rulebook, facts.relations, derived)
    relations = {**facts.given(rulebook.inputs), **solution.relations}
    engine = (solution.solver, solution.version)
    return Inquiry(program, facts, rulebook, relations, engine, Prover(rulebook, relations))


def inquire_layered(program: Program, value: Value, solver: str, stage: Stage) -> Inquiry:
    """The same for questions about the layout of one value, by less: for programs of many ops.

    What the user wrote has its layout after the last level on written values; gradients need the levels
    on them too.
    """
    with stage("dump"):
        facts = dump(program)
        derived = (encode(value.name),) in facts.relations["value_derived"]
        last = [name for name in level_names(facts.priorities, facts.derived) if "_written_" in name][-1]
        goal = "granted" if derived else f"{last}.accepted"
    with stage("rules"):
        rules = compiled_rules(layouts_only(facts.entry, gradients=derived), program.rules)
        plan = outline(rules.rulebook, (goal,))
        facts = replace(facts, relations=facts_for(plan, facts, with_derived=derived))
    with stage("solve"):
        solution = solve(solver, rules, facts.relations, plan.outputs)
    relations = {**facts.given(rules.inputs), **solution.relations}
    prover = LayeredProver(rules.rulebook, plan, facts, relations, deriving(solver, program.rules))
    engine = (solution.solver, solution.version)
    return Inquiry(program, facts, rules.rulebook, relations, engine, prover, goal)
