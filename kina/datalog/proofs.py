"""Proofs of least height, rebuilt from the clauses and the tuples that an engine found.

The height of a fact is 0, that of a derived tuple 1 + the greatest height of its positive premises;
negations, comparisons and aggregates are leaves. The tuples that the goal may rest on are collected
backwards, breadth first; heights then spread forwards from the facts, in the order of height (Knuth 1977).
What is further from the goal than the height found cannot lower it, so short proofs are cheap in any program.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from operator import itemgetter

from kina.datalog.cone import Cone, Goal, least_heights, shallow_bounds
from kina.datalog.joins import Stage, compile_body, instances, named_wildcards
from kina.datalog.proof_steps import Derivation, write_steps
from kina.datalog.rules import Rule, Rulebook, needed
from kina.datalog.scope import Getter, Scope, Slots
from kina.datalog.syntax import Atom, Variable, variables
from kina.datalog.tables import Row, Tables, Value
from kina.diagnostics.finding import ProofStep


def proof_relations(rulebook: Rulebook, *goals: str) -> frozenset[str]:
    """The relations whose tuples proofs about the relations `goals` need."""
    return needed(rulebook, goals)


def prove(
    rulebook: Rulebook, relations: Mapping[str, Collection[Row]], relation: str, columns: Row
) -> tuple[ProofStep, ...]:
    """The steps of a least-height proof, its root first; see `Prover.prove`."""
    return Prover(rulebook, relations).prove(relation, columns)


#: By how much a search looks for a higher proof at first; each time that it finds none, by twice as much.
_SLACK = 4


@dataclass(slots=True)
class Prover:
    """Proves tuples over `relations`: the inputs and all of `proof_relations`. Indexes serve all proofs."""

    rulebook: Rulebook
    relations: Mapping[str, Collection[Row]] | Tables
    tables: Tables = field(init=False)
    _heads: dict[str, list[_Matcher]] = field(default_factory=dict)
    _bounds: Mapping[str, int] = field(init=False)
    _least: Mapping[str, int] = field(init=False)
    _derived: dict[Goal, tuple[Derivation, ...]] = field(default_factory=dict)
    _shallow: dict[Goal, tuple[int, Derivation]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tables = self.relations if isinstance(self.relations, Tables) else Tables(self.relations)
        self._bounds = shallow_bounds(self.rulebook)
        self._least = least_heights(self.rulebook)

    def prove(self, relation: str, columns: Row) -> tuple[ProofStep, ...]:
        """A proof of least height: each tuple once, premises in the order of the clause.

        Of several derivations of one height the first in the order of clauses and of premises is taken.
        KeyError if the tuple is not derived.
        """
        return self.prove_all([(relation, columns)])

    def prove_all(self, goals: Sequence[Goal]) -> tuple[ProofStep, ...]:
        """The same for several tuples, which come first: what their proofs share is looked for once."""
        with without_collection():
            cone = self._search(goals)
            chosen: dict[Goal, Derivation] = {}
            queue = [*goals]
            for node in queue:
                if node not in chosen:
                    chosen[node] = cone.best(node) or self._settled(node)[1]
                    queue += chosen[node].premises
            return write_steps(self.rulebook, self.tables, goals, chosen)

    #: The same in a prover that has all tuples; `LayeredProver` leaves out how ops connect.
    sketch = prove

    def leaves(self, relation: str, columns: Row, passed: Callable[[str], bool]) -> frozenset[Goal]:
        """The input facts that any proof of the tuple can rest on, by way of relations that are `passed`.

        KeyError if the tuple is not derived.
        """
        goal = (relation, columns)
        if not self.tables.has(*goal):
            raise KeyError(f"{relation}{columns}")
        seen, queue = {goal}, [goal]
        with without_collection():
            for node in queue:
                for derivation in self._derivations_of(node):
                    fresh = [each for each in derivation.premises if each not in seen and passed(each[0])]
                    seen.update(fresh)
                    queue += dict.fromkeys(fresh)
        return frozenset(node for node in queue if self.rulebook.relations[node[0]].is_input)

    def height(self, relation: str, columns: Row) -> int:
        """The least height of a proof of the tuple. KeyError if it is not derived."""
        goal = (relation, columns)
        height = self._search([goal]).height(goal)
        assert height is not None
        return height

    def _search(self, goals: Sequence[Goal], bounds: Mapping[str, int] | None = None) -> Cone:
        for relation, row in goals:
            if not self.tables.has(relation, row):
                raise KeyError(f"{relation}{row}")
        most, slack = max(self._least[relation] for relation, _ in goals), _SLACK
        cone = Cone(tuple(goals), self._bounds if bounds is None else bounds)
        while True:
            cone.grow(most, self._least, self._derivations_of)
            cone.settle(self._shallow_height)
            heights = [height for goal in goals if (height := cone.height(goal)) is not None]
            unproved = len(heights) < len(goals)
            if not unproved and (max(heights) <= most or not cone.cut):
                return cone
            if not cone.cut:
                relation, row = next(goal for goal in goals if cone.height(goal) is None)
                raise KeyError(f"{relation}{row}")
            most, slack = most + slack, 2 * slack
            if not unproved:
                most = min(most, max(heights))

    def _shallow_height(self, node: Goal) -> int:
        return self._settled(node)[0]

    def _settled(self, node: Goal) -> tuple[int, Derivation]:
        """Height and derivation of a tuple that rests on no recursive relation: its cone is small."""
        found = self._shallow.get(node)
        if found is None:
            cone = self._search([node], {})
            settled = {each: (height, best) for each, height, best in cone.settled()}
            found = self._shallow[node] = settled[node]
            if not cone.cut:
                self._shallow.update(settled)
        return found

    def _derivations_of(self, node: Goal) -> tuple[Derivation, ...]:
        """Every instance of a rule that derives the tuple."""
        found = self._derived.get(node)
        if found is None:
            relation, row = node
            if self.rulebook.relations[relation].is_input:
                return (Derivation(None, (), ()),)
            found = self._derived[node] = tuple(
                derivation
                for matcher in self._matchers(relation)
                if matcher.may_derive(row)
                for derivation in matcher.derivations(row)
            )
        return found

    def _matchers(self, relation: str) -> list[_Matcher]:
        found = self._heads.get(relation)
        if found is None:
            rules = [rule for rule in self.rulebook.rules if rule.head.relation == relation]
            found = self._heads[relation] = [_Matcher.of(rule, self.tables) for rule in rules]
        return found


@dataclass(frozen=True, slots=True)
class _Matcher:
    """One rule, compiled to find the instances that derive a given tuple.

    `gate` is a key of the head and an index that has it if the rule can apply at all. `fills` are slots and
    the head columns they take; `early` and `late` are the other head columns, with what must equal them
    before and after the body is looked at.
    """

    rule: Rule
    gate: tuple[Callable[[Row], Value | Row], Container[Value | Row]] | None
    blank: tuple[Value, ...]
    fills: tuple[tuple[int, int], ...]
    early: tuple[tuple[int, Getter], ...]
    late: tuple[tuple[int, Getter], ...]
    stages: tuple[Stage, ...]
    premises: tuple[tuple[str, Callable[[Slots], Row]], ...]

    @staticmethod
    def of(rule: Rule, tables: Tables) -> _Matcher:
        body = named_wildcards(rule.body)
        scope = Scope.of(rule.clause, body, tables)
        fills: dict[str, tuple[int, int]] = {}
        for column, term in enumerate(rule.head.arguments):
            if isinstance(term, Variable):
                fills.setdefault(term.name, (scope.names[term.name], column))
        rest = [
            (column, term)
            for column, term in enumerate(rule.head.arguments)
            if not isinstance(term, Variable) or fills[term.name][1] != column
        ]
        known = [
            (column, term) for column, term in rest if all(each.name in fills for each in variables(term))
        ]
        stages = compile_body(body, frozenset(fills), scope)
        return _Matcher(
            rule=rule,
            gate=_gate(stages, dict(fills.values())),
            blank=scope.blank,
            fills=tuple(fills.values()),
            early=tuple((column, scope.getter(term)) for column, term in known),
            late=tuple((column, scope.getter(term)) for column, term in rest if (column, term) not in known),
            stages=stages,
            premises=tuple(
                (atom.relation, scope.row(atom.arguments)) for atom in body if isinstance(atom, Atom)
            ),
        )

    def may_derive(self, row: Row) -> bool:
        """False only if the rule cannot derive the row, which a look at the head tells."""
        return self.gate is None or self.gate[0](row) in self.gate[1]

    def derivations(self, row: Row) -> Iterator[Derivation]:
        """The instances of the rule that derive the row."""
        slots: Slots = list(self.blank)
        for slot, column in self.fills:
            slots[slot] = row[column]
        if any(getter(slots) != row[column] for column, getter in self.early):
            return
        for _ in instances(self.stages, slots):
            if self.late and any(getter(slots) != row[column] for column, getter in self.late):
                continue
            yield Derivation(
                self.rule, tuple([(name, row(slots)) for name, row in self.premises]), tuple(slots)
            )


def _gate(
    stages: tuple[Stage, ...], columns: Mapping[int, int]
) -> tuple[Callable[[Row], Value | Row], Container[Value | Row]] | None:
    """The first lookup as a question to the head alone, None if its key is not all in the head."""
    if len(stages) < 2 or not stages[1].key_slots:
        return None
    found = [columns[slot] for slot in stages[1].key_slots if slot is not None and slot in columns]
    if len(found) < len(stages[1].key_slots):
        return None
    return itemgetter(*found), stages[1].index


@contextmanager
def without_collection() -> Iterator[None]:
    """Inside, the cyclic collector is off: it would walk all tuples of a cone again and find no cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
