"""What the collectives compute, once the members' tensors lie side by side in memory.

Sums are taken in the order of the group, so they have the same bits whatever the threads do. A result that
is equal on all members is made once and shared: arrays are never changed while anybody else holds them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from kina.mlir.groups import device_groups, moved_bytes, permutation
from kina.mlir.syntax import Function, Module, Op
from kina.sim.dtypes import Array, contiguous, is_narrow
from kina.sim.kernels.reduction import Combine, reducer
from kina.sim.rendezvous import Call, Meeting, Rendezvous, Task

#: Elements of one piece of common work: small enough for a cache, large enough to be worth a wake-up.
CHUNK = 1 << 17


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective as every device needs it: its group by device, and what to do in it."""

    op: Op
    groups: Mapping[int, tuple[int, ...]]
    #: the same as sets, as `kina.sim.holders` writes them
    members: Mapping[int, int]
    attributes: Mapping[str, Any]
    sources: Mapping[int, int]
    bytes: int


def prepare_collective(
    op: Op, function: Function, module: Module, attributes: Mapping[str, Any]
) -> Collective:
    """Groups and bytes of an op that was verified."""
    groups = device_groups(op, module)
    sources = permutation(op, module) if op.kind == "collective_permute" else {}
    members = max((len(group) for group in groups), default=1)
    return Collective(
        op,
        {device: group for group in groups for device in group},
        {device: sum(1 << member for member in group) for group in groups for device in group},
        attributes,
        sources,
        moved_bytes(op, function, members),
    )


@dataclass(frozen=True, slots=True)
class Exchanged:
    """A device's result, the seconds that it waited, and whether all members have the very same."""

    result: Array
    waited: float
    same: bool


def run_collective(
    device: int, place: int, collective: Collective, payload: Array, mesh: Rendezvous
) -> Exchanged:
    """What the device gets out of a collective that it calls at `place` of its way."""
    group = collective.groups[device]
    call = Call(collective.op, group, contiguous(payload), place)
    arrived = time.perf_counter()
    meeting = mesh.meet(device, call, lambda m: _common(collective, m))
    waited = max(0.0, meeting.complete_at - arrived)
    if meeting.results:
        return Exchanged(meeting.results[0], waited, meeting.together)
    return Exchanged(_own_result(device, collective, group, meeting.payloads), waited, False)


def _own_result(device: int, collective: Collective, group: tuple[int, ...], parts: Sequence[Array]) -> Array:
    """What this device makes of all payloads, where results differ between members."""
    attributes = collective.attributes
    position = group.index(device)
    match collective.op.kind:
        case "reduce_scatter":
            return _scattered(parts, position, attributes)
        case "all_to_all":
            cut = attributes["split_dimension"]
            pieces = [np.split(part, len(group), axis=cut)[position] for part in parts]
            return np.concatenate(pieces, axis=attributes["concat_dimension"])
        case "collective_broadcast":
            return parts[0]
    source = collective.sources.get(device)
    return parts[group.index(source)] if source is not None else np.zeros_like(parts[0])


def _common(collective: Collective, meeting: Meeting) -> None:
    """Set up the work that the members share."""
    parts = meeting.payloads
    match collective.op.kind:
        case "all_reduce" if len(parts) == 1:
            meeting.results = parts
        case "all_reduce":
            result = np.empty(parts[0].shape, parts[0].dtype)
            meeting.results = (result,)
            meeting.tasks = _reduction_tasks(parts, result, collective.attributes)
        case "all_gather":
            result, meeting.tasks = _gathering(parts, collective.attributes["all_gather_dim"])
            meeting.results = (result,)


def _reduction_tasks(parts: Sequence[Array], result: Array, attributes: Mapping[str, Any]) -> list[Task]:
    flat = [part.reshape(-1) for part in parts]
    target = result.reshape(-1)
    reduce = _reduction(attributes, result.dtype)

    def task(start: int) -> Task:
        def work() -> None:
            reduce([part[start : start + CHUNK] for part in flat], target[start : start + CHUNK])

        return work

    return [task(start) for start in range(0, target.size, CHUNK)]


def _reduction(
    attributes: Mapping[str, Any], dtype: np.dtype[Any]
) -> Callable[[Sequence[Array], Array], None]:
    """A function that reduces arrays, in their order, into another one."""
    kind = attributes["kind"]
    if not kind:
        return lambda parts, out: _fold(parts, out, attributes["combine"])
    ufunc = reducer(kind, dtype)
    if is_narrow(dtype) and kind in ("sum", "prod"):
        return lambda parts, out: _wide_fold(ufunc, parts, out)

    def fold(parts: Sequence[Array], out: Array) -> None:
        if len(parts) == 1:
            np.copyto(out, parts[0])
            return
        ufunc(parts[0], parts[1], out=out)
        for part in parts[2:]:
            ufunc(out, part, out=out)

    return fold


def _fold(parts: Sequence[Array], out: Array, combine: Combine) -> None:
    value = parts[0]
    for part in parts[1:]:
        value = np.asarray(combine([value, part])[0])
    np.copyto(out, value)


def _wide_fold(ufunc: Any, parts: Sequence[Array], out: Array) -> None:
    value = parts[0].astype(np.float32)
    for part in parts[1:]:
        ufunc(value, part.astype(np.float32), out=value)
    np.copyto(out, value.astype(out.dtype))


def _gathering(parts: Sequence[Array], dim: int) -> tuple[Array, list[Task]]:
    size = parts[0].shape[dim]
    shape = list(parts[0].shape)
    shape[dim] = size * len(parts)
    result = np.empty(shape, parts[0].dtype)

    def task(index: int) -> Task:
        place = (slice(None),) * dim + (slice(index * size, (index + 1) * size),)
        return lambda: np.copyto(result[place], parts[index])

    return result, [task(index) for index in range(len(parts))]


def _scattered(parts: Sequence[Array], position: int, attributes: Mapping[str, Any]) -> Array:
    """The device's slice of the sum, in the order of the group."""
    dim = attributes["scatter_dimension"]
    size = parts[0].shape[dim] // len(parts)
    place = (slice(None),) * dim + (slice(position * size, (position + 1) * size),)
    pieces = [part[place] for part in parts]
    result = np.empty(pieces[0].shape, pieces[0].dtype)
    _reduction(attributes, result.dtype)(pieces, result)
    return cast(Array, result)
