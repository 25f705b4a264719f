"""Reverse-mode differentiation: the ops that a scalar is made by, turned round one by one, last first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kina.diagnostics.finding import Help, Label, ProgramError, error
from kina.frontend.autodiff import contraction, elementwise, indexing, reduction, shaping
from kina.frontend.autodiff.tape import Made, Rule, Step, Tape
from kina.frontend.builder import Builder
from kina.frontend.ir import Op
from kina.frontend.ops import OPS
from kina.frontend.ops.core import FLOATS
from kina.source import Span

_MODULES = (elementwise, shaping, contraction, reduction, indexing)
#: kind -> how it is turned round
RULES: Mapping[str, Rule] = {kind: rule for module in _MODULES for kind, rule in module.RULES.items()}
#: Kinds whose derivative is zero wherever they have one.
FLAT = frozenset({"sign", "floor", "ceil", "round_nearest_even"})
#: Contributions made by these can be pending sums: they are added to each other before any other.
_SUMMING = frozenset({"dot_general", "convolution", "reduce", "scatter"})


@dataclass(frozen=True, slots=True)
class Gradients:
    """What differentiation gave: a cotangent for each value asked for, and all pairs of a value and its own.

    A pair is listed once for each cotangent, under the value that it was made for: `(add a b)` hands the
    cotangent of its result on to both operands, and it stays that of the result.
    """

    values: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    reached: frozenset[int]


@dataclass(slots=True)
class _Sweep:
    """The cotangents so far: contributions that wait for the op that made the value, and totals."""

    tape: Tape
    waiting: dict[int, list[int]] = field(default_factory=dict)
    totals: dict[int, int] = field(default_factory=dict)
    maker: dict[int, str] = field(default_factory=dict)
    noted: int = 0

    def give(self, value: int, contribution: int) -> None:
        self.waiting.setdefault(value, []).append(contribution)

    def total(self, value: int) -> int | None:
        """The sum of all contributions to a value, made once; None if there are none."""
        if value in self.totals:
            return self.totals[value]
        parts = self.waiting.pop(value, None)
        if not parts:
            return None
        if len(parts) > 1:
            self._note_makers()
            parts.sort(key=lambda part: self.maker.get(part) not in _SUMMING)
        tape = self.tape
        tape.owner, tape.span = value, tape.builder.values[value].span
        result = parts[0]
        for part in parts[1:]:
            result = tape.add(result, part)
        self.totals[value] = result
        return result

    def _note_makers(self) -> None:
        made = self.tape.made
        for index in range(self.noted, len(made)):
            self.maker.update(dict.fromkeys(made[index].results, made[index].kind))
        self.noted = len(made)


def differentiate(
    builder: Builder,
    loss: int,
    wrt: Sequence[int],
    start: int,
    place: Span,
    fresh: Callable[[str], str],
) -> Gradients:
    """Append the ops that make the gradient of `loss`, a scalar of floats, with respect to the values `wrt`.

    Ops before number `start` are taken for fixed. Values of ops there are `wrt` and constants only. New
    ops are derived, at the places of the ops that they turn round, and named after those by `fresh`.
    A value without influence gets zeros. ProgramError K124 at an op that has no derivative.
    """
    ops = builder.ops[start:]
    active = _active(builder, ops, wrt)
    first_value = len(builder.values)
    outer = builder.origin, builder.head, builder.span_for
    builder.origin, builder.head, builder.span_for = "derived", "grad", _as_it_is
    sweep = _Sweep(Tape(builder, place, loss))
    try:
        if loss in active:
            sweep.give(loss, sweep.tape.constant(1.0, builder.type_of(loss)))
            _turn_round(sweep, ops, active, place)
        values = _results(sweep, wrt, first_value, place)
    finally:
        builder.origin, builder.head, builder.span_for = outer
    owners = _owners(sweep, wrt, values, first_value)
    _name(builder, sweep.tape, owners, fresh)
    paired = [each for each in owners if builder.values[each].splat is None or each in values]
    pairs = tuple(sorted([(owners[each], each) for each in paired]))
    return Gradients(values, pairs, frozenset(value for value in wrt if value in sweep.totals))


def _as_it_is(span: Span) -> Span:
    return span


def _active(builder: Builder, ops: Sequence[Op], wrt: Sequence[int]) -> set[int]:
    """The values of floats that depend on `wrt` by ops with a slope."""
    active = set(wrt)
    values = builder.values
    for op in ops:
        if active.isdisjoint(op.operands) or op.kind in FLAT:
            continue
        if op.kind == "optimization_barrier" and op.attribute("stop_gradient"):
            continue
        if op.kind in ("optimization_barrier", "sort"):
            pairs = zip(op.operands, op.results, strict=True)
            active.update([result for operand, result in pairs if operand in active])
            continue
        active.update([result for result in op.results if values[result].type.dtype in FLOATS])
    return active


def _turn_round(sweep: _Sweep, ops: Sequence[Op], active: set[int], place: Span) -> None:
    tape = sweep.tape
    for op in reversed(ops):
        if active.isdisjoint(op.results):
            continue
        cotangents = tuple([sweep.total(result) if result in active else None for result in op.results])
        if all(each is None for each in cotangents):
            continue
        wants = tuple([operand in active for operand in op.operands])
        if not any(wants):
            continue
        tape.owner, tape.span = op.results[0], op.span
        if op.kind not in OPS:
            _through_body(sweep, op, active, cotangents, place)
            continue
        rule = _rule(op, place)
        parts = rule(tape, Step(op, cotangents, wants))
        for operand, wanted, part in zip(op.operands, wants, parts, strict=True):
            if wanted and part is not None:
                sweep.give(operand, part)


def _through_body(
    sweep: _Sweep, op: Op, active: set[int], cotangents: Sequence[int | None], place: Span
) -> None:
    """An op that the program declares: its body is computed once more, and turned round op by op."""
    builder, first = sweep.tape.builder, len(sweep.tape.builder.ops)
    results = builder.expand(op)
    inner = builder.ops[first:]
    sweep.tape.made.extend(Made(each.results, each.kind, op.results[0]) for each in inner)
    active |= _active(builder, inner, [operand for operand in op.operands if operand in active])
    for result, cotangent in zip(results, cotangents, strict=True):
        if cotangent is not None and result in active:
            sweep.give(result, cotangent)
    _turn_round(sweep, inner, active, place)


def _rule(op: Op, place: Span) -> Rule:
    """How an op is turned round; ProgramError K124 if it is not known."""
    rule = RULES.get(op.kind)
    if op.kind == "scatter" and op.attribute("combiner") not in ("add", "set"):
        rule = None
    if rule is not None:
        return rule
    what = f"`{op.kind}`"
    if op.kind == "scatter":
        what = f"`scatter` with the combiner `{op.attribute('combiner')}`"
    labels = () if op.span == place else (Label(place, "the gradient is taken here"),)
    help_ = Help("keep it out of the gradient: `(stop_gradient x)` around its operand or its result")
    raise ProgramError(error("K124", f"{what} has no derivative", op.span, labels=labels, helps=(help_,)))


def _results(sweep: _Sweep, wrt: Sequence[int], first_value: int, place: Span) -> tuple[int, ...]:
    """The cotangents asked for, each a value of its own, so that each can lie as its value does."""
    tape = sweep.tape
    given: set[int] = set()
    owned = {cotangent: value for value, cotangent in reversed(sweep.totals.items())}
    values: list[int] = []
    for value in wrt:
        total = sweep.total(value)
        tape.owner, tape.span = value, tape.builder.values[value].span
        if total is None:
            total = tape.zeros(value)
        elif owned.get(total, value) != value or total in given or total < first_value:
            total = tape.emit("reshard", (total,))
        given.add(total)
        values.append(total)
    return tuple(values)


def _owners(sweep: _Sweep, wrt: Sequence[int], values: Sequence[int], first_value: int) -> dict[int, int]:
    """cotangent -> the value that it was made for; a cotangent that was there before has none."""
    owners: dict[int, int] = {cotangent: value for value, cotangent in zip(wrt, values, strict=True)}
    for value, cotangent in sweep.totals.items():
        if cotangent >= first_value:
            owners.setdefault(cotangent, value)
    return owners


def _name(builder: Builder, tape: Tape, owners: Mapping[int, int], fresh: Callable[[str], str]) -> None:
    """Names the new values: `w'` the cotangent of `w`, `y'.multiply` a step on the way through `y`."""
    for made in tape.made:
        for result in made.results:
            value = owners.get(result)
            base = f"{builder.values[made.owner if value is None else value].name}'"
            builder.rename(result, fresh(base if value is not None else f"{base}.{made.kind}"))


def influential(builder: Builder, loss: int, values: Sequence[int]) -> list[int]:
    """Those of `values` that `loss` depends on by ops with a slope, in their order."""
    needed = {loss}
    for op in reversed(builder.ops):
        if needed.isdisjoint(op.results) or op.kind in FLAT:
            continue
        if op.kind == "optimization_barrier" and op.attribute("stop_gradient"):
            continue
        needed.update([value for value in op.operands if builder.type_of(value).dtype in FLOATS])
    return [value for value in values if value in needed]
