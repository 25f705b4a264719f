"""Values of the terms of a clause: where they are kept, and how they are calculated, in 32 bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from kina.datalog.syntax import (
    Arithmetic,
    Clause,
    Number,
    Premise,
    Term,
    Text,
    Variable,
    aggregates,
    outer_variables,
    premise_terms,
    walk,
)
from kina.datalog.tables import Row, Tables, Value

Slots = list[Value]
Getter = Callable[[Slots], Value]
Key = Callable[[Slots], Value | Row]


def wrap(number: int) -> int:
    """The number in 32 bits, as both engines compute."""
    return (number + 2**31) % 2**32 - 2**31


def _divide(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def calculate(operator: str, left: int, right: int) -> int:
    """The value of `left operator right` in 32 bits; division rounds to zero. Raises ZeroDivisionError."""
    match operator:
        case "+":
            return wrap(left + right)
        case "-":
            return wrap(left - right)
        case "*":
            return wrap(left * right)
        case "/":
            return wrap(_divide(left, right))
        case _:
            return wrap(left - right * _divide(left, right))


def compare(operator: str, left: Value, right: Value) -> bool:
    """Whether the comparison holds, on two numbers or on two symbols, these by their text."""
    match operator:
        case "=":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right  # type: ignore[operator]
        case "<=":
            return left <= right  # type: ignore[operator]
        case ">":
            return left > right  # type: ignore[operator]
        case _:
            return left >= right  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Scope:
    """Where the values of a clause are: a slot for each variable and each constant, which `blank` holds.

    A name stands for one variable in the clause or, within aggregates alone, for one at a time. `outer` are
    the names that aggregates share with the clause.
    """

    names: Mapping[str, int]
    constants: Mapping[Value, int]
    blank: tuple[Value, ...]
    tables: Tables
    outer: frozenset[str]

    @staticmethod
    def of(clause: Clause, body: tuple[Premise, ...], tables: Tables) -> Scope:
        names: dict[str, int] = {}
        constants: dict[Value, int] = {}
        blank: list[Value] = []
        for term in _all_terms(clause.head.arguments, body):
            match term:
                case Variable(name=name) if name not in names:
                    names[name] = len(blank)
                    blank.append(0)
                case Number(value=value) | Text(value=value) if value not in constants:
                    constants[value] = len(blank)
                    blank.append(value)
                case _:
                    pass
        return Scope(names, constants, tuple(blank), tables, outer_variables(clause))

    def slot(self, term: Term) -> int | None:
        """The slot of a variable or constant, None for what must be calculated."""
        match term:
            case Variable(name=name):
                return self.names[name]
            case Number(value=value) | Text(value=value):
                return self.constants[value]
            case _:
                return None

    def getter(self, term: Term) -> Getter:
        slot = self.slot(term)
        if slot is not None:
            return itemgetter(slot)
        assert isinstance(term, Arithmetic)
        return partial(_calculated, term.operator, self.getter(term.left), self.getter(term.right))

    def key(self, terms: Sequence[Term]) -> Key:
        """A function to the value of one term, or the tuple of the values of several or none."""
        slots = [self.slot(term) for term in terms]
        known = [slot for slot in slots if slot is not None]
        if len(known) == len(terms) and terms:
            return itemgetter(*known)
        getters = tuple(self.getter(term) for term in terms)
        return getters[0] if len(getters) == 1 else partial(_row, getters)

    def row(self, terms: Sequence[Term]) -> Callable[[Slots], Row]:
        """A function to the tuple of the values of the terms."""
        if len(terms) == 1:
            return partial(_row, (self.getter(terms[0]),))
        return self.key(terms)  # type: ignore[return-value]


def _all_terms(head: Iterable[Term], body: Iterable[Premise]) -> Iterator[Term]:
    stack: list[Premise] = list(body)
    terms = list(head)
    while stack:
        premise = stack.pop(0)
        terms.extend(premise_terms(premise))
        for aggregate in aggregates(premise):
            stack.extend(aggregate.body)
    for term in terms:
        yield from walk(term)


def _calculated(operator: str, left: Getter, right: Getter, slots: Slots) -> Value:
    a, b = left(slots), right(slots)
    assert isinstance(a, int)
    assert isinstance(b, int)
    return calculate(operator, a, b)


def _row(getters: tuple[Getter, ...], slots: Slots) -> Row:
    return tuple([getter(slots) for getter in getters])
