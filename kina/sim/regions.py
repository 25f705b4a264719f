"""What the small functions inside reductions, scatters and sorts mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from kina.mlir.syntax import Block, Function, Op
from kina.sim.dtypes import Array
from kina.sim.kernels import KERNELS
from kina.sim.kernels.reduction import Combine

REDUCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "add": "sum",
        "multiply": "prod",
        "maximum": "max",
        "minimum": "min",
        "and": "and",
        "or": "or",
        "xor": "xor",
    }
)


def reduction_kind(block: Block) -> str:
    """The kind of reduction that a region computes by one op on its two arguments; empty if another."""
    if len(block.arguments) != 2 or len(block.ops) != 2:
        return ""
    op, last = block.ops
    if tuple(sorted(op.operands)) != tuple(sorted(block.arguments)) or last.operands != op.results:
        return ""
    return REDUCTIONS.get(op.kind, "")


def sort_order(block: Block) -> dict[str, Any]:
    """`key`, `descending` and `total` of a comparator that compares one operand; empty for any other."""
    if len(block.ops) != 2 or block.ops[0].kind != "compare" or block.ops[1].operands != block.ops[0].results:
        return {}
    op = block.ops[0]
    direction = op.attribute("comparison_direction")
    place = {number: index for index, number in enumerate(block.arguments)}
    left, right = (place.get(number, -1) for number in op.operands)
    if direction not in ("LT", "GT") or min(left, right) < 0 or left // 2 != right // 2 or left == right:
        return {}
    descending = (direction == "GT") == (left < right)
    return {"key": left // 2, "descending": descending, "total": op.attribute("compare_type") == "TOTALORDER"}


def result_attributes(function: Function, op: Op) -> dict[str, Any]:
    """The op's attributes with shape and dtype of its first result."""
    found: dict[str, Any] = dict(op.attributes)
    if op.results:
        type_ = function.values[op.results[0]].type
        found["shape"], found["dtype"] = type_.shape, type_.dtype
    return found


def as_function(function: Function, block: Block) -> Combine:
    """The region as a function of whole arrays: each scalar op is applied elementwise."""
    steps = [
        (KERNELS[op.kind], op.operands, op.results[0], result_attributes(function, op))
        for op in block.ops[:-1]
    ]
    returned = block.ops[-1].operands

    def combine(arguments: Sequence[Array]) -> list[Array]:
        values: dict[int, Array] = dict(zip(block.arguments, arguments, strict=True))
        for kernel, operands, result, attributes in steps:
            (values[result],) = kernel([values[number] for number in operands], attributes)
        return [values[number] for number in returned]

    return combine


def prepared_attributes(function: Function, op: Op) -> dict[str, Any]:
    """Everything the op's kernel needs: attributes, shape and dtype of the result, meaning of the region."""
    found = result_attributes(function, op)
    if not op.regions or op.kind in ("if", "case"):
        return found
    block = op.regions[0]
    if op.kind == "sort":
        found |= sort_order(block) or {"combine": as_function(function, block)}
        return found
    kind = reduction_kind(block)
    if op.kind == "scatter":
        last = block.ops[-1].operands
        found["combiner"] = kind or ("set" if last == block.arguments[1:] else "")
        found["combine"] = as_function(function, block)
        return found
    found["kind"] = kind
    found["combine"] = as_function(function, block)
    return found
