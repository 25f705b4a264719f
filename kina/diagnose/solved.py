"""A typed program with what the rules derived of it: one run of the engine, more on demand."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from kina.datalog.added import AddedFile
from kina.datalog.compiled import Compiled, compile_text
from kina.datalog.engine import Solution, solve
from kina.diagnose import case as case_module
from kina.diagnose.case import LARGE, Case, Fact
from kina.diagnose.needless import fact_outputs
from kina.diagnostics.finding import ProgramError, ProofStep
from kina.facts import load as load_module
from kina.facts.alike import alike_ops
from kina.facts.dump import Facts, dump
from kina.facts.entry import layouts_only, level_names
from kina.frontend.ir import Program, declared
from kina.paths import rules_path
from kina.plan.decisions import Decisions

if TYPE_CHECKING:
    from kina.datalog.proofs import Prover
    from kina.datalog.rules import Rulebook
    from kina.diagnose.layered import Derive, LayeredProver

#: What is derived where rules contradict each other, or speak of what is not there.
RULE_FAULTS = ("role_clash", "dim_misplaced")

Stage = Callable[[str], AbstractContextManager[None]]

#: Relations whose tuples are errors.
ERRORS: tuple[str, ...] = ("conflict", "demand_unmet", *RULE_FAULTS)

#: Relations whose tuples rest on no plan.
LAYOUT_GOALS = ("conflict", "uses_differ", "root_ask")


@dataclass(frozen=True)
class Solved:
    """A program, its facts, the rules, Kina's `own` or others, and the relations that every check reads."""

    program: Program
    facts: Facts
    rules: Compiled
    solution: Solution
    solver: str
    own: bool = True
    _proofs: dict[tuple[str, Fact], tuple[ProofStep, ...]] = field(default_factory=dict, repr=False)

    @property
    def rulebook(self) -> Rulebook:
        """The rules with their syntax trees."""
        return self.rules.rulebook

    @property
    def has_conflict(self) -> bool:
        """Whether something that is an error was derived."""
        return any(self.solution.relations[name] for name in ERRORS)

    def check_rules(self) -> None:
        """ProgramError (K901, K903) if rules contradict each other: then nothing was decided."""
        if any(self.solution.relations[name] for name in RULE_FAULTS):
            from kina.diagnose.rule_faults import rule_faults

            raise ProgramError(*rule_faults(self.case))

    def decisions(self) -> Decisions:
        """What was decided. ProgramError as `check_rules`."""
        self.check_rules()
        return load_module.load(
            self.program, self.solution.relations, (self.solution.solver, self.solution.version)
        )

    @cached_property
    def case(self) -> Case:
        return Case(
            self.program,
            self.solution.relations,
            self.prove,
            self._hidden,
            self._sketch,
            lambda relation, fact: self._prover_of(relation).leaves(
                relation, fact, lambda name: not self._hidden(name)
            ),
        )

    def _hidden(self, relation: str) -> bool:
        """Whether a relation explains nothing; negations and comparisons are no relations."""
        known = self.rules.tables.get(relation)
        return known is not None and known.hidden

    @cached_property
    def _prover(self) -> Prover:
        """Everything that was derived: a second run, made only when a proof is asked for."""
        derived = [name for name, table in self.rules.tables.items() if not table.is_input]
        return self._proving(self.rules, derived)

    @cached_property
    def _layouts(self) -> Prover | LayeredProver:
        """What layouts and conflicts rest on: a second run without the plan."""
        from kina.datalog.proofs import proof_relations
        from kina.diagnose.layered import LayeredProver, facts_for, outline

        rules = compiled_rules(layouts_only(self.facts.entry), self.program.rules)
        if len(self.program.ops) <= LARGE:
            needed = proof_relations(rules.rulebook, *LAYOUT_GOALS)
            return self._proving(rules, [name for name in needed if not rules.tables[name].is_input])
        plan = outline(rules.rulebook, LAYOUT_GOALS)
        facts = replace(self.facts, relations=facts_for(plan, self.facts, with_derived=True))
        found = solve(self.solver, rules, facts.relations, plan.outputs)
        relations = {**self.facts.given(rules.inputs), **found.relations}
        derive = deriving(self.solver, self.program.rules)
        return LayeredProver(rules.rulebook, plan, facts, relations, derive)

    def _proving(self, rules: Compiled, derived: Collection[str]) -> Prover:
        from kina.datalog.proofs import Prover

        found = solve(self.solver, rules, self.facts.relations, derived)
        return Prover(rules.rulebook, {**self.facts.given(rules.inputs), **found.relations})

    def prove(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """The proof of a tuple of any relation, of least height. KeyError if it was not derived."""
        goal = (relation, fact)
        if goal not in self._proofs:
            self._proofs[goal] = self._prover_of(relation).prove(relation, fact)
        return self._proofs[goal]

    def _sketch(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """The same, without how ops connect where that takes a run of its own."""
        from kina.datalog.proofs import Prover

        prover = self._prover_of(relation)
        return self.prove(relation, fact) if isinstance(prover, Prover) else prover.sketch(relation, fact)

    def _prover_of(self, relation: str) -> Prover | LayeredProver:
        return self._layouts if self.own and relation in LAYOUT_GOALS else self._prover


def _no_stage(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def deriving(solver: str, added: tuple[AddedFile, ...]) -> Derive:
    """The solver as a function from the text of an entry file, facts and relations."""

    def derive(
        entry: str, facts: Mapping[str, Sequence[Fact]], outputs: Collection[str]
    ) -> Mapping[str, Sequence[Fact]]:
        return solve(solver, compiled_rules(entry, added), facts, outputs).relations

    return derive


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
    decisions_only: bool = False,
) -> Solved:
    """Run the rules on a program: those that `rules_for` gives for an entry file and those added.

    With `decisions_only` what is derived is its plan, and what is an error.

    Raises ProgramError if a rule file is at fault, SetupError if the engine is.
    """
    with stage("dump"):
        facts = dump(program)
    with stage("rules"):
        rules = rules_for(facts.entry, program.rules)
    with stage("solve"):
        outputs = _outputs(program, facts, decisions_only)
        known = [name for name in outputs if name in rules.tables]
        found = solve(
            solver,
            rules,
            facts.given(rules.inputs),
            known,
            alike=lambda: alike_ops(program, facts.value_names),
        )
        # Another rule base than Kina's own may lack a relation, which is empty then.
        solution = replace(found, relations={**{name: [] for name in outputs}, **found.relations})
    return Solved(program, facts, rules, solution, solver, rules_for is compiled_rules)


def _outputs(program: Program, facts: Facts, decisions_only: bool) -> tuple[str, ...]:
    """The relations that a check reads."""
    outputs = (*load_module.OUTPUTS, *ERRORS, "gathered_to_reshape")
    if len(facts.priorities) > 1:
        outputs += ("granted",)
    if declared(program):
        outputs += load_module.DECLARED_OUTPUTS
    if decisions_only:
        return outputs
    contested = tuple(f"{level}.contested" for level in level_names(facts.priorities, facts.derived))
    return (*outputs, *case_module.OUTPUTS, *contested, *fact_outputs(len(program.ops)))
