"""Derivatives of reductions and orderings; equal extrema share the cotangent, as in `jax.grad`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kina.frontend.autodiff.tape import Contributions, Rule, Step, Tape
from kina.frontend.ir import TensorType
from kina.frontend.ops.core import FLOATS


def _reduce(tape: Tape, step: Step) -> Contributions:
    operand, dims, g = step.operand(0), step.numbers("dimensions"), step.cotangent
    match step.word("kind"):
        case "sum":
            return (_spread(tape, g, operand, dims),)
        case "prod":
            return (_product(tape, operand, dims, g),)
    hit = tape.compare(operand, _spread(tape, step.result, operand, dims), "EQ")
    one = tape.type_of(operand)
    hits = tape.emit("select", (hit, tape.constant(1.0, one), tape.constant(0.0, one)))
    share = tape.emit("divide", (g, tape.emit("reduce", (hits,), dimensions=dims, kind="sum")))
    return (tape.where(hit, _spread(tape, share, operand, dims)),)


def _spread(tape: Tape, value: int, operand: int, dims: tuple[int, ...]) -> int:
    """The reduced value repeated along the dims that went away."""
    shape = tape.shape(operand)
    return tape.broadcast(value, [dim for dim in range(len(shape)) if dim not in dims], shape)


def _product(tape: Tape, operand: int, dims: tuple[int, ...], g: int) -> int:
    """The cotangent times the product of all other elements, which is right beside zeros too.

    The dims are reduced one after the other, the last first, so that nothing is moved.
    """
    ordered = sorted(dims, reverse=True)
    partial = [operand]
    for dim in ordered[:-1]:
        partial.append(tape.emit("reduce", (partial[-1],), dimensions=(dim,), kind="prod"))
    for value, dim in zip(reversed(partial), reversed(ordered), strict=False):
        g = _product_along(tape, value, dim, g)
    return g


def _product_along(tape: Tape, operand: int, dim: int, g: int) -> int:
    type_ = tape.type_of(operand)
    one = tape.constant(1.0, TensorType(type_.dtype, ()))
    sides = []
    for low, high in ((1, -1), (-1, 1)):
        shifted = _shifted(tape, operand, one, dim, low, high)
        sides.append(tape.emit("cumulative", (shifted,), dimension=dim, kind="prod", reverse=low < 0))
    others = tape.emit("multiply", tuple(sides))
    return tape.multiply(_spread(tape, g, operand, (dim,)), others)


def _shifted(tape: Tape, value: int, filler: int, dim: int, low: int, high: int) -> int:
    """The value moved along a dim, with `filler` where nothing came from."""
    zero = [0] * len(tape.shape(value))
    before, after = list(zero), list(zero)
    before[dim], after[dim] = low, high
    return tape.emit("pad", (value, filler), edge_padding_low=tuple(before), edge_padding_high=tuple(after))


def _cumulative(tape: Tape, step: Step) -> Contributions:
    operand, dim, g = step.operand(0), step.number("dimension"), step.cotangent
    kind, reverse = step.word("kind"), bool(step.number("reverse"))
    if kind == "sum":
        back = tape.emit("cumulative", (g,), dimension=dim, kind="sum", reverse=not reverse)
        return (back,)
    return (_scan(tape, operand, dim, kind, reverse, g),)


#: kind -> (the op that combines two elements, its neutral element)
_SCANS = {"prod": ("multiply", 1.0), "max": ("maximum", float("-inf")), "min": ("minimum", float("inf"))}


def _scan(tape: Tape, operand: int, dim: int, kind: str, reverse: bool, g: int) -> int:
    """The cumulative op as log2(n) rounds of one op between the value and itself moved, turned round one by
    one: right beside zeros and, up to how ties are shared, for extrema."""
    combine, neutral = _SCANS[kind]
    filler = tape.constant(neutral, TensorType(tape.type_of(operand).dtype, ()))
    rounds: list[tuple[int, int, int]] = []
    distance, value = 1, operand
    while distance < tape.shape(operand)[dim]:
        low = -distance if reverse else distance
        moved = _shifted(tape, value, filler, dim, low, -low)
        rounds.append((value, moved, low))
        value = tape.emit(combine, (value, moved))
        distance *= 2
    zero = tape.constant(0.0, TensorType(tape.type_of(operand).dtype, ()))
    for value, moved, low in reversed(rounds):
        here, there = _between(tape, kind, value, moved, g)
        g = tape.emit("add", (here, _shifted(tape, there, zero, dim, -low, low)))
    return g


def _between(tape: Tape, kind: str, value: int, moved: int, g: int) -> tuple[int, int]:
    """The cotangents of the two operands of one round."""
    if kind == "prod":
        return tape.multiply(g, moved), tape.multiply(g, value)
    first, second = ("GE", "LE") if kind == "max" else ("LE", "GE")
    tied = tape.compare(value, moved, "EQ")
    g = tape.emit("select", (tied, tape.scale(g, 0.5), g))
    return tape.where(tape.compare(value, moved, first), g), tape.where(tape.compare(value, moved, second), g)


def _sort(tape: Tape, step: Step) -> Contributions:
    """Cotangents go back by sorting them with the places that the elements came from as keys."""
    keys, dim = step.operand(0), step.number("dimension")
    places_type = replace(tape.type_of(keys), dtype="i32")
    places = tape.emit("iota", (), iota_dimension=dim, dtype="i32", shape=places_type.shape)
    came_from = tape.emit_all(
        "sort", (keys, places), {"dimension": dim, "direction": step.word("direction"), "is_stable": True}
    )[1]
    live = [
        (position, g)
        for position, (g, wanted) in enumerate(zip(step.cotangents, step.wants, strict=True))
        if g is not None and wanted
    ]
    parts: list[int | None] = [None] * len(step.wants)
    if not live:
        return tuple(parts)
    back = tape.emit_all("sort", (came_from, *[g for _, g in live]), {"dimension": dim, "is_stable": True})
    for (position, _), value in zip(live, back[1:], strict=True):
        parts[position] = value
    return tuple(parts)


def _top_k(tape: Tape, step: Step) -> Contributions:
    """Each cotangent is added at the place that its element was taken from."""
    operand, g = step.operand(0), step.cotangents[0]
    last = len(tape.shape(operand)) - 1
    if g is None or tape.type_of(operand).dtype not in FLOATS:
        return (None,)
    batch = tuple(range(last))
    back = tape.emit(
        "scatter",
        (tape.zeros(operand), step.op.results[1], g),
        update_window_dims=(),
        inserted_window_dims=(last,),
        input_batching_dims=batch,
        scatter_indices_batching_dims=batch,
        scatter_dims_to_operand_dims=(last,),
        index_vector_dim=last + 1,
        combiner="add",
        unique_indices=True,
    )
    return (back,)


RULES: Mapping[str, Rule] = {
    "reduce": _reduce,
    "cumulative": _cumulative,
    "sort": _sort,
    "top_k": _top_k,
}
