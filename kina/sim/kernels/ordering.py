"""Sorting, top-k and argmax."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kina.sim.dtypes import BF16, Array, is_float
from kina.sim.kernels.elementwise import total_order
from kina.sim.kernels.reduction import Combine

#: Elements of a comparison matrix that are worked on at once.
_MATRIX_LIMIT = 1 << 22


def order(key: Array, dim: int, descending: bool, total: bool = False) -> Array:
    """The stable order of `key` along `dim`; equal keys keep their order in both directions, NaN comes last.

    With `total` floats are ordered as `total_order` says, so that NaN is above everything.
    """
    if total and is_float(key.dtype):
        key = total_order(key)
    elif key.dtype == BF16:
        key = key.astype(np.float32)
    if not descending:
        return np.argsort(key, axis=dim, kind="stable")
    if is_float(key.dtype):
        return np.argsort(-key, axis=dim, kind="stable")
    flipped = np.argsort(np.flip(key, dim), axis=dim, kind="stable")
    return np.asarray(key.shape[dim] - 1 - np.flip(flipped, dim))


def sort(
    operands: Sequence[Array], dim: int, key: int = 0, descending: bool = False, total: bool = False
) -> list[Array]:
    """All operands in the order of operand `key` along `dim`."""
    places = order(operands[key], dim, descending, total)
    return [np.take_along_axis(x, places, dim) for x in operands]


def sort_by(operands: Sequence[Array], dim: int, before: Combine) -> list[Array]:
    """Stable sort by a comparator of unknown meaning.

    Element j comes before i if the comparator says so, or if it says neither and j stood first; the count of
    those is the place of i. Quadratic in the size of the dim, without a Python call for each comparison.
    """
    size = operands[0].shape[dim]
    count = operands[0].size // max(size, 1)
    rows = [np.moveaxis(x, dim, -1).reshape(count, size) for x in operands]
    results = [np.empty_like(x) for x in rows]
    step = max(1, _MATRIX_LIMIT // max(1, size * size))
    earlier = np.arange(size)[None, :] < np.arange(size)[:, None]
    for start in range(0, count, step):
        part = [x[start : start + step] for x in rows]
        # [row, i, j]: does j come before i
        pairs = [side for x in part for side in (x[:, None, :], x[:, :, None])]
        shaped = np.broadcast_arrays(*pairs) if pairs else []
        less = np.asarray(before(shaped)[0])
        tie = ~less & ~np.swapaxes(less, 1, 2)
        ranks = np.count_nonzero(less | (tie & earlier), axis=2)
        # a comparator that is no strict order (NaN) gives equal ranks: the result stays a permutation
        places = np.argsort(ranks, axis=1, kind="stable")
        for x, result in zip(part, results, strict=True):
            result[start : start + step] = np.take_along_axis(x, places, axis=1)
    moved = operands[0].shape[:dim] + operands[0].shape[dim + 1 :] + (size,)
    return [np.moveaxis(x.reshape(moved), -1, dim) for x in results]


def top_k(x: Array, k: int) -> tuple[Array, Array]:
    """The `k` largest elements of the last dim, largest first, and their places as i32."""
    places = order(x, x.ndim - 1, descending=True)[..., :k]
    return np.take_along_axis(x, places, -1), places.astype(np.int32)


def argmax(x: Array, dim: int, kind: str) -> Array:
    """The place of the first largest (or with kind min smallest) element along `dim`, as i32; NaN wins."""
    wide = x.astype(np.float32) if x.dtype == BF16 else x
    found = np.argmax(wide, axis=dim) if kind == "max" else np.argmin(wide, axis=dim)
    return np.asarray(found).astype(np.int32)
