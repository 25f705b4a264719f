"""A typed program with what the rules derived of it: one run of the engine, more on demand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kina.datalog.added import AddedFile
from kina.datalog.compiled import Compiled, compile_text
from kina.datalog.engine import Solution, solve
from kina.diagnose import case as case_module
from kina.diagnose.case import Case, Fact
from kina.diagnose.needless import fact_outputs
from kina.diagnostics.finding import ProofStep
from kina.facts import load as load_module
from kina.facts.alike import alike_ops
from kina.facts.dump import Facts, dump
from kina.facts.entry import level_names
from kina.frontend.ir import Program, declared
from kina.paths import rules_path
from kina.plan.decisions import Decisions

if TYPE_CHECKING:
    from kina.datalog.proofs import Prover
    from kina.datalog.rules import Rulebook

Stage = Callable[[str], AbstractContextManager[None]]


@dataclass(frozen=True)
class Solved:
    """A program, its facts, the rules, and the relations that every check reads."""

    program: Program
    facts: Facts
    rules: Compiled
    solution: Solution
    solver: str

    @property
    def rulebook(self) -> Rulebook:
        """The rules with their syntax trees."""
        return self.rules.rulebook

    @property
    def has_conflict(self) -> bool:
        """Whether something that is an error was derived."""
        return any(
            self.solution.relations[name]
            for name in ("conflict", "demand_unmet", "role_clash", "dim_misplaced")
        )

    def decisions(self) -> Decisions:
        return load_module.load(
            self.program, self.solution.relations, (self.solution.solver, self.solution.version)
        )

    @cached_property
    def case(self) -> Case:
        return Case(self.program, self.solution.relations, self.prove, self._hidden)

    def _hidden(self, relation: str) -> bool:
        """Whether a relation explains nothing; negations and comparisons are no relations."""
        known = self.rules.tables.get(relation)
        return known is not None and known.hidden

    @cached_property
    def _prover(self) -> Prover:
        """Everything that was derived: a second run, made only when a proof is asked for."""
        from kina.datalog.proofs import Prover

        derived = [name for name, table in self.rules.tables.items() if not table.is_input]
        everything = solve(self.solver, self.rules, self.facts.relations, derived)
        given = {table.name: self.facts.relations.get(table.name, []) for table in self.rules.inputs}
        return Prover(self.rules.rulebook, {**given, **everything.relations})

    def prove(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """The proof of a tuple of any relation, of least height. KeyError if it was not derived."""
        return self._prover.prove(relation, fact)


def _no_stage(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def rules_of(entry: str, added: tuple[AddedFile, ...] = ()) -> Rulebook:
    """The rule base with the levels and `added` files of an entry file; a process reads it once for each."""
    return compiled_rules(entry, added).rulebook


def compiled_rules(entry: str, added: tuple[AddedFile, ...] = ()) -> Compiled:
    """The same as the engines take it."""
    return compile_text(entry, "main.dl", (rules_path(),), added)


def solve_program(
    program: Program,
    solver: str,
    stage: Stage = _no_stage,
    rules_for: Callable[[str, tuple[AddedFile, ...]], Compiled] = compiled_rules,
) -> Solved:
    """Run the rules on a program: those that `rules_for` gives for an entry file and those added.

    Raises ProgramError if a rule file is at fault, SetupError if the engine is.
    """
    with stage("dump"):
        facts = dump(program)
    with stage("rules"):
        rules = rules_for(facts.entry, program.rules)
    with stage("solve"):
        levels = level_names(facts.priorities, facts.derived)
        outputs = (
            *load_module.OUTPUTS,
            *case_module.OUTPUTS,
            *(f"{level}.contested" for level in levels),
            *(["granted"] if len(facts.priorities) > 1 else []),
            *(load_module.DECLARED_OUTPUTS if declared(program) else ()),
            *fact_outputs(len(program.ops)),
        )
        given = {table.name: facts.relations.get(table.name, []) for table in rules.inputs}
        known = [name for name in outputs if name in rules.tables]
        found = solve(solver, rules, given, known, alike=lambda: alike_ops(program, facts.value_names))
        # Another rule base than Kina's own may lack a relation, which is empty then.
        solution = replace(found, relations={**{name: [] for name in outputs}, **found.relations})
    return Solved(program, facts, rules, solution, solver)
