"""What the StableHLO verifier lets pass in collectives: group partitions, channels, result shapes."""

from __future__ import annotations

from kina.mlir.groups import has_channel, listed_groups, listed_members
from kina.mlir.syntax import Function, Module, Op, TensorType
from kina.mlir.verify_basics import ShapeError, in_range
from kina.mlir.verify_shapes import operand_types


def collective_type(op: Op, function: Function, module: Module) -> TensorType:
    """The result's type; ShapeError if groups, channel or dims are wrong."""
    operand = operand_types(function, op)[0]
    if op.attributes and dict(op.attributes).get("use_global_device_ids") and not has_channel(op):
        raise ShapeError(f"`{op.kind}` has `use_global_device_ids` and no channel handle above zero", "K611")
    if module.partitions > 1 and not has_channel(op):
        raise ShapeError(f"`{op.kind}` has no channel handle above zero, which partitions meet by", "K611")
    if op.kind == "collective_permute":
        _check_pairs(op, module)
        return operand
    size = _check_groups(op, module)
    match op.kind:
        case "all_gather":
            return _scaled(op, operand, "all_gather_dim", size, 1)
        case "reduce_scatter":
            return _scaled(op, operand, "scatter_dimension", 1, size)
        case "all_to_all":
            count = op.attribute("split_count")
            if count != size:
                raise ShapeError(f"`all_to_all` splits into {count} in groups of {size}", "K609")
            split = _scaled(op, operand, "split_dimension", 1, size)
            return _scaled(op, split, "concat_dimension", size, 1)
    return operand


def _scaled(op: Op, operand: TensorType, name: str, times: int, parts: int) -> TensorType:
    dim = op.attribute(name)
    assert isinstance(dim, int)
    in_range(op.kind, (dim,), operand.rank)
    size = operand.shape[dim] * times
    if size % parts:
        raise ShapeError(
            f"`{op.kind}` cuts dim {dim} of {operand} into {parts} parts, which do not divide it", "K609"
        )
    return TensorType(operand.dtype, (*operand.shape[:dim], size // parts, *operand.shape[dim + 1 :]))


def _check_groups(op: Op, module: Module) -> int:
    """The size of the groups, which together name everybody once and are equally large."""
    groups = listed_groups(op, module)
    members = listed_members(op, module)
    named = [number for group in groups for number in group]
    outside = sorted({number for number in named if number >= members})
    if outside:
        raise ShapeError(f"`{op.kind}` names {_devices(outside)}; the module has {members}", "K610")
    twice = (
        sorted({number for number in named if named.count(number) > 1})
        if len(named) != len(set(named))
        else []
    )
    if twice:
        raise ShapeError(f"`{op.kind}` names {_devices(twice)} in two groups", "K610")
    absent = sorted(set(range(members)) - set(named))
    if absent:
        raise ShapeError(f"`{op.kind}` leaves out {_devices(absent)}", "K610")
    sizes = {len(group) for group in groups}
    if len(sizes) > 1 and op.kind not in ("all_reduce", "collective_broadcast"):
        raise ShapeError(f"`{op.kind}` has groups of different sizes: {sorted(sizes)}", "K610")
    size = max(sizes)
    if op.kind in ("all_gather", "reduce_scatter", "all_reduce"):
        size *= _flattened(op, module)
    return size


def _flattened(op: Op, module: Module) -> int:
    """How many devices one number of a group stands for: all partitions, if it is a replica."""
    if has_channel(op) and op.attribute("use_global_device_ids") is not True:
        return module.partitions
    return 1


def _check_pairs(op: Op, module: Module) -> None:
    pairs = listed_groups(op, module)
    members = listed_members(op, module)
    for pair in pairs:
        if len(pair) != 2 or max(pair) >= members:
            raise ShapeError(
                f"`collective_permute` has the pair {list(pair)}; the module has {members} devices", "K610"
            )
    for place, what in ((0, "source"), (1, "target")):
        named = [pair[place] for pair in pairs]
        if len(named) != len(set(named)):
            raise ShapeError(f"`collective_permute` names a {what} twice", "K610")


def _devices(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
    return f"device{'s' if len(numbers) > 1 else ''} {shown}"
