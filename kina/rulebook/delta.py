"""Which changed clause makes a difference to a program, and by which tuples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kina.datalog.compiled import Compiled
from kina.datalog.engine import solve
from kina.datalog.joins import compile_body, instances, named_wildcards
from kina.datalog.rules import Rule, Rulebook, needed
from kina.datalog.scope import Scope
from kina.datalog.tables import Row, Tables
from kina.facts.dump import Facts
from kina.rulebook.changes import RuleChange, clause_text

#: A relation and one of its tuples.
Tuple = tuple[str, Row]


@dataclass(frozen=True)
class Delta:
    """The tuples that changed clauses derive in one rule base and not in the other, by the rule's name."""

    gained: Mapping[str, frozenset[Tuple]]
    lost: Mapping[str, frozenset[Tuple]]

    @staticmethod
    def unknown(rules: Iterable[str]) -> Delta:
        """One of rules that may make any difference: nobody looked."""
        return Delta({rule: frozenset() for rule in rules}, {})

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that make a difference."""
        return tuple(dict.fromkeys([*self.gained, *self.lost]))

    @cached_property
    def _near(self) -> Mapping[str | int, frozenset[str]]:
        """The rules with a difference about a value, an op or a port."""
        found: dict[str | int, set[str]] = {}
        for rules in (self.gained, self.lost):
            for rule, tuples in rules.items():
                for name in {value for _, row in tuples for value in row if isinstance(value, str)}:
                    found.setdefault(name, set()).add(rule)
        return {name: frozenset(rules) for name, rules in found.items()}

    def near(self, name: str) -> frozenset[str]:
        """The rules with a difference about one value, op or port by its name in facts."""
        return self._near.get(name, frozenset())

    def about(self, names: Iterable[str]) -> tuple[str, ...]:
        """The rules with a difference about one of some values, ops or ports by their names in facts.

        All that make a difference, if none of them is about these.
        """
        found = frozenset().union(*(self._near.get(name, frozenset()) for name in names))
        return tuple(rule for rule in self.rules if rule in found) or self.rules


def delta(
    base: Compiled, head: Compiled, changes: Sequence[RuleChange], facts: Facts, solver: str = "auto"
) -> Delta:
    """What the changed clauses derive of a program, under both rule bases.

    Nothing that a program gets from its rules differs if nothing is gained and nothing lost: all other
    clauses are the same. Relations that only one of the rule bases has count by the clauses that read them.
    Raises SetupError if the engine cannot be used.
    """
    known = [{relation.declared for relation in side.rulebook.relations.values()} for side in (base, head)]
    heads = {change.relation for change in changes} & known[0] & known[1]
    names = {change.name for change in changes}
    before, after = (_Derived.of(rules, heads, facts, solver) for rules in (base, head))
    return Delta(_more(after, before, names), _more(before, after, names))


@dataclass(frozen=True, slots=True)
class _Derived:
    """The tuples of the changed relations, and of all that these rest on."""

    rulebook: Rulebook
    changed: frozenset[str]
    tables: Tables

    @staticmethod
    def of(rules: Compiled, heads: Collection[str], facts: Facts, solver: str) -> _Derived:
        rulebook = rules.rulebook
        changed = frozenset(
            name for name, relation in rulebook.relations.items() if relation.declared in heads
        )
        given = facts.given(rules.inputs)
        wanted = [name for name in needed(rulebook, changed) if name not in given]
        found = solve(solver, rules, given, wanted).relations if wanted else {}
        return _Derived(rulebook, changed, Tables({**given, **found}))


def _more(one: _Derived, two: _Derived, names: Collection[str]) -> dict[str, frozenset[Tuple]]:
    """For each changed clause the tuples that it derives and the other side does not have at all."""
    found: dict[str, set[Tuple]] = {}
    for rule in one.rulebook.rules:
        name = rule.name or clause_text(rule.clause)
        relation = rule.head.relation
        if name in names and relation in one.changed:
            rows = {(relation, row) for row in _rows(rule, one.tables) if not two.tables.has(relation, row)}
            if rows:
                found.setdefault(name, set()).update(rows)
    return {name: frozenset(rows) for name, rows in found.items()}


def _rows(rule: Rule, tables: Tables) -> Iterator[Row]:
    """The tuples that one clause derives."""
    body = named_wildcards(rule.body)
    scope = Scope.of(rule.clause, body, tables)
    slots = list(scope.blank)
    head = scope.row(rule.head.arguments)
    for _ in instances(compile_body(body, frozenset(), scope), slots):
        yield head(slots)
