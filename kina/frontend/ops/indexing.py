"""Gather and scatter, with all attributes of the StableHLO specification."""

from __future__ import annotations

from kina.frontend.ir import TensorType
from kina.frontend.ops.core import (
    INTEGERS,
    NUMBERS,
    Attributes,
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    Types,
    need_dims,
    need_dtype,
    need_length,
    need_one_dtype,
    need_sorted,
    number,
    numbers,
    show,
    word,
)


def _index_sizes(kind: str, indices: TensorType, attributes: Attributes) -> tuple[tuple[int, ...], int]:
    """The batch sizes of the indices, and how many numbers one index has."""
    at = number(attributes, "index_vector_dim")
    need_dtype(kind, indices, INTEGERS)
    if not 0 <= at <= indices.rank:
        raise OpError(
            "K105",
            f"`index_vector_dim` of `{kind}` is {at}, but {indices} has the dims 0 to {indices.rank - 1}",
            f"{indices.rank} says that each element is an index by itself",
        )
    if at == indices.rank:
        return indices.shape, 1
    return indices.shape[:at] + indices.shape[at + 1 :], indices.shape[at]


def _check_map(
    kind: str,
    operand: TensorType,
    indices: TensorType,
    parts: int,
    attributes: Attributes,
    names: tuple[str, str, str, str],
) -> None:
    """The attributes that gather and scatter share: inserted, operand batch, index batch and map."""
    inserted, batching, index_batching, index_map = (numbers(attributes, name) for name in names)
    for name in names[:2]:
        need_sorted(kind, name, numbers(attributes, name))
    need_dims(kind, names[0], inserted, operand.rank, operand)
    need_dims(kind, names[1], batching, operand.rank, operand)
    need_dims(kind, f"{names[0]} and {names[1]}", (*inserted, *batching), operand.rank, operand)
    need_dims(kind, names[2], index_batching, indices.rank, indices)
    need_length(kind, names[2], index_batching, len(batching), f"`{names[1]}` {show(batching)}")
    need_length(kind, names[3], index_map, parts, f"an index of {parts}")
    need_dims(kind, names[3], index_map, operand.rank, operand)
    need_dims(kind, f"{names[3]} and {names[1]}", (*index_map, *batching), operand.rank, operand)
    if number(attributes, "index_vector_dim") in index_batching:
        raise OpError("K116", f"`{names[2]}` of `{kind}` has `index_vector_dim`, which is no batch dim")
    for dim, index_dim in zip(batching, index_batching, strict=True):
        if operand.shape[dim] != indices.shape[index_dim]:
            raise OpError(
                "K116",
                f"batch dims of `{kind}` agree: dim {dim} of {operand} and dim {index_dim} of {indices} "
                "do not",
            )


def _infer_gather(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, indices = operands
    batch, parts = _index_sizes(kind, indices, attributes)
    names = (
        "collapsed_slice_dims",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "start_index_map",
    )
    _check_map(kind, operand, indices, parts, attributes, names)
    sizes, offset = numbers(attributes, "slice_sizes"), numbers(attributes, "offset_dims")
    need_length(kind, "slice_sizes", sizes, operand.rank, operand)
    dropped = {*numbers(attributes, names[0]), *numbers(attributes, names[1])}
    for dim, size in enumerate(sizes):
        if not 0 <= size <= operand.shape[dim] or (dim in dropped and size > 1):
            most = min(1, operand.shape[dim]) if dim in dropped else operand.shape[dim]
            raise OpError(
                "K116",
                f"`slice_sizes` of `{kind}` is {size} at dim {dim} of {operand}, but at most {most} fits",
            )
    kept = [size for dim, size in enumerate(sizes) if dim not in dropped]
    return (TensorType(operand.dtype, _interleave(kind, "offset_dims", offset, kept, batch)),)


def _interleave(
    kind: str, name: str, window_dims: tuple[int, ...], window: list[int], batch: tuple[int, ...]
) -> tuple[int, ...]:
    """The shape with the window sizes at `window_dims` and the batch sizes, in order, elsewhere."""
    rank = len(window) + len(batch)
    need_length(kind, name, window_dims, len(window), f"a slice with {len(window)} dims that stay")
    need_sorted(kind, name, window_dims)
    need_dims(kind, name, window_dims, rank, f"a result with {rank} dims")
    sizes = dict(zip(window_dims, window, strict=True))
    rest = iter(batch)
    return tuple([sizes[dim] if dim in sizes else next(rest) for dim in range(rank)])


def _infer_scatter(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, indices, updates = operands
    need_one_dtype(kind, (operand, updates))
    need_dtype(kind, operand, (*NUMBERS, "bool") if word(attributes, "combiner") == "set" else NUMBERS)
    batch, parts = _index_sizes(kind, indices, attributes)
    names = (
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    _check_map(kind, operand, indices, parts, attributes, names)
    window_dims = numbers(attributes, "update_window_dims")
    dropped = {*numbers(attributes, names[0]), *numbers(attributes, names[1])}
    kept = [dim for dim in range(operand.rank) if dim not in dropped]
    need_dims(kind, "update_window_dims", window_dims, updates.rank, updates)
    window = [updates.shape[dim] for dim in window_dims]
    need_length(
        kind, "update_window_dims", window_dims, len(kept), f"{operand} with {len(kept)} dims in a window"
    )
    wanted = (
        _interleave(kind, "update_window_dims", window_dims, window, batch)
        if updates.rank == len(window) + len(batch)
        else ()
    )
    if updates.shape != wanted:
        raise OpError(
            "K116",
            f"the updates of `{kind}` have a window for each index: the batch of {updates} is not "
            f"{show(batch)}",
        )
    for dim, size in zip(kept, window, strict=True):
        if size > operand.shape[dim]:
            raise OpError(
                "K116",
                f"a window of `{kind}` fits into the operand: {size} elements of {updates} do not fit into "
                f"dim {dim} of {operand}",
            )
    return (operand,)


_COMBINERS = ("add", "set", "max", "min", "mul")
_INDEX_VECTOR = AttributeSpec(
    "index_vector_dim",
    "number",
    "the dim of the indices that holds the parts of one index; the rank if they are single",
    lambda operands, attributes: operands[1].rank,
)
_SORTED = AttributeSpec("indices_are_sorted", "flag", "whether the indices are known to ascend", False)

SPECS = (
    OpSpec(
        "gather",
        2,
        2,
        _infer_gather,
        "slices of the operand, one for each index",
        (
            AttributeSpec("offset_dims", "numbers", "the dims of the result that hold a slice"),
            AttributeSpec(
                "collapsed_slice_dims", "numbers", "the dims of the operand that a slice drops", ()
            ),
            AttributeSpec("operand_batching_dims", "numbers", "the batch dims of the operand", ()),
            AttributeSpec("start_indices_batching_dims", "numbers", "the batch dims of the indices", ()),
            AttributeSpec("start_index_map", "numbers", "for each part of an index the dim of the operand"),
            _INDEX_VECTOR,
            AttributeSpec("slice_sizes", "numbers", "for each dim of the operand the size of a slice"),
            _SORTED,
        ),
        section="gather",
        operand_names=("operand", "start_indices"),
    ),
    OpSpec(
        "scatter",
        3,
        3,
        _infer_scatter,
        "the operand with updates combined in, one window for each index",
        (
            AttributeSpec("update_window_dims", "numbers", "the dims of the updates that hold a window"),
            AttributeSpec(
                "inserted_window_dims", "numbers", "the dims of the operand that a window lacks", ()
            ),
            AttributeSpec("input_batching_dims", "numbers", "the batch dims of the operand", ()),
            AttributeSpec("scatter_indices_batching_dims", "numbers", "the batch dims of the indices", ()),
            AttributeSpec(
                "scatter_dims_to_operand_dims", "numbers", "for each part of an index the dim of the operand"
            ),
            _INDEX_VECTOR,
            AttributeSpec("combiner", "word", "how an update meets what is there", choices=_COMBINERS),
            _SORTED,
            AttributeSpec("unique_indices", "flag", "whether no index is known to occur twice", False),
        ),
        section="scatter",
        operand_names=("input", "scatter_indices", "updates"),
    ),
)
