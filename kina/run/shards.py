"""Whole tensors to shards, and back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from kina.mlir.grid import Grid
from kina.plan.decisions import Pending
from kina.run.ports import RunPort
from kina.sim.dtypes import Array, is_float, is_narrow
from kina.sim.kernels.reduction import reducer


def place(grid: Grid, port: RunPort, device: int) -> tuple[slice, ...]:
    """Which part of the whole tensor the device holds."""
    found = []
    for size, axes in zip(port.type.shape, port.layout, strict=True):
        start = grid.index(device, axes) * size
        found.append(slice(start, start + size))
    return tuple(found)


def shard(
    grid: Grid,
    port: RunPort,
    whole: Array,
    rng: np.random.Generator,
    devices: Sequence[int] | None = None,
) -> list[Array]:
    """One array for each of the devices, by default for all of the mesh.

    Devices that hold the same share one; parts of a pending value are drawn, the same ones for any `devices`.
    """
    devices = range(len(grid.places)) if devices is None else devices
    if port.pending:
        parts = split_pending(whole, grid, port.pending, rng)
        return [
            np.ascontiguousarray(
                parts[tuple([grid.places[device][axis] for axis, _ in port.pending])][
                    place(grid, port, device)
                ]
            )
            for device in devices
        ]
    known: dict[tuple[int, ...], Array] = {}
    shards = []
    for device in devices:
        where = place(grid, port, device)
        key = tuple(part.start for part in where)
        if key not in known:
            known[key] = np.ascontiguousarray(whole[where]) if where else whole
        shards.append(known[key])
    return shards


def split_pending(
    whole: Array, grid: Grid, pending: Pending, rng: np.random.Generator
) -> dict[tuple[int, ...], Array]:
    """Unequal parts, by their coordinates along the pending axes, that reduce to `whole`."""
    parts: dict[tuple[int, ...], Array] = {(): whole}
    for axis, reduction in pending:
        parts = {
            (*key, index): part
            for key, value in parts.items()
            for index, part in enumerate(_split(value, reduction, grid.sizes[axis], rng))
        }
    return parts


def _split(whole: Array, reduction: str, count: int, rng: np.random.Generator) -> list[Array]:
    """`count` parts of mixed sign; for sums of floats the last one makes up for the rounding."""
    match reduction:
        case "sum":
            noise = [_noise(whole, rng) for _ in range(count - 1)]
            rest = reduce(np.subtract, noise, whole)
            return [*noise, np.asarray(rest).astype(whole.dtype)]
        case "prod":
            signs = [
                np.where(rng.random(whole.shape) < 0.5, -1, 1).astype(whole.dtype) for _ in range(count - 1)
            ]
            return [*signs, np.asarray(reduce(np.multiply, signs, whole)).astype(whole.dtype)]
    holder = rng.integers(0, count, whole.shape)
    if whole.dtype == np.bool_:
        # `max` of truth values is `or`: others hold what changes nothing, or the value itself
        others = [rng.random(whole.shape) < 0.5 for _ in range(count)]
        lesser = [whole & other if reduction == "max" else whole | other for other in others]
    else:
        shift = [np.abs(_noise(whole, rng)) for _ in range(count)]
        lesser = [whole - each if reduction == "max" else whole + each for each in shift]
    return [np.where(holder == index, whole, lesser[index]).astype(whole.dtype) for index in range(count)]


def _noise(like: Array, rng: np.random.Generator) -> Array:
    if is_float(like.dtype):
        drawn: Array = np.asarray(rng.standard_normal(like.shape))
        return drawn.astype(like.dtype)
    return np.asarray(rng.integers(-3, 4, like.shape).astype(like.dtype))


def completed(grid: Grid, pending: Pending, shards: Sequence[Array]) -> list[Array]:
    """Each device's shard with its pending parts reduced, in the order of the devices."""
    found = list(shards)
    for axis, reduction in pending:
        step = list(found)
        for group in grid.groups((axis,)):
            total = _reduced([found[device] for device in group], reduction)
            for device in group:
                step[device] = total
        found = step
    return found


def _reduced(parts: Sequence[Array], reduction: str) -> Array:
    dtype = parts[0].dtype
    ufunc = reducer(reduction, dtype)
    wide = [part.astype(np.float32) if is_narrow(dtype) else part for part in parts]
    total: Array = np.asarray(reduce(ufunc, wide))
    return total.astype(dtype)


def assemble(grid: Grid, port: RunPort, shards: Sequence[Array]) -> Array:
    """The whole tensor; pending parts are completed. Where devices hold the same, the first one counts."""
    parts = completed(grid, port.pending, shards)
    if not any(port.layout):
        return parts[0]
    whole = np.empty(port.shape, parts[0].dtype)
    done: set[tuple[int, ...]] = set()
    for device, part in enumerate(parts):
        where = place(grid, port, device)
        key = tuple(each.start for each in where)
        if key not in done:
            done.add(key)
            whole[where] = part
    return whole


def same_layout(one: RunPort, two: RunPort) -> bool:
    """Whether shards of one port are shards of the other."""
    return (one.layout, one.pending) == (two.layout, two.pending)
