"""Derivatives of contractions: each operand's cotangent is a contraction of the result's with the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

from kina.frontend.autodiff.tape import Contributions, Rule, Step, Tape
from kina.frontend.ir import Attribute


@dataclass(frozen=True, slots=True)
class _Side:
    """An operand of a contraction: its batching and contracting dims, the rest, and where the rest is in
    the result."""

    value: int
    batching: tuple[int, ...]
    contracting: tuple[int, ...]
    free: tuple[int, ...]
    places: tuple[int, ...]


def _dot_general(tape: Tape, step: Step) -> Contributions:
    batch = len(step.numbers("lhs_batching_dimensions"))
    lhs = _side(tape, step, "lhs", 0, batch)
    rhs = _side(tape, step, "rhs", 1, batch + len(lhs.free))
    return (
        _cotangent(tape, step.cotangent, lhs, rhs) if step.wants[0] else None,
        _cotangent(tape, step.cotangent, rhs, lhs) if step.wants[1] else None,
    )


def _side(tape: Tape, step: Step, name: str, position: int, first: int) -> _Side:
    value = step.operand(position)
    batching = step.numbers(f"{name}_batching_dimensions")
    contracting = step.numbers(f"{name}_contracting_dimensions")
    used = {*batching, *contracting}
    free = tuple([dim for dim in range(len(tape.shape(value))) if dim not in used])
    return _Side(value, batching, contracting, free, tuple(range(first, first + len(free))))


def _cotangent(tape: Tape, g: int, own: _Side, other: _Side) -> int:
    """The cotangent of `own`: that of the result contracted with `other` over the dims of `other` alone.

    Of the two orders of the operands the one is taken whose result has the dims of `own` in order.
    """
    batch = tuple(range(len(own.batching)))
    # What the contracted dims of `own` are called, in the order in which `other` has them.
    met = [own.contracting[other.contracting.index(dim)] for dim in sorted(other.contracting)]
    direct = [*own.batching, *own.free, *met]
    turned = [*own.batching, *met, *own.free]
    ordered = list(range(len(direct)))
    if turned == ordered and direct != ordered:
        return _dot(tape, other.value, g, (other.batching, batch), (other.free, other.places))
    made = _dot(tape, g, other.value, (batch, other.batching), (other.places, other.free))
    return tape.transpose(made, [direct.index(dim) for dim in ordered])


def _dot(
    tape: Tape,
    left: int,
    right: int,
    batching: tuple[tuple[int, ...], tuple[int, ...]],
    contracting: tuple[tuple[int, ...], tuple[int, ...]],
) -> int:
    return tape.emit(
        "dot_general",
        (left, right),
        lhs_batching_dimensions=batching[0],
        rhs_batching_dimensions=batching[1],
        lhs_contracting_dimensions=contracting[0],
        rhs_contracting_dimensions=contracting[1],
    )


@dataclass(frozen=True, slots=True)
class _Window:
    """One spatial dim of a convolution, with the sizes of image, kernel and result spread by their steps."""

    image: int
    kernel: int
    result: int
    low: int


def _convolution(tape: Tape, step: Step) -> Contributions:
    windows = _windows(tape, step)
    return (
        _image(tape, step, windows) if step.wants[0] else None,
        _kernel(tape, step, windows) if step.wants[1] else None,
    )


def _windows(tape: Tape, step: Step) -> list[_Window]:
    def spread(value: int, dims: str, steps: str) -> list[int]:
        shape = tape.shape(value)
        sizes = [shape[dim] for dim in step.numbers(dims)]
        each = zip(sizes, step.numbers(steps), strict=True)
        return [0 if size == 0 else (size - 1) * distance + 1 for size, distance in each]

    image = spread(step.operand(0), "input_spatial_dimensions", "lhs_dilation")
    kernel = spread(step.operand(1), "kernel_spatial_dimensions", "rhs_dilation")
    result = spread(step.result, "output_spatial_dimensions", "window_strides")
    lows = step.numbers("padding")[::2]
    return [_Window(*sizes) for sizes in zip(image, kernel, result, lows, strict=True)]


def _turned(tape: Tape, step: Step, value: int, reversed_now: int) -> int:
    """The kernel with those spatial dims turned round whose `window_reversal` is `reversed_now`."""
    flags = step.numbers("window_reversal")
    spatial = step.numbers("kernel_spatial_dimensions")
    dims = tuple([dim for dim, flag in zip(spatial, flags, strict=True) if flag == reversed_now])
    return tape.emit("reverse", (value,), dimensions=dims) if dims else value


def _image(tape: Tape, step: Step, windows: list[_Window]) -> int:
    """The result's cotangent, spread by the strides, under the kernel turned round."""
    kernel = _turned(tape, step, step.operand(1), 0)
    inner = step.number("kernel_input_feature_dimension")
    outer = step.number("kernel_output_feature_dimension")
    groups = max(step.number("feature_group_count"), step.number("batch_group_count"))
    if groups > 1:
        kernel = _move_groups(tape, kernel, outer, inner, groups)
    padding = []
    for window in windows:
        low = window.kernel - window.low - 1
        padding.append((low, window.image + window.kernel - 1 - window.result - low))
    made = tape.emit_all(
        "convolution",
        (step.cotangent, kernel),
        {
            "window_strides": step.numbers("lhs_dilation"),
            "padding": tuple(chain.from_iterable(padding)),
            "lhs_dilation": step.numbers("window_strides"),
            "rhs_dilation": step.numbers("rhs_dilation"),
            **_places("input", step, "output"),
            "kernel_input_feature_dimension": outer,
            "kernel_output_feature_dimension": inner,
            "kernel_spatial_dimensions": step.numbers("kernel_spatial_dimensions"),
            **_places("output", step, "input"),
            "feature_group_count": groups,
        },
    )[0]
    if step.number("batch_group_count") > 1:
        feature, batch = step.number("input_feature_dimension"), step.number("input_batch_dimension")
        return _move_groups(tape, made, feature, batch, groups)
    return made


def _places(to: str, step: Step, of: str) -> dict[str, Attribute]:
    """The dims of side `of` as those of side `to`."""
    parts = ("batch_dimension", "feature_dimension", "spatial_dimensions")
    return {f"{to}_{part}": step.op.attribute(f"{of}_{part}") for part in parts}


def _move_groups(tape: Tape, value: int, source: int, target: int, groups: int) -> int:
    """The value with the groups, the major part of dim `source`, made the major part of dim `target`."""
    shape = tape.shape(value)
    split = list(shape)
    split[source : source + 1] = [groups, shape[source] // groups]
    names = [dim for dim in range(len(shape)) for _ in range(2 if dim == source else 1)]
    group = names.index(source)
    rest = [place for place in range(len(split)) if place != group]
    at = [names[place] for place in rest].index(target)
    order = [*rest[:at], group, *rest[at:]]
    moved = tape.transpose(tape.reshape(value, tuple(split)), order)
    merged = list(shape)
    merged[source] //= groups
    merged[target] *= groups
    return tape.reshape(moved, tuple(merged))


def _kernel(tape: Tape, step: Step, windows: list[_Window]) -> int:
    """The image under the result's cotangent as a kernel, features and batch in each other's place."""
    features, batches = step.number("feature_group_count"), step.number("batch_group_count")
    padding = []
    for window in windows:
        high = window.result - window.image + window.kernel - window.low - 1
        padding.append((window.low, high))
    made = tape.emit_all(
        "convolution",
        (step.operand(0), step.cotangent),
        {
            "window_strides": step.numbers("rhs_dilation"),
            "padding": tuple(chain.from_iterable(padding)),
            "lhs_dilation": step.numbers("lhs_dilation"),
            "rhs_dilation": step.numbers("window_strides"),
            "input_batch_dimension": step.number("input_feature_dimension"),
            "input_feature_dimension": step.number("input_batch_dimension"),
            "input_spatial_dimensions": step.numbers("input_spatial_dimensions"),
            "kernel_input_feature_dimension": step.number("output_batch_dimension"),
            "kernel_output_feature_dimension": step.number("output_feature_dimension"),
            "kernel_spatial_dimensions": step.numbers("output_spatial_dimensions"),
            "output_batch_dimension": step.number("kernel_input_feature_dimension"),
            "output_feature_dimension": step.number("kernel_output_feature_dimension"),
            "output_spatial_dimensions": step.numbers("kernel_spatial_dimensions"),
            "feature_group_count": batches,
            "batch_group_count": features,
        },
    )[0]
    return _turned(tape, step, made, 1)


RULES: Mapping[str, Rule] = {"dot_general": _dot_general, "convolution": _convolution}
