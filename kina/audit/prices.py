"""What it costs to come from one placement to another over a single mesh axis, by ring algorithms."""

from __future__ import annotations

from collections.abc import Iterable

from kina.audit.instance import Instance
from kina.audit.placement import Placement, PortState
from kina.frontend.ir import TensorType


def lost_bytes(instance: Instance, placement: Placement, known: Iterable[Placement]) -> int:
    """What a device moves at least to use one of the `known` placements in place of `placement`."""
    return min(_detour(instance, placement, way) for way in known)


def _detour(instance: Instance, placement: Placement, way: Placement) -> int:
    """The operands are moved to where `way` wants them, and the results back."""
    devices = placement.mesh.devices
    there = sum(
        _move(type_, before, after, devices)
        for type_, before, after in zip(instance.operand_types, placement.operands, way.operands, strict=True)
    )
    back = sum(
        _move(type_, before, after, devices)
        for type_, before, after in zip(instance.result_types, way.results, placement.results, strict=True)
    )
    return there + back


def _move(type_: TensorType, before: PortState, after: PortState, devices: int) -> int:
    """Bytes that one device moves; a local slice, and to keep a value on one device, moves none."""
    if before.layout == after.layout and before.pending == after.pending:
        return 0
    share = type_.bytes * (devices - 1) // devices
    was_split, is_split = any(before.layout), any(after.layout)
    if before.pending:
        return share if is_split else 2 * share
    if not was_split:
        return 0
    return share // devices if is_split else share
