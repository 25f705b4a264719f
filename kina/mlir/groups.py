"""Which devices meet in a collective, and how many bytes each of them moves.

A device's number is `replica * partitions + partition`. How `replica_groups` turn into groups of devices
is section "Collective ops" of the StableHLO specification.
"""

from __future__ import annotations

from kina.mlir.syntax import Function, Module, Op

Groups = tuple[tuple[int, ...], ...]


def _rows(op: Op, name: str) -> Groups:
    """The rows of a groups attribute; -1 pads rows of unequal length."""
    value = op.attribute(name)
    if not isinstance(value, tuple):
        return ()
    return tuple(
        tuple(n for n in row if isinstance(n, int) and n >= 0) for row in value if isinstance(row, tuple)
    )


def has_channel(op: Op) -> bool:
    handle = op.attribute("channel_handle")
    return isinstance(handle, int) and handle > 0


def listed_members(op: Op, module: Module) -> int:
    """How many numbers the rows of the op's groups are made of: devices, partitions or replicas."""
    if op.kind in ("all_reduce", "all_gather", "reduce_scatter"):
        return module.devices if op.attribute("use_global_device_ids") is True else module.replicas
    return module.partitions if has_channel(op) else module.replicas


def listed_groups(op: Op, module: Module) -> Groups:
    """The groups as written; an empty list stands for one group of all."""
    name = "source_target_pairs" if op.kind == "collective_permute" else "replica_groups"
    rows = _rows(op, name)
    if not rows and name == "replica_groups":
        return (tuple(range(listed_members(op, module))),)
    return rows


def device_groups(op: Op, module: Module) -> Groups:
    """The groups of devices that meet; of a permutation, everybody who may take part."""
    partitions, replicas = module.partitions, module.replicas
    across_partitions = [tuple(r * partitions + p for p in range(partitions)) for r in range(replicas)]
    across_replicas = [tuple(r * partitions + p for r in range(replicas)) for p in range(partitions)]
    if op.kind == "collective_permute":
        return tuple(across_partitions if has_channel(op) else across_replicas)
    rows = listed_groups(op, module)
    if op.kind in ("all_to_all", "collective_broadcast"):
        lines = across_partitions if has_channel(op) else across_replicas
        return tuple(tuple(line[i] for i in row) for line in lines for row in rows)
    if op.attribute("use_global_device_ids") is True:
        return rows
    if has_channel(op):
        return tuple(tuple(r * partitions + p for p in range(partitions) for r in row) for row in rows)
    return tuple(tuple(line[r] for r in row) for line in across_replicas for row in rows)


def permutation(op: Op, module: Module) -> dict[int, int]:
    """Target device -> source device."""
    pairs = listed_groups(op, module)
    partitions = module.partitions
    if has_channel(op):
        offsets, step = [r * partitions for r in range(module.replicas)], 1
    else:
        offsets, step = list(range(partitions)), partitions
    return {base + pair[1] * step: base + pair[0] * step for base in offsets for pair in pairs}


def moved_bytes(op: Op, function: Function, members: int) -> int:
    """Bytes that one device sends in a ring algorithm."""
    operand = function.values[op.operands[0]].type.bytes
    result = function.values[op.results[0]].type.bytes
    match op.kind:
        case "all_reduce":
            return 2 * operand * (members - 1) // members
        case "all_gather":
            return result * (members - 1) // members
        case "reduce_scatter" | "all_to_all":
            return operand * (members - 1) // members
    return operand if members > 1 else 0
