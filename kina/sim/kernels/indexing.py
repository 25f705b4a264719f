"""Gather and scatter, vectorised over all indices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from kina.sim.dtypes import Array, is_narrow
from kina.sim.kernels.reduction import Combine, reducer


def _index_vectors(indices: Array, vector_dim: int) -> Array:
    """The indices with the dim of the index vector last; a missing one is added."""
    if vector_dim == indices.ndim:
        return indices[..., None]
    return np.moveaxis(indices, vector_dim, -1)


def _places(
    indices: Array,
    vector_dim: int,
    index_map: Sequence[int],
    batching: Sequence[int],
    indices_batching: Sequence[int],
) -> tuple[tuple[int, ...], dict[int, Array]]:
    """The shape of the batch, and for each operand dim that is indexed its start at each batch place."""
    vectors = _index_vectors(indices, vector_dim)
    shape = vectors.shape[:-1]
    starts = {dim: vectors[..., i].astype(np.int64) for i, dim in enumerate(index_map)}
    for dim, source in zip(batching, indices_batching, strict=True):
        axis = source - (vector_dim < source)
        line = np.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(shape))])
        starts[dim] = np.broadcast_to(line, shape)
    return shape, starts


def gather(operand: Array, indices: Array, attributes: Mapping[str, Any]) -> Array:
    """`gather` of StableHLO: starts are clamped so that each slice lies inside the operand."""
    sizes: tuple[int, ...] = attributes["slice_sizes"]
    batching = attributes["operand_batching_dims"]
    dropped = {*attributes["collapsed_slice_dims"], *batching}
    shape, starts = _places(
        indices,
        attributes["index_vector_dim"],
        attributes["start_index_map"],
        batching,
        attributes["start_indices_batching_dims"],
    )
    chosen = sorted(d for d in range(operand.ndim) if d in starts or sizes[d] != operand.shape[d])
    whole = [d for d in range(operand.ndim) if d not in chosen]
    windows = [d for d in chosen if d not in dropped]
    rank = len(shape) + len(windows)
    index = []
    for dim in chosen:
        start = starts.get(dim, np.zeros(shape, np.int64))
        limit = operand.shape[dim] - sizes[dim]
        place = np.clip(start, 0, limit).reshape(shape + (1,) * len(windows))
        if dim in windows:
            axis = len(shape) + windows.index(dim)
            place = place + np.arange(sizes[dim]).reshape([-1 if d == axis else 1 for d in range(rank)])
        index.append(place)
    found = (
        operand.transpose((*chosen, *whole))[tuple(index)]
        if chosen
        else np.broadcast_to(operand, shape + operand.shape)
    )
    # a whole dim of size 1 may be collapsed without being indexed
    whole_kept = [d for d in whole if d not in dropped]
    found = found.reshape(found.shape[:rank] + tuple(sizes[d] for d in whole_kept))
    return found.transpose(_result_order(len(shape), windows + whole_kept, attributes["offset_dims"]))


def _result_order(batch: int, slice_dims: Sequence[int], offset_dims: Sequence[int]) -> list[int]:
    """The permutation that puts slice dims, in operand order, at `offset_dims`, batch dims elsewhere."""
    ordered = sorted(range(len(slice_dims)), key=slice_dims.__getitem__)
    slices = iter([batch + position for position in ordered])
    batches = iter(range(batch))
    rank = batch + len(slice_dims)
    return [next(slices) if dim in offset_dims else next(batches) for dim in range(rank)]


def scatter(
    operand: Array,
    indices: Array,
    updates: Array,
    attributes: Mapping[str, Any],
    combine: Combine | None = None,
) -> Array:
    """`scatter` of StableHLO for one operand: elements out of bounds are left out.

    `combiner` is add, mul, max, min, and, or, or set (the last update wins); else `combine` is applied.
    Updates of one element are taken in the order of the indices.
    """
    window_dims: tuple[int, ...] = attributes["update_window_dims"]
    batching = attributes["input_batching_dims"]
    dropped = {*attributes["inserted_window_dims"], *batching}
    shape, starts = _places(
        indices,
        attributes["index_vector_dim"],
        attributes["scatter_dims_to_operand_dims"],
        batching,
        attributes["scatter_indices_batching_dims"],
    )
    kept = [d for d in range(operand.ndim) if d not in dropped]
    window_sizes = dict(zip(kept, (updates.shape[d] for d in window_dims), strict=True))
    chosen = [d for d in range(operand.ndim) if d in starts or window_sizes.get(d, 1) != operand.shape[d]]
    whole = [d for d in range(operand.ndim) if d not in chosen]
    windows = [d for d in chosen if d in window_sizes]
    moved = _update_rows(updates, window_dims, kept, windows, whole)
    rows, inside = _row_numbers(operand, shape, starts, chosen, windows, window_sizes)
    row_shape = tuple(operand.shape[d] for d in whole)
    row_count = prod(operand.shape[d] for d in chosen)
    target = _filled(operand.transpose((*chosen, *whole))).reshape((row_count, *row_shape))
    parts = moved.reshape((rows.size, *row_shape))
    if not inside.all():
        rows, parts = rows[inside], parts[inside]
    _apply(target, rows, parts, attributes.get("combiner", ""), combine)
    order = np.argsort((*chosen, *whole))
    return target.reshape(tuple(operand.shape[d] for d in (*chosen, *whole))).transpose(order)


def _filled(x: Array) -> Array:
    """A copy of the tensor; of zeros that repeat one element it is memory that the system clears on use.

    The gradient of an embedding is a large table of which a batch touches few rows.
    """
    if x.size and not any(x.strides) and not any(x.flat[0].tobytes()):
        return np.zeros(x.shape, x.dtype)
    return np.array(x)


def _update_rows(
    updates: Array,
    window_dims: Sequence[int],
    kept: Sequence[int],
    windows: Sequence[int],
    whole: Sequence[int],
) -> Array:
    """Updates with the scatter dims first, then windows of indexed dims, then dims taken whole."""
    place = dict(zip(kept, window_dims, strict=True))
    scatter_dims = [d for d in range(updates.ndim) if d not in window_dims]
    present = [d for d in whole if d in place]
    return updates.transpose((*scatter_dims, *(place[d] for d in windows), *(place[d] for d in present)))


def _row_numbers(
    operand: Array,
    shape: tuple[int, ...],
    starts: Mapping[int, Array],
    chosen: Sequence[int],
    windows: Sequence[int],
    sizes: Mapping[int, int],
) -> tuple[Array, Array]:
    """For each update the row that it goes to, row-major over the chosen dims, and whether it exists."""
    rank = len(shape) + len(windows)
    full = (*shape, *(sizes[d] for d in windows))
    rows = np.zeros(full, np.int64)
    inside = np.ones(full, np.bool_)
    for dim in chosen:
        place = starts.get(dim, np.zeros(shape, np.int64)).reshape(shape + (1,) * len(windows))
        if dim in windows:
            axis = len(shape) + windows.index(dim)
            place = place + np.arange(sizes[dim]).reshape([-1 if d == axis else 1 for d in range(rank)])
        inside &= (place >= 0) & (place < operand.shape[dim])
        rows = rows * operand.shape[dim] + place
    return rows.reshape(-1), inside.reshape(-1)


def _apply(target: Array, rows: Array, parts: Array, combiner: str, combine: Combine | None) -> None:
    """Combine `parts` into the rows of `target`, in order, grouped by row."""
    if not rows.size or not parts.size:
        return
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    firsts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    where = ordered[firsts]
    if combiner == "set":
        lasts = np.concatenate((firsts[1:], [ordered.size])) - 1
        target[where] = parts[order[lasts]]
        return
    kind = {"add": "sum", "mul": "prod"}.get(combiner, combiner)
    if kind:
        dtype = target.dtype
        wide = parts[order].astype(np.float32) if is_narrow(dtype) else parts[order]
        ufunc = reducer(kind, dtype)
        sums = ufunc.reduceat(wide, firsts, axis=0)
        target[where] = ufunc(target[where].astype(wide.dtype), sums).astype(dtype)
        return
    if combine is None:
        raise ValueError("a scatter without a combiner")
    _apply_in_rounds(target, ordered, parts[order], firsts, lambda old, new: combine([old, new])[0])


def _apply_in_rounds(
    target: Array, rows: Array, parts: Array, firsts: Array, combine: Callable[[Array, Array], Array]
) -> None:
    """In round k the k-th update of every row, so that no row occurs twice in one application."""
    counts = np.diff(np.concatenate((firsts, [rows.size])))
    for turn in range(int(counts.max())):
        at = firsts[counts > turn] + turn
        target[rows[at]] = combine(target[rows[at]], parts[at])
