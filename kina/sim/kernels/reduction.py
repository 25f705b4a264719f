"""Reductions: over dims, over windows, and running ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from kina.sim.dtypes import Array, is_float, is_narrow
from kina.sim.kernels.shaping import pad

#: A reducer of unknown meaning: takes left and right values, one array per operand, gives as many.
Combine = Callable[[Sequence[Array]], Sequence[Array]]

_UFUNCS: Mapping[str, Any] = MappingProxyType(
    {
        "sum": np.add,
        "prod": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
)
_FLAG_UFUNCS: Mapping[str, Any] = MappingProxyType(
    {
        "sum": np.logical_or,
        "prod": np.logical_and,
        "max": np.logical_or,
        "min": np.logical_and,
        "and": np.logical_and,
        "or": np.logical_or,
        "xor": np.logical_xor,
    }
)


def reducer(kind: str, dtype: np.dtype[Any]) -> Any:
    """The ufunc that combines two values of `dtype` in a reduction of this kind."""
    return (_FLAG_UFUNCS if dtype == np.bool_ else _UFUNCS)[kind]


def identity(kind: str, dtype: np.dtype[Any]) -> Array:
    """The value that changes nothing in a reduction of this kind."""
    match kind:
        case "sum" | "or" | "xor":
            return np.zeros((), dtype)
        case "prod":
            return np.ones((), dtype)
        case "and":
            return np.ones((), dtype) if dtype == np.bool_ else np.invert(np.zeros((), dtype))
    sign = -1.0 if kind == "max" else 1.0
    if is_float(dtype):
        return np.array(sign * np.inf).astype(dtype)
    if dtype == np.bool_:
        return np.array(kind == "min")
    bounds = np.iinfo(dtype)
    return np.array(bounds.min if kind == "max" else bounds.max, dtype)


def reduce(x: Array, kind: str, dims: tuple[int, ...], start: Array | None = None) -> Array:
    """`x` reduced over `dims`, then combined with `start`; sums of narrow floats are kept in f32."""
    ufunc = reducer(kind, x.dtype)
    dtype = x.dtype
    first = identity(kind, dtype)
    if is_narrow(dtype) and kind in ("sum", "prod"):
        result = ufunc.reduce(x, axis=dims, dtype=np.float32, initial=np.float32(first))
    elif kind in ("sum", "prod") and dtype != np.bool_:
        result = ufunc.reduce(x, axis=dims, dtype=dtype)
    elif dtype == np.bool_:
        result = ufunc.reduce(x, axis=dims)
    else:
        result = ufunc.reduce(x, axis=dims, initial=first)
    if start is not None and start != first:
        result = ufunc(result, start.astype(np.asarray(result).dtype))
    return np.asarray(result).astype(dtype, copy=False)


def reduce_by(
    operands: Sequence[Array], starts: Sequence[Array], dims: tuple[int, ...], combine: Combine
) -> list[Array]:
    """Any reducer, in a tree of halves: log2(n) applications to whole arrays.

    StableHLO leaves the order open and demands that the reducer is associative.
    """
    kept = tuple(d for d in range(operands[0].ndim) if d not in dims)
    shape = tuple(operands[0].shape[d] for d in kept)
    # not -1: a size of 0 elsewhere would leave it open
    width = prod(operands[0].shape[d] for d in dims)
    rows = [x.transpose((*dims, *kept)).reshape((width, *shape)) for x in operands]
    while width > 1:
        half = width // 2
        joined = combine([*(x[:half] for x in rows), *(x[half : 2 * half] for x in rows)])
        if width % 2:
            joined = [np.concatenate((new, x[-1:])) for new, x in zip(joined, rows, strict=True)]
        rows, width = [np.asarray(x) for x in joined], half + width % 2
    first = [np.broadcast_to(start, shape) for start in starts]
    if not width:
        return first
    return [np.asarray(x) for x in combine([*first, *(x[0] for x in rows)])]


def running(x: Array, dim: int, kind: str, backwards: bool = False) -> Array:
    """Element `i` of the result is the reduction of the elements up to and with `i` along `dim`."""
    dtype = x.dtype
    flipped = np.flip(x, dim) if backwards else x
    wide = flipped.astype(np.float32) if is_narrow(dtype) else flipped
    ufunc = reducer(kind, dtype)
    kwargs = {"dtype": wide.dtype} if kind in ("sum", "prod") and dtype != np.bool_ else {}
    result = ufunc.accumulate(wide, axis=dim, **kwargs).astype(dtype, copy=False)
    return np.flip(result, dim) if backwards else np.asarray(result)


def window_view(x: Array, sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]) -> Array:
    """A view of all windows: dims of places, then dims of the window."""
    spans = tuple((size - 1) * gap + 1 if size else 0 for size, gap in zip(sizes, dilations, strict=True))
    if any(span > size for span, size in zip(spans, x.shape, strict=True)):
        places = tuple(max(0, (n - s) // t + 1) for n, s, t in zip(x.shape, spans, strides, strict=True))
        return np.empty((*places, *sizes), x.dtype)
    view = np.lib.stride_tricks.sliding_window_view(x, spans)
    index = tuple(slice(None, None, stride) for stride in strides)
    return np.asarray(view[index + tuple(slice(None, None, gap) for gap in dilations)])


def reduce_window(
    operands: Sequence[Array], starts: Sequence[Array], attributes: Mapping[str, Any], combine: Combine | None
) -> list[Array]:
    """`reduce_window` of StableHLO; a window over a whole dim is a running reduction, in one pass."""
    rank = operands[0].ndim
    sizes = attributes["window_dimensions"]
    strides = attributes["window_strides"] or (1,) * rank
    gaps = attributes["window_dilations"] or (1,) * rank
    bases = attributes["base_dilations"] or (1,) * rank
    padding = attributes["padding"] or (0,) * (2 * rank)
    kind = attributes.get("kind", "")
    if kind and all(step == 1 for step in (*strides, *gaps, *bases)):
        whole = _running_dim(operands[0].shape, sizes, padding)
        if whole is not None and starts[0] == identity(kind, operands[0].dtype):
            return [running(operands[0], whole[0], kind, whole[1])]
    edges = {
        "edge_padding_low": padding[0::2],
        "edge_padding_high": padding[1::2],
        "interior_padding": tuple(base - 1 for base in bases),
    }
    views = [
        window_view(pad(x, start, edges), sizes, strides, gaps)
        for x, start in zip(operands, starts, strict=True)
    ]
    dims = tuple(range(rank, 2 * rank))
    if kind:
        return [reduce(views[0], kind, dims, starts[0])]
    if combine is None:
        raise ValueError("a window without a reducer")
    return reduce_by(views, starts, dims, combine)


def _running_dim(
    shape: Sequence[int], sizes: Sequence[int], padding: Sequence[int]
) -> tuple[int, bool] | None:
    """The dim whose window is a whole prefix, or (flag set) suffix, at each place."""
    wide = [dim for dim, size in enumerate(sizes) if size != 1]
    if len(wide) != 1 or any(edge for i, edge in enumerate(padding) if i // 2 != wide[0]):
        return None
    dim = wide[0]
    low, high = padding[2 * dim], padding[2 * dim + 1]
    if sizes[dim] != shape[dim] or (low, high) not in ((shape[dim] - 1, 0), (0, shape[dim] - 1)):
        return None
    return dim, high > 0
