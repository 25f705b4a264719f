"""Kinds that move elements and change none: broadcast, reshape, slice, concatenate and their like."""

from __future__ import annotations

from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops.core import (
    Attributes,
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    Types,
    counted,
    need_dim,
    need_dims,
    need_dtype,
    need_length,
    need_one_dtype,
    need_scalar,
    number,
    numbers,
    show,
)


def _infer_broadcast(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand = operands[0]
    dims, shape = numbers(attributes, "broadcast_dimensions"), numbers(attributes, "shape")
    result = TensorType(operand.dtype, shape)
    need_length(kind, "broadcast_dimensions", dims, operand.rank, operand)
    need_dims(kind, "broadcast_dimensions", dims, len(shape), result)
    for dim, target in enumerate(dims):
        if operand.shape[dim] not in (1, shape[target]):
            raise OpError(
                "K108",
                f"`{kind}` cannot stretch {operand} to {result}: dim {dim} has {operand.shape[dim]} "
                f"elements, and dim {target} of the result {shape[target]}",
                "only a dim of size 1 is repeated",
            )
    return (result,)


def _infer_transpose(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, order = operands[0], numbers(attributes, "permutation")
    if sorted(order) != list(range(operand.rank)):
        wanted = show(range(operand.rank))
        raise OpError(
            "K106",
            f"`permutation` of `{kind}` is {show(order)}, no order of the dims {wanted} of {operand}",
        )
    return (TensorType(operand.dtype, tuple([operand.shape[dim] for dim in order])),)


def _infer_reshape(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand = operands[0]
    result = TensorType(operand.dtype, numbers(attributes, "shape"))
    if min(result.shape, default=0) >= 0 and result.elements != operand.elements:
        raise OpError(
            "K107",
            f"`{kind}` keeps all elements: {operand} has {operand.elements}, {result} has {result.elements}",
        )
    return (result,)


def _ones(operands: Types, attributes: Attributes) -> Attribute:
    return (1,) * operands[0].rank if operands else ()


def _zeros(operands: Types, attributes: Attributes) -> Attribute:
    return (0,) * operands[0].rank if operands else ()


def _infer_slice(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand = operands[0]
    starts, limits, strides = (
        numbers(attributes, name) for name in ("start_indices", "limit_indices", "strides")
    )
    for name in ("start_indices", "limit_indices", "strides"):
        need_length(kind, name, numbers(attributes, name), operand.rank, operand)
    sizes = []
    for dim, (start, limit, stride) in enumerate(zip(starts, limits, strides, strict=True)):
        if stride < 1:
            raise OpError(
                "K112", f"the stride of `{kind}` at dim {dim} is {stride}, but strides are at least 1"
            )
        if not 0 <= start <= limit <= operand.shape[dim]:
            raise OpError(
                "K112",
                f"`{kind}` takes {start} to {limit} of dim {dim} of {operand}, which has "
                f"{counted(operand.shape[dim], 'element')}",
                "a start is not above its limit, and a limit not above the size",
            )
        sizes.append(-(-(limit - start) // stride))
    return (TensorType(operand.dtype, tuple(sizes)),)


def _infer_concatenate(kind: str, operands: Types, attributes: Attributes) -> Results:
    first, dim = operands[0], number(attributes, "dimension")
    need_one_dtype(kind, operands)
    need_dim(kind, "dimension", dim, first.rank, first)
    total = 0
    before, after = first.shape[:dim], first.shape[dim + 1 :]
    for other in operands:
        if other.rank != first.rank or other.shape[:dim] != before or other.shape[dim + 1 :] != after:
            raise OpError(
                "K113",
                f"`{kind}` along dim {dim} takes tensors that agree in every other dim: {first} and {other} "
                "do not",
            )
        total += other.shape[dim]
    return (TensorType(first.dtype, (*before, total, *after)),)


def _infer_pad(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, value = operands
    need_scalar(kind, "padding_value", value)
    need_one_dtype(kind, operands)
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    for name in names:
        need_length(kind, name, numbers(attributes, name), operand.rank, operand)
    low, high, interior = (numbers(attributes, name) for name in names)
    sizes = []
    for dim, size in enumerate(operand.shape):
        if interior[dim] < 0:
            raise OpError(
                "K114", f"the interior padding of `{kind}` at dim {dim} is {interior[dim]}, which is negative"
            )
        padded = low[dim] + size + max(size - 1, 0) * interior[dim] + high[dim]
        if padded < 0:
            raise OpError(
                "K114",
                f"`{kind}` takes more off dim {dim} of {operand} than it has: {low[dim]} and {high[dim]} "
                f"leave {padded} elements",
            )
        sizes.append(padded)
    return (TensorType(operand.dtype, tuple(sizes)),)


def _infer_reverse(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand = operands[0]
    need_dims(kind, "dimensions", numbers(attributes, "dimensions"), operand.rank, operand)
    return (operand,)


def _starts(kind: str, operand: TensorType, starts: Types) -> None:
    if len(starts) != operand.rank:
        raise OpError(
            "K104", f"`{kind}` takes one start for each dim of {operand}: {operand.rank}, not {len(starts)}"
        )
    for start in starts:
        need_scalar(kind, "start_indices", start)
        need_dtype(kind, start, ("i32", "i64"))
    if starts:
        need_one_dtype(kind, starts)


def _infer_dynamic_slice(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, sizes = operands[0], numbers(attributes, "slice_sizes")
    _starts(kind, operand, operands[1:])
    need_length(kind, "slice_sizes", sizes, operand.rank, operand)
    for dim, size in enumerate(sizes):
        if not 0 <= size <= operand.shape[dim]:
            raise OpError(
                "K112",
                f"`{kind}` takes {size} elements of dim {dim} of {operand}, which has {operand.shape[dim]}",
            )
    return (TensorType(operand.dtype, sizes),)


def _infer_dynamic_update_slice(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, update = operands[:2]
    _starts(kind, operand, operands[2:])
    need_one_dtype(kind, (operand, update))
    if update.rank != operand.rank or any(u > o for u, o in zip(update.shape, operand.shape, strict=False)):
        raise OpError(
            "K112", f"the update of `{kind}` fits into the operand: {update} does not fit into {operand}"
        )
    return (operand,)


SPECS = (
    OpSpec(
        "broadcast_in_dim",
        1,
        1,
        _infer_broadcast,
        "repeats the operand along new dims and dims of size 1",
        (
            AttributeSpec(
                "broadcast_dimensions", "numbers", "for each dim of the operand the dim of the result"
            ),
            AttributeSpec("shape", "numbers", "the shape of the result"),
        ),
        section="broadcast_in_dim",
        operand_names=("operand",),
    ),
    OpSpec(
        "transpose",
        1,
        1,
        _infer_transpose,
        "the operand with its dims in another order",
        (AttributeSpec("permutation", "numbers", "for each dim of the result the dim of the operand"),),
        section="transpose",
        operand_names=("operand",),
    ),
    OpSpec(
        "reshape",
        1,
        1,
        _infer_reshape,
        "the same elements in row-major order under another shape",
        (AttributeSpec("shape", "numbers", "the shape of the result"),),
        section="reshape",
        operand_names=("operand",),
    ),
    OpSpec(
        "slice",
        1,
        1,
        _infer_slice,
        "the elements between fixed bounds",
        (
            AttributeSpec("start_indices", "numbers", "for each dim the first index"),
            AttributeSpec("limit_indices", "numbers", "for each dim the index after the last"),
            AttributeSpec("strides", "numbers", "for each dim the step; 1 unless given", _ones),
        ),
        section="slice",
        operand_names=("operand",),
    ),
    OpSpec(
        "dynamic_slice",
        1,
        None,
        _infer_dynamic_slice,
        "as many elements as `slice_sizes` says, from starts that are scalars, moved so that they fit",
        (AttributeSpec("slice_sizes", "numbers", "for each dim how many elements"),),
        section="dynamic_slice",
        operand_names=("operand", "start_indices"),
    ),
    OpSpec(
        "dynamic_update_slice",
        2,
        None,
        _infer_dynamic_update_slice,
        "the operand with the update written at starts that are scalar operands, moved so that they fit",
        section="dynamic_update_slice",
        operand_names=("operand", "update", "start_indices"),
    ),
    OpSpec(
        "concatenate",
        1,
        None,
        _infer_concatenate,
        "the operands one after another along a dim",
        (AttributeSpec("dimension", "number", "the dim along which they follow each other"),),
        section="concatenate",
        operand_names=("inputs",),
    ),
    OpSpec(
        "pad",
        2,
        2,
        _infer_pad,
        "the operand with a scalar around and between its elements",
        (
            AttributeSpec(
                "edge_padding_low",
                "numbers",
                "for each dim how many before; a negative number takes away",
                _zeros,
            ),
            AttributeSpec(
                "edge_padding_high",
                "numbers",
                "for each dim how many after; a negative number takes away",
                _zeros,
            ),
            AttributeSpec(
                "interior_padding", "numbers", "for each dim how many between two elements", _zeros
            ),
        ),
        section="pad",
        operand_names=("operand", "padding_value"),
    ),
    OpSpec(
        "reverse",
        1,
        1,
        _infer_reverse,
        "the operand with the elements of some dims in the other order",
        (AttributeSpec("dimensions", "numbers", "the dims that are turned round"),),
        section="reverse",
        operand_names=("operand",),
    ),
)
