"""A second opinion: evaluates checked rules by trying everything, one stratum after the other."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from kina.datalog.rules import Rule, Rulebook
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
    outer_variables,
)

Value = int | str
Row = tuple[Value, ...]
World = dict[str, set[Row]]


def evaluate(rulebook: Rulebook, facts: Mapping[str, Sequence[Row]]) -> World:
    """All tuples of all relations."""
    world: World = {name: set() for name in rulebook.relations}
    for relation in rulebook.inputs:
        world[relation.name] |= set(facts.get(relation.name, ()))
    for stratum in rulebook.strata:
        rules = [rule for rule in rulebook.rules if rule.head.relation in stratum]
        changed = True
        while changed:
            changed = False
            for rule in rules:
                new = set(_heads(rule, world)) - world[rule.head.relation]
                if new:
                    world[rule.head.relation] |= new
                    changed = True
    return world


def _heads(rule: Rule, world: World) -> Iterator[Row]:
    outer = outer_variables(rule.clause)
    for values in _bindings(list(rule.body), {}, world, outer):
        yield tuple(_term(term, values) for term in rule.head.arguments)


def _bindings(
    body: list[Premise], values: dict[str, Value], world: World, outer: frozenset[str]
) -> Iterator[dict[str, Value]]:
    atoms = [premise for premise in body if isinstance(premise, Atom)]
    rest = [premise for premise in body if not isinstance(premise, Atom)]
    for rows in itertools.product(*[sorted(world[atom.relation], key=repr) for atom in atoms]):
        found: dict[str, Value] | None = dict(values)
        calculated: list[tuple[Term, Value]] = []
        for atom, row in zip(atoms, rows, strict=True):
            for term, value in zip(atom.arguments, row, strict=True):
                if isinstance(term, Variable):
                    if found.setdefault(term.name, value) != value:
                        found = None
                        break
                elif not isinstance(term, Wildcard):
                    calculated.append((term, value))
            if found is None:
                break
        if found is None:
            continue
        done = _rest(rest, found, world, outer)
        if done is not None and all(_term(term, done) == value for term, value in calculated):
            yield done


def _rest(
    rest: list[Premise], values: dict[str, Value], world: World, outer: frozenset[str]
) -> dict[str, Value] | None:
    waiting = list(rest)
    while waiting:
        for premise in waiting:
            try:
                values_after = _premise(premise, values, world, outer)
            except KeyError:
                continue
            waiting.remove(premise)
            if values_after is None:
                return None
            values = values_after
            break
        else:
            raise AssertionError("a variable is not bound")
    return values


def _premise(
    premise: Premise, values: dict[str, Value], world: World, outer: frozenset[str]
) -> dict[str, Value] | None:
    if isinstance(premise, Negation):
        pattern = [None if isinstance(t, Wildcard) else _term(t, values) for t in premise.atom.arguments]
        hit = any(
            all(p is None or p == v for p, v in zip(pattern, row, strict=True))
            for row in world[premise.atom.relation]
        )
        return None if hit else values
    assert isinstance(premise, Comparison)
    sides = []
    for side in (premise.left, premise.right):
        if isinstance(side, Aggregate):
            value = _aggregate(side, values, world, outer)
            if value is None:
                return None
            sides.append(value)
        elif isinstance(side, Variable) and side.name not in values:
            sides.append(side)
        else:
            sides.append(_term(side, values))
    left, right = sides
    if isinstance(left, Variable) and isinstance(right, Variable):
        raise KeyError(left.name)
    if isinstance(left, Variable) or isinstance(right, Variable):
        if premise.operator != "=":
            raise KeyError("unbound")
        name, value = (left.name, right) if isinstance(left, Variable) else (right.name, left)
        return {**values, name: value}
    holds = {
        "=": left == right, "!=": left != right,
        "<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right,
    }[premise.operator]  # fmt: skip
    return values if holds else None


def _aggregate(
    aggregate: Aggregate, values: dict[str, Value], world: World, outer: frozenset[str]
) -> int | None:
    names = {variable.name for variable in aggregate_variables(aggregate)}
    shared = {name: values[name] for name in names & outer}
    found = list(_bindings(list(aggregate.body), shared, world, frozenset()))
    if aggregate.function == "count":
        return len(found)
    assert aggregate.value is not None
    numbers = [_term(aggregate.value, binding) for binding in found]
    if aggregate.function == "sum":
        return _wrap(sum(numbers))
    return (min if aggregate.function == "min" else max)(numbers, default=None)


def _term(term: Term, values: Mapping[str, Value]) -> Value:
    match term:
        case Variable(name=name):
            return values[name]
        case Number(value=value) | Text(value=value):
            return value
        case Arithmetic(operator=operator, left=left, right=right):
            a, b = _term(left, values), _term(right, values)
            match operator:
                case "+":
                    return _wrap(a + b)
                case "-":
                    return _wrap(a - b)
                case "*":
                    return _wrap(a * b)
                case "/":
                    return int(a / b)
                case _:
                    return a - b * int(a / b)
    raise AssertionError(term)


def _wrap(number: int) -> int:
    return (number + 2**31) % 2**32 - 2**31
