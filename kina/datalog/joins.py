"""Compiles the body of a clause to steps and enumerates its instances over tables, without recursion.

Values of variables are in slots of a list. A step either looks rows up and fills slots, or tests what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from kina.datalog.binding import bound_names
from kina.datalog.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Negation,
    Number,
    Premise,
    Term,
    Text,
    Variable,
    Wildcard,
    aggregate_variables,
    premise_variables,
    variables,
)
from kina.datalog.tables import Row, Tables, Value

Slots = list[Value]
Getter = Callable[[Slots], Value]
Key = Callable[[Slots], Value | Row]


@dataclass(frozen=True, slots=True)
class Lookup:
    """Rows of a relation by the key columns; each fills slots, then must agree with itself and `same`."""

    relation: str
    columns: tuple[int, ...]
    key: Key
    fills: tuple[tuple[int, int], ...]
    same: tuple[tuple[int, Getter], ...]


@dataclass(frozen=True, slots=True)
class Test:
    """Holds or not, once its variables have values."""

    holds: Callable[[Slots], bool]


@dataclass(frozen=True, slots=True)
class Bind:
    """Fills a slot; there is no instance if the value is None."""

    slot: int
    value: Callable[[Slots], Value | None]


Step = Lookup | Test | Bind


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
    """Where the variables of a clause are, and the tables; `outer` are the names that aggregates share."""

    slots: Mapping[str, int]
    tables: Tables
    outer: frozenset[str]

    def getter(self, term: Term) -> Getter:
        match term:
            case Variable(name=name):
                return partial(_slot, self.slots[name])
            case Number(value=value):
                return partial(_constant, value)
            case Text(value=text):
                return partial(_constant, text)
            case Arithmetic(operator=operator, left=left, right=right):
                return partial(_calculated, operator, self.getter(left), self.getter(right))
            case Wildcard() | Aggregate():
                raise AssertionError("has no value of its own")


def _slot(slot: int, slots: Slots) -> Value:
    return slots[slot]


def _constant(value: Value, slots: Slots) -> Value:
    return value


def _calculated(operator: str, left: Getter, right: Getter, slots: Slots) -> Value:
    a, b = left(slots), right(slots)
    assert isinstance(a, int) and isinstance(b, int)
    return calculate(operator, a, b)


def slot_numbers(premises: Iterable[Premise], heads: Iterable[Term]) -> dict[str, int]:
    """A slot for each variable, those of aggregates too: a name stands for one variable in a whole clause
    or, within aggregates, for one at a time.
    """
    slots: dict[str, int] = {}
    for term in heads:
        for variable in variables(term):
            slots.setdefault(variable.name, len(slots))
    for premise in premises:
        for variable in premise_variables(premise):
            slots.setdefault(variable.name, len(slots))
        if isinstance(premise, Comparison):
            for side in (premise.left, premise.right):
                if isinstance(side, Aggregate):
                    for variable in aggregate_variables(side):
                        slots.setdefault(variable.name, len(slots))
    return slots


def named_wildcards(body: tuple[Premise, ...]) -> tuple[Premise, ...]:
    """The body with a variable for each `_` of a positive atom, so that an instance says which row it uses."""
    out: list[Premise] = []
    for number, premise in enumerate(body):
        if isinstance(premise, Atom):
            arguments = tuple(
                Variable(f"_ {number} {index}", term.span) if isinstance(term, Wildcard) else term
                for index, term in enumerate(premise.arguments)
            )
            premise = replace(premise, arguments=arguments)
        out.append(premise)
    return tuple(out)


def compile_body(body: tuple[Premise, ...], given: frozenset[str], scope: Scope) -> tuple[Step, ...]:
    """Steps that find every instance of the body for given values of the variables `given`, cheapest first."""
    steps: list[Step] = []
    bound = set(given)
    remaining = list(body)
    while remaining:
        ready = next((premise for premise in remaining if _is_ready(premise, bound, scope)), None)
        if ready is not None:
            remaining.remove(ready)
            steps.append(_compile_ready(ready, bound, scope))
            continue
        atoms = [premise for premise in remaining if isinstance(premise, Atom)]
        cheapest = min(atoms, key=lambda atom: scope.tables.fan_out(atom.relation, _known(atom, bound)))
        remaining.remove(cheapest)
        steps.append(_compile_lookup(cheapest, bound, scope))
    return tuple(steps)


def _known(atom: Atom, bound: Collection[str]) -> tuple[int, ...]:
    """The columns whose value is known."""
    return tuple(
        index
        for index, term in enumerate(atom.arguments)
        if not isinstance(term, Wildcard) and all(variable.name in bound for variable in variables(term))
    )


def _is_ready(premise: Premise, bound: Collection[str], scope: Scope) -> bool:
    """Whether the premise can be tested, or binds one variable, with what is bound."""
    match premise:
        case Comparison(operator="=", left=left, right=right):
            known = frozenset(bound)
            after = bound_names((premise,), scope.outer, known)
            needs = {variable.name for side in (left, right) for variable in variables(side)}
            for side in (left, right):
                if isinstance(side, Aggregate):
                    needs |= {variable.name for variable in aggregate_variables(side)} & scope.outer
            return needs <= after
        case Comparison(left=left, right=right):
            sides = (left, right)
            needs = {variable.name for side in sides for variable in variables(side)}
            for side in sides:
                if isinstance(side, Aggregate):
                    needs |= {variable.name for variable in aggregate_variables(side)} & scope.outer
            return needs <= frozenset(bound)
        case Negation(atom=atom):
            return all(variable.name in bound for term in atom.arguments for variable in variables(term))
        case Atom():
            return len(_known(premise, bound)) == len(premise.arguments)


def _compile_ready(premise: Premise, bound: set[str], scope: Scope) -> Step:
    match premise:
        case Atom():
            row = tuple(scope.getter(term) for term in premise.arguments)
            return Test(partial(_present, scope.tables.all(premise.relation), row))
        case Negation(atom=atom):
            return Test(partial(_absent, *_atom_key(atom, bound, scope)))
        case Comparison(operator=operator, left=left, right=right):
            for side, other in ((left, right), (right, left)):
                if operator == "=" and isinstance(side, Variable) and side.name not in bound:
                    bound.add(side.name)
                    return Bind(scope.slots[side.name], _value(other, bound - {side.name}, scope))
            return Test(partial(_compared, operator, _value(left, bound, scope), _value(right, bound, scope)))


def _value(term: Term, bound: Collection[str], scope: Scope) -> Callable[[Slots], Value | None]:
    if isinstance(term, Aggregate):
        return aggregate_value(term, frozenset(bound), scope)
    return scope.getter(term)


def aggregate_value(aggregate: Aggregate, bound: frozenset[str], scope: Scope) -> Callable[[Slots], Value | None]:
    """A function from slots to the aggregate's value, None for `min` and `max` over nothing."""
    inner = Scope(scope.slots, scope.tables, frozenset())
    steps = compile_body(aggregate.body, bound & scope.outer, inner)
    getter = None if aggregate.value is None else inner.getter(aggregate.value)
    return partial(_aggregate, aggregate.function, steps, scope.tables, getter)


def _aggregate(
    function: str, steps: tuple[Step, ...], tables: Tables, getter: Getter | None, slots: Slots
) -> Value | None:
    inner = list(slots)
    count = 0
    values: list[int] = []
    for _ in instances(steps, inner, tables):
        count += 1
        if getter is not None:
            value = getter(inner)
            assert isinstance(value, int)
            values.append(value)
    match function:
        case "count":
            return count
        case "sum":
            return wrap(sum(values))
        case "min":
            return min(values, default=None)
        case _:
            return max(values, default=None)


def _atom_key(atom: Atom, bound: Collection[str], scope: Scope) -> tuple[Mapping[Value | Row, Iterable[Row]], Key]:
    columns = _known(atom, bound)
    return scope.tables.index(atom.relation, columns), _key([scope.getter(atom.arguments[each]) for each in columns])


def _key(getters: list[Getter]) -> Key:
    return getters[0] if len(getters) == 1 else partial(_row, tuple(getters))


def _row(getters: tuple[Getter, ...], slots: Slots) -> Row:
    return tuple([getter(slots) for getter in getters])


def _present(rows: frozenset[Row], getters: tuple[Getter, ...], slots: Slots) -> bool:
    return tuple([getter(slots) for getter in getters]) in rows


def _absent(index: Mapping[Value | Row, Iterable[Row]], key: Key, slots: Slots) -> bool:
    return key(slots) not in index


def _compared(
    operator: str, left: Callable[[Slots], Value | None], right: Callable[[Slots], Value | None], slots: Slots
) -> bool:
    a, b = left(slots), right(slots)
    return a is not None and b is not None and compare(operator, a, b)


def _compile_lookup(atom: Atom, bound: set[str], scope: Scope) -> Lookup:
    columns = _known(atom, bound)
    key = _key([scope.getter(atom.arguments[each]) for each in columns])
    fills: list[tuple[int, int]] = []
    same: list[tuple[int, Getter]] = []
    for index, term in enumerate(atom.arguments):
        if index in columns or isinstance(term, Wildcard):
            continue
        if isinstance(term, Variable) and term.name not in bound:
            bound.add(term.name)
            fills.append((scope.slots[term.name], index))
        else:
            same.append((index, scope.getter(term)))
    return Lookup(atom.relation, columns, key, tuple(fills), tuple(same))


def instances(steps: tuple[Step, ...], slots: Slots, tables: Tables) -> Iterator[None]:
    """Yields once for each instance, with its values in `slots`."""
    if not steps:
        yield
        return
    stack: list[Iterator[None]] = [_advance(steps[0], slots, tables)]
    while stack:
        if next(stack[-1], _END) is _END:
            stack.pop()
        elif len(stack) == len(steps):
            yield
        else:
            stack.append(_advance(steps[len(stack)], slots, tables))


_END = object()


def _advance(step: Step, slots: Slots, tables: Tables) -> Iterator[None]:
    """Yields once for each way in which a single step succeeds."""
    match step:
        case Test(holds=holds):
            if holds(slots):
                yield
        case Bind(slot=slot, value=value):
            found = value(slots)
            if found is not None:
                slots[slot] = found
                yield
        case Lookup(relation=relation, columns=columns, key=key, fills=fills, same=same):
            for row in tables.index(relation, columns).get(key(slots), ()):
                for slot, column in fills:
                    slots[slot] = row[column]
                if all(row[column] == getter(slots) for column, getter in same):
                    yield
