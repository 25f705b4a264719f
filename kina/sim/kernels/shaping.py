"""Ops that move elements and compute nothing. Results are views wherever NumPy can make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kina.sim.dtypes import DTYPES, Array


def broadcast_in_dim(x: Array, attributes: Mapping[str, Any]) -> Array:
    """A view in which operand dim `i` becomes result dim `broadcast_dimensions[i]`."""
    dims: tuple[int, ...] = attributes["broadcast_dimensions"]
    shape: tuple[int, ...] = attributes["shape"]
    order = sorted(range(len(dims)), key=dims.__getitem__)
    moved = x.transpose(order) if order != list(range(len(dims))) else x
    index: list[Any] = [None] * len(shape)
    for dim in dims:
        index[dim] = slice(None)
    return np.broadcast_to(moved[tuple(index)], shape)


def transpose(x: Array, attributes: Mapping[str, Any]) -> Array:
    return x.transpose(attributes["permutation"])


def reshape(x: Array, attributes: Mapping[str, Any]) -> Array:
    return x.reshape(attributes["shape"])


def slice_(x: Array, attributes: Mapping[str, Any]) -> Array:
    starts, limits, steps = attributes["start_indices"], attributes["limit_indices"], attributes["strides"]
    return x[tuple(slice(a, b, s) for a, b, s in zip(starts, limits, steps, strict=True))]


def reverse(x: Array, attributes: Mapping[str, Any]) -> Array:
    dims = attributes["dimensions"]
    return x[tuple(slice(None, None, -1) if d in dims else slice(None) for d in range(x.ndim))]


def concatenate(operands: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    return np.concatenate(operands, axis=attributes["dimension"])


def pad(x: Array, value: Array, attributes: Mapping[str, Any]) -> Array:
    """`x` with `interior_padding` between its elements, then edges added, or cut where negative."""
    low, high = attributes["edge_padding_low"], attributes["edge_padding_high"]
    inner = attributes["interior_padding"]
    spread = [n + max(n - 1, 0) * i for n, i in zip(x.shape, inner, strict=True)]
    shape = tuple(a + n + b for a, n, b in zip(low, spread, high, strict=True))
    result = np.full(shape, value, dtype=x.dtype)
    target, source = [], []
    for dim, (size, step) in enumerate(zip(x.shape, (i + 1 for i in inner), strict=True)):
        # Elements i with 0 <= low + i * step < shape are kept.
        first = max(0, -(low[dim] // step)) if low[dim] < 0 else 0
        last = min(size, (shape[dim] - 1 - low[dim]) // step + 1) if shape[dim] else 0
        last = max(last, first)
        target.append(
            slice(low[dim] + first * step, max(low[dim] + (last - 1) * step + 1, 0), step)
            if last > first
            else slice(0, 0)
        )
        source.append(slice(first, last))
    result[tuple(target)] = x[tuple(source)]
    return result


def iota(attributes: Mapping[str, Any]) -> Array:
    """Numbers along `iota_dimension`, as a view that repeats them along the others."""
    shape, dim = attributes["shape"], attributes["iota_dimension"]
    dtype = DTYPES[attributes["dtype"]]
    line = np.arange(shape[dim]).astype(dtype)
    return np.broadcast_to(line.reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape)


def clamped_starts(starts: Sequence[Array], shape: Sequence[int], sizes: Sequence[int]) -> tuple[int, ...]:
    """Start indices moved so that a window of `sizes` lies inside `shape`."""
    return tuple(
        min(max(int(start), 0), size - window)
        for start, size, window in zip(starts, shape, sizes, strict=True)
    )


def dynamic_slice(operands: Sequence[Array], attributes: Mapping[str, Any]) -> Array:
    x, *starts = operands
    sizes = attributes["slice_sizes"]
    places = clamped_starts(starts, x.shape, sizes)
    return x[tuple(slice(a, a + n) for a, n in zip(places, sizes, strict=True))]


def dynamic_update_slice(operands: Sequence[Array]) -> Array:
    x, update, *starts = operands
    places = clamped_starts(starts, x.shape, update.shape)
    result = np.array(x)
    result[tuple(slice(a, a + n) for a, n in zip(places, update.shape, strict=True))] = update
    return result
