"""Result types of gather and scatter, by the constraints of the StableHLO specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kina.mlir.syntax import FLOATS, TensorType
from kina.mlir.verify_basics import ShapeError, in_range

Types = tuple[TensorType, ...]


def _vector_dim(kind: str, indices: TensorType, dim: int, wanted: int) -> tuple[int, ...]:
    """The shape of the indices without the dim of the index vector, which has `wanted` numbers."""
    if indices.dtype in FLOATS or indices.dtype == "i1":
        raise ShapeError(f"`{kind}` takes indices that are whole numbers, not {indices}")
    in_range(kind, (dim,), indices.rank + 1)
    size = indices.shape[dim] if dim < indices.rank else 1
    if size != wanted:
        raise ShapeError(f"`{kind}` has index vectors of {size} numbers for {wanted} dims")
    return tuple(n for d, n in enumerate(indices.shape) if d != dim)


def gather(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    operand, indices = types
    batch = _vector_dim("gather", indices, a["index_vector_dim"], len(a["start_index_map"]))
    in_range("gather", a["start_index_map"], operand.rank)
    dropped = (*a["collapsed_slice_dims"], *a["operand_batching_dims"])
    in_range("gather", dropped, operand.rank)
    in_range("gather", a["start_indices_batching_dims"], indices.rank)
    sizes = a["slice_sizes"]
    if len(sizes) != operand.rank or any(not 0 <= n <= m for n, m in zip(sizes, operand.shape, strict=True)):
        raise ShapeError(f"`gather` takes slices of sizes {list(sizes)} of {operand}", "K612")
    if any(sizes[d] > 1 for d in dropped) or len(a["operand_batching_dims"]) != len(
        a["start_indices_batching_dims"]
    ):
        raise ShapeError(
            "`gather` drops a dim whose slice is larger than 1, or pairs batching dims unevenly", "K612"
        )
    offsets = [sizes[d] for d in range(operand.rank) if d not in dropped]
    rank = len(batch) + len(offsets)
    in_range("gather", a["offset_dims"], rank)
    if len(a["offset_dims"]) != len(offsets):
        raise ShapeError(
            f"`gather` has {len(a['offset_dims'])} offset dims for slices with {len(offsets)}", "K612"
        )
    rows, slices = iter(batch), iter(offsets)
    shape = tuple(next(slices) if d in a["offset_dims"] else next(rows) for d in range(rank))
    return (TensorType(operand.dtype, shape),)


def scatter(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    if len(types) != 3:
        raise ShapeError(f"`scatter` of one operand takes 3 tensors, not {len(types)}")
    operand, indices, updates = types
    batch = _vector_dim("scatter", indices, a["index_vector_dim"], len(a["scatter_dims_to_operand_dims"]))
    in_range("scatter", a["scatter_dims_to_operand_dims"], operand.rank)
    dropped = (*a["inserted_window_dims"], *a["input_batching_dims"])
    in_range("scatter", dropped, operand.rank)
    in_range("scatter", a["update_window_dims"], updates.rank)
    windows = a["update_window_dims"]
    kept = [d for d in range(operand.rank) if d not in dropped]
    rows = tuple(n for d, n in enumerate(updates.shape) if d not in windows)
    if len(windows) != len(kept) or rows != batch or updates.dtype != operand.dtype:
        raise ShapeError(f"`scatter` cannot put {updates} into {operand} at {indices}")
    if any(updates.shape[w] > operand.shape[d] for w, d in zip(windows, kept, strict=True)):
        raise ShapeError(f"`scatter` has a window in {updates} that is larger than {operand}")
    return (operand,)
