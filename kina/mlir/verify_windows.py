"""Result shapes of windows: convolution and reduce_window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def window_places(
    sizes: Sequence[int],
    window: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    bases: Sequence[int],
    gaps: Sequence[int],
) -> tuple[int, ...]:
    """How many places a window has along each dim, after dilating and padding."""
    found = []
    for dim, size in enumerate(sizes):
        spread = (size - 1) * bases[dim] + 1 if size else 0
        padded = padding[2 * dim] + spread + padding[2 * dim + 1]
        span = (window[dim] - 1) * gaps[dim] + 1 if window[dim] else 0
        found.append((padded - span) // strides[dim] + 1 if padded >= span and padded > 0 else 0)
    return tuple(found)


def _complete(a: Mapping[str, Any], names: Sequence[str], rank: int) -> list[Sequence[int]] | None:
    """The lists of strides and dilations, ones where empty; None if one has another length or a zero."""
    lists: list[Sequence[int]] = [a[name] or (1,) * rank for name in names]
    if any(len(values) != rank or any(value < 1 for value in values) for values in lists):
        return None
    return lists


def reduce_window(shape: Sequence[int], a: Mapping[str, Any]) -> tuple[int, ...] | None:
    """The result's shape; None if the attributes are for another rank."""
    rank = len(shape)
    lists = _complete(a, ("window_strides", "base_dilations", "window_dilations"), rank)
    padding = a["padding"] or (0,) * (2 * rank)
    if lists is None or len(a["window_dimensions"]) != rank or len(padding) != 2 * rank:
        return None
    strides, bases, gaps = lists
    return window_places(shape, a["window_dimensions"], strides, padding, bases, gaps)


def _dims(a: Mapping[str, Any], side: str, first: str, second: str) -> tuple[int, ...]:
    return (a[f"{side}_{first}_dimension"], a[f"{side}_{second}_dimension"], *a[f"{side}_spatial_dimensions"])


def convolution(lhs: Sequence[int], rhs: Sequence[int], a: Mapping[str, Any]) -> tuple[int, ...] | str:
    """The result's shape, or what is wrong."""
    rank = len(lhs) - 2
    image = _dims(a, "input", "batch", "feature")
    kernel = _dims(a, "kernel", "output_feature", "input_feature")
    result = _dims(a, "output", "batch", "feature")
    if len(lhs) != len(rhs) or any(sorted(dims) != list(range(len(lhs))) for dims in (image, kernel, result)):
        return "the dim numbers are not those of tensors of one rank"
    lists = _complete(a, ("window_strides", "lhs_dilation", "rhs_dilation"), rank)
    padding = a["padding"] or (0,) * (2 * rank)
    if lists is None or len(padding) != 2 * rank or len(a["window_reversal"] or (0,) * rank) != rank:
        return "the window is for another number of dims"
    batch, features = lhs[image[0]], lhs[image[1]]
    outputs, inputs = rhs[kernel[0]], rhs[kernel[1]]
    groups, batches = a["feature_group_count"], a["batch_group_count"]
    if groups < 1 or batches < 1 or (groups > 1 and batches > 1):
        return "both group counts are at least 1, and one of them is 1"
    if features != inputs * groups or outputs % groups or outputs % batches or batch % batches:
        return f"groups do not divide {features} features of {inputs} each, {outputs} outputs, {batch} images"
    strides, bases, gaps = lists
    sizes, window = [lhs[d] for d in image[2:]], [rhs[d] for d in kernel[2:]]
    places = window_places(sizes, window, strides, padding, bases, gaps)
    by_dim = dict(zip(result, (batch // batches, outputs, *places), strict=True))
    return tuple(by_dim[d] for d in range(len(lhs)))
