"""Which rules can fire on given facts: an engine need not read the others.

A program has a few dozen kinds of ops, and the rules about all others wait for facts that are not there. To
read and compile them is most of what a small program costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kina.datalog.fact import Facts
from kina.reach import reached


class Part(NamedTuple):
    """A premise: its `text` for Soufflé, and what it reads.

    `relation` is that of an atom, which is needed or, if not `positive`, needed to be absent; "" for a
    comparison, whose aggregates read `counted`. `constants` are columns of the atom that hold one.
    """

    text: str
    relation: str = ""
    positive: bool = False
    constants: tuple[tuple[int, str | int], ...] = ()
    counted: tuple[str, ...] = ()


class RuleParts(NamedTuple):
    """A rule by its parts: the relation of its head, the text of the head, and the premises."""

    head: str
    text: str
    body: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Live:
    """The rules that can fire, by number, and the relations that can have tuples."""

    rules: tuple[int, ...]
    filled: frozenset[str]


def live(rules: Sequence[RuleParts], facts: Facts) -> Live:
    """What can fire: every relation that a rule needs has a fact with its constants, or a rule that can."""
    known = _Known({rule.head for rule in rules}, facts)
    missing = {number: known.missing(rule) for number, rule in enumerate(rules) if known.possible(rule)}
    waiting: defaultdict[str, list[int]] = defaultdict(list)
    for number, relations in missing.items():
        for relation in relations:
            waiting[relation].append(number)
    filled = {name for name, rows in facts.items() if rows}
    queue = [number for number, relations in missing.items() if not relations]
    for number in queue:
        head = rules[number].head
        filled.add(head)
        for other in waiting.pop(head, ()):
            missing[other].discard(head)
            if not missing[other]:
                queue.append(other)
    return Live(tuple(sorted(queue)), frozenset(filled))


class _Known:
    """What the facts have; relations that are `derived` can have more."""

    def __init__(self, derived: Collection[str], facts: Facts) -> None:
        self._derived = derived
        self._facts = facts
        self._columns: dict[tuple[str, int], set[str | int]] = {}

    def possible(self, rule: RuleParts) -> bool:
        """Whether a rule can come to all that it needs and the facts do not have."""
        return all(part.relation in self._derived or self._has(part) for part in rule.body if part.positive)

    def missing(self, rule: RuleParts) -> set[str]:
        """The relations that the rule needs and that have no fact."""
        return {part.relation for part in rule.body if part.positive and not self._facts.get(part.relation)}

    def _has(self, part: Part) -> bool:
        """Whether there is a fact of the relation, and each constant in some fact."""
        rows = self._facts.get(part.relation, ())
        for column, constant in part.constants:
            key = (part.relation, column)
            if key not in self._columns:
                self._columns[key] = {row[column] for row in rows}
            if constant not in self._columns[key]:
                return False
        return bool(rows)


def behind(rules: Iterable[RuleParts], outputs: Iterable[str], filled: Collection[str]) -> frozenset[str]:
    """The relations that the outputs depend on by the rules, without those that are negated and empty."""
    below: defaultdict[str, set[str]] = defaultdict(set)
    for rule in rules:
        for part in rule.body:
            below[rule.head].update(part.counted)
            if part.relation and (part.positive or part.relation in filled):
                below[rule.head].add(part.relation)
    return frozenset(reached(outputs, below))


def kept_parts(data: Any) -> tuple[RuleParts, ...]:
    """Rules as they were kept as JSON; none if it is something else that was kept."""
    try:
        return tuple(
            [RuleParts(head, text, tuple([_kept_part(*part) for part in body])) for head, text, body in data]
        )
    except (TypeError, ValueError):
        return ()


def _kept_part(text: str, relation: str, positive: bool, constants: Any, counted: Any) -> Part:
    return Part(
        text, relation, positive, tuple([(column, term) for column, term in constants]), tuple(counted)
    )
