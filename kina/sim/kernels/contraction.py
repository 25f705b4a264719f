"""Matrix products: every contraction becomes one batched BLAS call."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from kina.sim.dtypes import Array, is_narrow


def dot_general(lhs: Array, rhs: Array, attributes: Mapping[str, Any]) -> Array:
    """The `dot_general` of StableHLO: batch dims, then free dims of `lhs`, then free dims of `rhs`.

    bf16 and f16 are multiplied and summed in f32 and rounded once.
    """
    left_batch, right_batch = attributes["lhs_batching_dimensions"], attributes["rhs_batching_dimensions"]
    left_sum, right_sum = attributes["lhs_contracting_dimensions"], attributes["rhs_contracting_dimensions"]
    left_free = tuple(d for d in range(lhs.ndim) if d not in left_batch and d not in left_sum)
    right_free = tuple(d for d in range(rhs.ndim) if d not in right_batch and d not in right_sum)
    shape = tuple(lhs.shape[d] for d in (*left_batch, *left_free)) + tuple(rhs.shape[d] for d in right_free)
    batch = tuple(lhs.shape[d] for d in left_batch)
    rows, columns = prod(lhs.shape[d] for d in left_free), prod(rhs.shape[d] for d in right_free)
    inner = prod(lhs.shape[d] for d in left_sum)
    left = _matrix(lhs, left_batch, left_free, left_sum, (*batch, rows, inner))
    right = _matrix(rhs, right_batch, right_sum, right_free, (*batch, inner, columns))
    return matrix_product(left, right).reshape(shape)


def _matrix(
    x: Array, batch: tuple[int, ...], rows: tuple[int, ...], columns: tuple[int, ...], shape: tuple[int, ...]
) -> Array:
    return x.transpose((*batch, *rows, *columns)).reshape(shape)


def matrix_product(left: Array, right: Array) -> Array:
    """Batched product of `[…, m, k]` and `[…, k, n]`, through f32 for narrow floats."""
    dtype = left.dtype
    if is_narrow(dtype):
        return np.asarray(np.matmul(left.astype(np.float32), right.astype(np.float32))).astype(dtype)
    if dtype.kind == "f":
        left, right = _blas_ready(left), _blas_ready(right)
    if dtype == np.bool_:
        return np.asarray(np.matmul(left.astype(np.int64), right.astype(np.int64)) != 0)
    return np.asarray(np.matmul(left, right))


def _blas_ready(x: Array) -> Array:
    """The matrices themselves if BLAS can read them, plain or transposed, else a contiguous copy."""
    rows, columns = x.strides[-2:]
    item = x.dtype.itemsize
    plain = columns == item and rows >= x.shape[-1] * item
    transposed = rows == item and columns >= x.shape[-2] * item
    return x if plain or transposed else np.ascontiguousarray(x)
