"""Derivatives of ops that move elements: cotangents move back, and those of repeated elements are summed."""

from __future__ import annotations

from collections.abc import Mapping

from kina.frontend.autodiff.tape import Contributions, Rule, Step, Tape
from kina.frontend.ir import TensorType


def _broadcast_in_dim(tape: Tape, step: Step) -> Contributions:
    operand, dims = step.operand(0), step.numbers("broadcast_dimensions")
    before, after = tape.shape(operand), tape.shape(step.result)
    kept = {target for dim, target in enumerate(dims) if before[dim] == after[target]}
    g = tape.reduce_sum(step.cotangent, [dim for dim in range(len(after)) if dim not in kept])
    left = [target for target in dims if target in kept]
    g = tape.transpose(g, [sorted(left).index(target) for target in left])
    return (tape.reshape(g, before),)


def _transpose(tape: Tape, step: Step) -> Contributions:
    order = step.numbers("permutation")
    return (tape.transpose(step.cotangent, [order.index(dim) for dim in range(len(order))]),)


def _reshape(tape: Tape, step: Step) -> Contributions:
    return (tape.reshape(step.cotangent, tape.shape(step.operand(0))),)


def _reverse(tape: Tape, step: Step) -> Contributions:
    return (tape.emit("reverse", (step.cotangent,), dimensions=step.numbers("dimensions")),)


def _slice(tape: Tape, step: Step) -> Contributions:
    starts, strides = step.numbers("start_indices"), step.numbers("strides")
    before, taken = tape.shape(step.operand(0)), tape.shape(step.result)
    if 0 in taken:
        return (None,)
    ends = [
        start + (count - 1) * stride + 1 for start, count, stride in zip(starts, taken, strides, strict=True)
    ]
    padded = tape.emit(
        "pad",
        (step.cotangent, tape.constant(0.0, TensorType(tape.type_of(step.cotangent).dtype, ()))),
        edge_padding_low=starts,
        edge_padding_high=tuple([size - end for size, end in zip(before, ends, strict=True)]),
        interior_padding=tuple([stride - 1 for stride in strides]),
    )
    return (padded,)


def _pad(tape: Tape, step: Step) -> Contributions:
    g, low, high = step.cotangent, step.numbers("edge_padding_low"), step.numbers("edge_padding_high")
    inner = _unpad(tape, g, tape.shape(step.operand(0)), low, high, step.numbers("interior_padding"))
    if not step.wants[1]:
        return inner, None
    everything = tape.reduce_sum(g, range(len(low)))
    return inner, tape.subtract(everything, tape.reduce_sum(inner, range(len(low))))


def _unpad(
    tape: Tape,
    g: int,
    shape: tuple[int, ...],
    low: tuple[int, ...],
    high: tuple[int, ...],
    interior: tuple[int, ...],
) -> int:
    """The cotangents of the elements of `shape` that a padding left; zero where it took them away."""
    if 0 in shape:
        return tape.constant(0.0, TensorType(tape.type_of(g).dtype, shape))
    if min((*low, *high), default=0) < 0:
        g = tape.emit(
            "pad",
            (g, tape.constant(0.0, TensorType(tape.type_of(g).dtype, ()))),
            edge_padding_low=tuple([max(-each, 0) for each in low]),
            edge_padding_high=tuple([max(-each, 0) for each in high]),
        )
    starts = tuple([max(each, 0) for each in low])
    strides = tuple([each + 1 for each in interior])
    limits = tuple(
        [start + (size - 1) * stride + 1 for start, size, stride in zip(starts, shape, strides, strict=True)]
    )
    return tape.emit("slice", (g,), start_indices=starts, limit_indices=limits, strides=strides)


def _concatenate(tape: Tape, step: Step) -> Contributions:
    g, dim = step.cotangent, step.number("dimension")
    parts: list[int | None] = []
    start = 0
    for operand, wanted in zip(step.op.operands, step.wants, strict=True):
        shape = tape.shape(operand)
        parts.append(_part(tape, g, dim, start, shape) if wanted else None)
        start += shape[dim]
    return tuple(parts)


def _part(tape: Tape, g: int, dim: int, start: int, shape: tuple[int, ...]) -> int:
    if tape.shape(g) == shape:
        return g
    starts = tuple([start if each == dim else 0 for each in range(len(shape))])
    limits = tuple([begin + size for begin, size in zip(starts, shape, strict=True)])
    return tape.emit("slice", (g,), start_indices=starts, limit_indices=limits)


def _dynamic_slice(tape: Tape, step: Step) -> Contributions:
    operand, *starts = step.op.operands
    whole = tape.emit("dynamic_update_slice", (tape.zeros(operand), step.cotangent, *starts))
    return (whole, *[None] * len(starts))


def _dynamic_update_slice(tape: Tape, step: Step) -> Contributions:
    _, update, *starts = step.op.operands
    g, sizes = step.cotangent, tape.shape(update)
    outside = inside = None
    if step.wants[0]:
        outside = tape.emit("dynamic_update_slice", (g, tape.zeros(update), *starts))
    if step.wants[1]:
        inside = tape.emit("dynamic_slice", (g, *starts), slice_sizes=sizes)
    return (outside, inside, *[None] * len(starts))


def _pass_on(tape: Tape, step: Step) -> Contributions:
    return step.cotangents


RULES: Mapping[str, Rule] = {
    "broadcast_in_dim": _broadcast_in_dim,
    "transpose": _transpose,
    "reshape": _reshape,
    "reverse": _reverse,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "optimization_barrier": _pass_on,
    "reshard": _pass_on,
}
