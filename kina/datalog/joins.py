"""Compiles the body of a clause to stages and enumerates its instances over tables, without recursion.

Values of variables are in slots of a list. A stage looks rows up, fills slots, and checks what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from kina.datalog.binding import bound_names
from kina.datalog.scope import Getter, Key, Scope, Slots, compare, wrap
from kina.datalog.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Negation,
    Premise,
    Term,
    Variable,
    Wildcard,
    aggregate_variables,
    aggregates,
    variables,
)
from kina.datalog.tables import Row, Value

Check = Callable[[Slots], bool]


@dataclass(frozen=True, slots=True)
class Stage:
    """Rows looked up in an index, each of which agrees with slots, fills slots and passes the checks.

    A check may fill a slot too. The first stage of a body has one empty row. `key_slots` are the slots of
    the key, None where it is calculated.
    """

    index: Mapping[Value | Row, Sequence[Row]]
    key: Key
    key_slots: tuple[int | None, ...]
    same: tuple[tuple[int, int], ...]
    fills: tuple[tuple[int, int], ...]
    checks: tuple[Check, ...]


def _no_key(slots: Slots) -> Row:
    return ()


def named_wildcards(body: tuple[Premise, ...]) -> tuple[Premise, ...]:
    """The body with a variable for each `_` of an atom, so that an instance says which row it uses."""
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


def compile_body(body: tuple[Premise, ...], given: frozenset[str], scope: Scope) -> tuple[Stage, ...]:
    """Stages that find every instance of the body for given values of `given`, cheapest first."""
    bound = set(given)
    remaining = list(body)
    stages: list[Stage] = []
    stage = Stage({(): ((),)}, _no_key, (), (), (), ())
    checks: list[Check] = []
    while remaining:
        premise = _next(remaining, bound, scope)
        remaining.remove(premise)
        if isinstance(premise, Atom) and len(_known(premise, bound)) < len(premise.arguments):
            stages.append(replace(stage, checks=tuple(checks)))
            stage = _lookup(premise, bound, scope)
            checks = list(stage.checks)
        else:
            checks.append(_check(premise, bound, scope))
    return (*stages, replace(stage, checks=tuple(checks)))


#: Looking up this many rows costs no more than a test of membership, and may end the search.
_FEW_ENOUGH = 2.0


def _next(remaining: Sequence[Premise], bound: set[str], scope: Scope) -> Premise:
    """Comparisons as soon as they can be made, then lookups of few rows, other tests, the cheapest lookup."""
    ready = [premise for premise in remaining if _is_ready(premise, bound, scope)]
    quick = next((premise for premise in ready if _is_quick(premise)), None)
    if quick is not None:
        return quick
    atoms = [premise for premise in remaining if isinstance(premise, Atom) and premise not in ready]
    costs = [scope.tables.fan_out(atom.relation, _known(atom, bound)) for atom in atoms]
    cheapest = min(range(len(atoms)), key=costs.__getitem__, default=None)
    if cheapest is not None and (
        not ready or (costs[cheapest] <= _FEW_ENOUGH and _known(atoms[cheapest], bound))
    ):
        return atoms[cheapest]
    return min(ready, key=_cost)


def _is_quick(premise: Premise) -> bool:
    return isinstance(premise, Comparison) and not any(aggregates(premise))


def _cost(premise: Premise) -> int:
    """Aggregates are worth the least haste."""
    return 1 if isinstance(premise, Comparison) else 0


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
        case Negation(atom=atom):
            return all(variable.name in bound for term in atom.arguments for variable in variables(term))
        case Atom():
            return len(_known(premise, bound)) == len(premise.arguments)
        case Comparison(operator=operator, left=left, right=right):
            needs: set[str] = set()
            for side in (left, right):
                needs.update(variable.name for variable in variables(side))
                if isinstance(side, Aggregate):
                    needs.update(each.name for each in aggregate_variables(side) if each.name in scope.outer)
            known = frozenset(bound)
            return needs <= (bound_names((premise,), scope.outer, known) if operator == "=" else known)


def _check(premise: Premise, bound: set[str], scope: Scope) -> Check:
    match premise:
        case Atom(relation=relation, arguments=arguments):
            return partial(_present, scope.tables.all(relation), scope.row(arguments))
        case Negation(atom=atom):
            columns = _known(atom, bound)
            if len(columns) == len(atom.arguments):
                return partial(_missing, scope.tables.all(atom.relation), scope.row(atom.arguments))
            key = scope.key([atom.arguments[index] for index in columns])
            return partial(_absent, scope.tables.index(atom.relation, columns), key)
        case Comparison(operator=operator, left=left, right=right):
            for side, other in ((left, right), (right, left)):
                if operator == "=" and isinstance(side, Variable) and side.name not in bound:
                    bound.add(side.name)
                    return partial(_fill, scope.names[side.name], term_value(other, bound, scope))
            return partial(
                _compared, operator, term_value(left, bound, scope), term_value(right, bound, scope)
            )


def _lookup(atom: Atom, bound: set[str], scope: Scope) -> Stage:
    known = _known(atom, bound)
    columns = scope.tables.keys(atom.relation, known)
    key = scope.key([atom.arguments[index] for index in columns])
    same: list[tuple[int, int]] = []
    fills: list[tuple[int, int]] = []
    calculated = False
    for column, term in enumerate(atom.arguments):
        if column in columns or isinstance(term, Wildcard):
            continue
        slot = scope.slot(term)
        if slot is None or (column not in known and isinstance(term, Variable) and term.name in bound):
            calculated = True
        elif column in known:
            same.append((column, slot))
        else:
            assert isinstance(term, Variable)
            bound.add(term.name)
            fills.append((slot, column))
    checks: list[Check] = []
    if calculated:
        # A variable twice in one atom, or a calculated argument: the whole row is looked for once more.
        every = _known(atom, bound)
        whole = scope.key([atom.arguments[index] for index in every])
        checks.append(partial(_somewhere, scope.tables.index(atom.relation, every), whole))
    index = scope.tables.index(atom.relation, columns)
    key_slots = tuple(scope.slot(atom.arguments[index]) for index in columns)
    return Stage(index, key, key_slots, tuple(same), tuple(fills), tuple(checks))


def term_value(term: Term, bound: Collection[str], scope: Scope) -> Callable[[Slots], Value | None]:
    """A function from slots to the value of a term or aggregate, None for `min` and `max` over nothing."""
    if not isinstance(term, Aggregate):
        return scope.getter(term)
    stages = compile_body(term.body, frozenset(bound) & scope.outer, scope)
    getter = None if term.value is None else scope.getter(term.value)
    return partial(_aggregate, term.function, stages, getter)


def _aggregate(function: str, stages: tuple[Stage, ...], getter: Getter | None, slots: Slots) -> Value | None:
    inner = list(slots)
    count = 0
    values: list[int] = []
    for _ in instances(stages, inner):
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


def _present(rows: frozenset[Row], row: Callable[[Slots], Row], slots: Slots) -> bool:
    return row(slots) in rows


def _missing(rows: frozenset[Row], row: Callable[[Slots], Row], slots: Slots) -> bool:
    return row(slots) not in rows


def _absent(index: Mapping[Value | Row, Sequence[Row]], key: Key, slots: Slots) -> bool:
    return key(slots) not in index


def _somewhere(index: Mapping[Value | Row, Sequence[Row]], key: Key, slots: Slots) -> bool:
    return key(slots) in index


def _fill(slot: int, value: Callable[[Slots], Value | None], slots: Slots) -> bool:
    found = value(slots)
    if found is None:
        return False
    slots[slot] = found
    return True


def _compared(
    operator: str, left: Callable[[Slots], Value | None], right: Callable[[Slots], Value | None], slots: Slots
) -> bool:
    a, b = left(slots), right(slots)
    return a is not None and b is not None and compare(operator, a, b)


def instances(stages: tuple[Stage, ...], slots: Slots) -> Iterator[None]:
    """Yields once for each instance, with its values in `slots`."""
    for check in stages[0].checks:
        if not check(slots):
            return
    if len(stages) == 1:
        yield
        return
    if len(stages) == 2:
        stage = stages[1]
        for row in stage.index.get(stage.key(slots), ()):
            if _agrees(stage, row, slots):
                yield
        return
    stack = [iter(stages[1].index.get(stages[1].key(slots), ()))]
    while stack:
        stage = stages[len(stack)]
        for row in stack[-1]:
            if _agrees(stage, row, slots):
                break
        else:
            stack.pop()
            continue
        if len(stack) == len(stages) - 1:
            yield
        else:
            following = stages[len(stack) + 1]
            stack.append(iter(following.index.get(following.key(slots), ())))


def _agrees(stage: Stage, row: Row, slots: Slots) -> bool:
    """Whether the row fits; if it does its values are in the slots."""
    for column, slot in stage.same:
        if row[column] != slots[slot]:
            return False
    for slot, column in stage.fills:
        slots[slot] = row[column]
    for check in stage.checks:  # noqa: SIM110 - a generator takes longer than what it checks
        if not check(slots):
            return False
    return True
