"""Kinds that combine or order the elements along dims: reduce, cumulative, argmax, sort, top_k."""

from __future__ import annotations

from kina.frontend.ir import TensorType
from kina.frontend.ops.core import (
    LOGICAL,
    NUMBERS,
    Attributes,
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    Types,
    difference,
    need_dim,
    need_dims,
    need_dtype,
    number,
    numbers,
    with_dtype,
    word,
)


def _infer_reduce(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, dims = operands[0], numbers(attributes, "dimensions")
    need_dims(kind, "dimensions", dims, operand.rank, operand)
    need_dtype(kind, operand, LOGICAL if word(attributes, "kind") in ("and", "or") else NUMBERS)
    gone = set(dims)
    return (TensorType(operand.dtype, tuple([s for d, s in enumerate(operand.shape) if d not in gone])),)


def _infer_cumulative(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand = operands[0]
    need_dim(kind, "dimension", number(attributes, "dimension"), operand.rank, operand)
    need_dtype(kind, operand, NUMBERS)
    return (operand,)


def _infer_argmax(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, dim = operands[0], number(attributes, "dimension")
    need_dim(kind, "dimension", dim, operand.rank, operand)
    need_dtype(kind, operand, NUMBERS)
    if operand.shape[dim] == 0:
        raise OpError("K122", f"`{kind}` over dim {dim} of {operand}, which has no elements, has no answer")
    return (TensorType("i32", operand.shape[:dim] + operand.shape[dim + 1 :]),)


def _infer_sort(kind: str, operands: Types, attributes: Attributes) -> Results:
    first = operands[0]
    for other in operands[1:]:
        if other.shape != first.shape:
            raise OpError(
                "K101", f"`{kind}` takes tensors of one shape: {first} and {other} {difference(first, other)}"
            )
    need_dim(kind, "dimension", number(attributes, "dimension"), first.rank, first)
    return tuple(operands)


def _infer_top_k(kind: str, operands: Types, attributes: Attributes) -> Results:
    operand, k = operands[0], number(attributes, "k")
    need_dtype(kind, operand, NUMBERS)
    if operand.rank == 0:
        raise OpError("K119", f"`{kind}` takes a tensor with at least one dim, not {operand}")
    if not 0 <= k <= operand.shape[-1]:
        raise OpError(
            "K122", f"`{kind}` takes {k} of the last dim of {operand}, which has {operand.shape[-1]} elements"
        )
    values = TensorType(operand.dtype, (*operand.shape[:-1], k))
    return values, with_dtype(values, "i32")


SPECS = (
    OpSpec(
        "reduce",
        1,
        1,
        _infer_reduce,
        "the elements along some dims combined to one; the initial value follows from `kind`",
        (
            AttributeSpec("dimensions", "numbers", "the dims that go away"),
            AttributeSpec(
                "kind",
                "word",
                "how elements are combined",
                choices=("sum", "max", "min", "prod", "and", "or"),
            ),
        ),
        section="reduce",
        operand_names=("input",),
    ),
    OpSpec(
        "cumulative",
        1,
        1,
        _infer_cumulative,
        "at each index the elements up to it combined along one dim",
        (
            AttributeSpec("dimension", "number", "the dim along which it runs"),
            AttributeSpec("kind", "word", "how elements are combined", choices=("sum", "prod", "max", "min")),
            AttributeSpec("reverse", "flag", "whether it runs from the last index to the first", False),
        ),
        section="Kina",
        operand_names=("operand",),
    ),
    OpSpec(
        "argmax",
        1,
        1,
        _infer_argmax,
        "the index, in i32, of the largest or smallest element along one dim; the first of equals",
        (
            AttributeSpec("dimension", "number", "the dim that goes away"),
            AttributeSpec(
                "kind", "word", "whether the largest or the smallest is meant", "max", ("max", "min")
            ),
        ),
        section="Kina",
        operand_names=("operand",),
    ),
    OpSpec(
        "sort",
        1,
        None,
        _infer_sort,
        "all operands in the order of the first one along a dim",
        (
            AttributeSpec("dimension", "number", "the dim along which is sorted"),
            AttributeSpec("is_stable", "flag", "whether equal elements keep their order", True),
            AttributeSpec(
                "direction",
                "word",
                "whether the smallest or the largest comes first",
                "ascending",
                ("ascending", "descending"),
            ),
        ),
        section="sort",
        operand_names=("inputs",),
    ),
    OpSpec(
        "top_k",
        1,
        1,
        _infer_top_k,
        "the k largest elements of the last dim, largest first, and their indices in i32",
        (AttributeSpec("k", "number", "how many"),),
        section="Kina",
        operand_names=("operand",),
    ),
)
