"""Proofs of least height, rebuilt from the clauses and the tuples that an engine found.

The height of a fact is 0, that of a derived tuple 1 + the greatest height of its positive premises; negations,
comparisons and aggregates are leaves. The tuples that the goal may rest on are collected backwards, breadth first;
heights are then spread forwards from the facts, in the order of height (Knuth 1977). What is further from the
goal than the height found cannot lower it, so short proofs stay cheap in large programs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from kina.datalog.clingo_text import needed
from kina.datalog.joins import (
    Getter,
    Scope,
    Slots,
    Step,
    compile_body,
    instances,
    named_wildcards,
    slot_numbers,
)
from kina.datalog.proof_steps import Derivation, write_steps
from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Atom, Variable, outer_variables, variables
from kina.datalog.tables import Row, Tables
from kina.diagnostics.finding import ProofStep

#: A tuple of a relation.
Goal = tuple[str, Row]


def proof_relations(rulebook: Rulebook, relation: str) -> frozenset[str]:
    """The relations whose tuples a proof about `relation` needs."""
    return needed(rulebook, [relation])


def prove(
    rulebook: Rulebook, relations: Mapping[str, Collection[Row]], relation: str, columns: Row
) -> tuple[ProofStep, ...]:
    """The steps of a least-height proof, its root first; see `Prover.prove`."""
    return Prover(rulebook, relations).prove(relation, columns)


@dataclass(slots=True)
class Prover:
    """Proves tuples over `relations`, the inputs and all of `proof_relations`; indexes serve all its proofs."""

    rulebook: Rulebook
    relations: Mapping[str, Collection[Row]]
    tables: Tables = field(init=False)
    _heads: dict[str, list[_Matcher]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = Tables(self.relations)

    def prove(self, relation: str, columns: Row) -> tuple[ProofStep, ...]:
        """A proof of least height: each tuple once, premises in the order of the clause. KeyError if not derived.

        Of several derivations of one height the first in the order of clauses and of premises is taken.
        """
        goal = (relation, columns)
        if not self.tables.has(relation, columns):
            raise KeyError(f"{relation}{columns}")
        cone = self._search(goal)
        return write_steps(self.rulebook, self.tables, goal, cone.best)

    def height(self, relation: str, columns: Row) -> int:
        """The least height of a proof of the tuple."""
        goal = (relation, columns)
        return self._search(goal).heights[goal]

    def _search(self, goal: Goal) -> _Cone:
        cone = _Cone(goal)
        depth = 64
        while True:
            while cone.frontier and cone.depth < depth:
                self._expand(cone)
            cone.settle()
            height = cone.heights.get(goal)
            if height is not None and (height <= cone.depth or not cone.frontier):
                return cone
            if not cone.frontier:
                raise KeyError(f"{goal[0]}{goal[1]}")
            depth = 2 * depth if height is None else max(2 * depth, height)

    def _expand(self, cone: _Cone) -> None:
        """Finds the derivations of all tuples at the edge of the cone."""
        edge, cone.frontier = cone.frontier, []
        cone.depth += 1
        for node in edge:
            relation, row = node
            if self.rulebook.relations[relation].is_input:
                cone.add(node, Derivation(None, (), ()))
                continue
            for matcher in self._matchers(relation):
                for derivation in matcher.derivations(row):
                    cone.add(node, derivation)

    def _matchers(self, relation: str) -> list[_Matcher]:
        found = self._heads.get(relation)
        if found is None:
            rules = [rule for rule in self.rulebook.rules if rule.head.relation == relation]
            found = self._heads[relation] = [_Matcher.of(rule, self.tables) for rule in rules]
        return found


@dataclass(frozen=True, slots=True)
class _Matcher:
    """One rule, compiled to find the instances that derive a given tuple.

    `fills` are slots and the head columns they take; `early` and `late` are the other head columns, with what
    must equal them before and after the body is looked at.
    """

    rule: Rule
    tables: Tables
    size: int
    fills: tuple[tuple[int, int], ...]
    early: tuple[tuple[int, Getter], ...]
    late: tuple[tuple[int, Getter], ...]
    steps: tuple[Step, ...]
    premises: tuple[tuple[str, tuple[Getter, ...]], ...]

    @staticmethod
    def of(rule: Rule, tables: Tables) -> _Matcher:
        body = named_wildcards(rule.body)
        slots = slot_numbers(body, rule.head.arguments)
        scope = Scope(slots, tables, outer_variables(rule.clause))
        fills: dict[str, tuple[int, int]] = {}
        for column, term in enumerate(rule.head.arguments):
            if isinstance(term, Variable):
                fills.setdefault(term.name, (slots[term.name], column))
        rest = [
            (column, term)
            for column, term in enumerate(rule.head.arguments)
            if not isinstance(term, Variable) or fills[term.name][1] != column
        ]
        known = [(column, term) for column, term in rest if all(each.name in fills for each in variables(term))]
        return _Matcher(
            rule=rule,
            tables=tables,
            size=len(slots),
            fills=tuple(fills.values()),
            early=tuple((column, scope.getter(term)) for column, term in known),
            late=tuple((column, scope.getter(term)) for column, term in rest if (column, term) not in known),
            steps=compile_body(body, frozenset(fills), scope),
            premises=tuple(
                (atom.relation, tuple(scope.getter(term) for term in atom.arguments))
                for atom in body
                if isinstance(atom, Atom)
            ),
        )

    def derivations(self, row: Row) -> Iterator[Derivation]:
        """The instances of the rule that derive the row."""
        slots: Slots = [0] * self.size
        for slot, column in self.fills:
            slots[slot] = row[column]
        if any(getter(slots) != row[column] for column, getter in self.early):
            return
        for _ in instances(self.steps, slots, self.tables):
            if any(getter(slots) != row[column] for column, getter in self.late):
                continue
            premises = tuple(
                [(name, tuple([getter(slots) for getter in getters])) for name, getters in self.premises]
            )
            yield Derivation(self.rule, premises, tuple(slots))


@dataclass(slots=True)
class _Cone:
    """The tuples that a goal may rest on, as far as they are found, with their derivations."""

    goal: Goal
    depth: int = 0
    frontier: list[Goal] = field(default_factory=list)
    seen: set[Goal] = field(default_factory=set)
    derivations: list[tuple[Goal, Derivation]] = field(default_factory=list)
    heights: dict[Goal, int] = field(default_factory=dict)
    best: dict[Goal, Derivation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frontier.append(self.goal)
        self.seen.add(self.goal)

    def add(self, node: Goal, derivation: Derivation) -> None:
        self.derivations.append((node, derivation))
        for premise in derivation.premises:
            if premise not in self.seen:
                self.seen.add(premise)
                self.frontier.append(premise)

    def settle(self) -> None:
        """Least heights of all tuples that the derivations found so far prove, level by level."""
        self.heights, self.best = {}, {}
        missing: list[int] = []
        waiting: dict[Goal, list[int]] = {}
        level: list[int] = []
        grounded: list[int] = []
        for number, (_, derivation) in enumerate(self.derivations):
            premises = set(derivation.premises)
            missing.append(len(premises))
            for premise in premises:
                waiting.setdefault(premise, []).append(number)
            if not premises:
                (grounded if derivation.rule is not None and derivation.rule.body else level).append(number)
        height = 0
        while level or grounded:
            proved: list[Goal] = []
            for number in sorted(level):
                node, derivation = self.derivations[number]
                if node not in self.heights:
                    self.heights[node] = height
                    self.best[node] = derivation
                    proved.append(node)
            level, grounded = grounded, []
            for node in proved:
                for number in waiting.get(node, ()):
                    missing[number] -= 1
                    if not missing[number]:
                        level.append(number)
            height += 1
