"""Builds an op on the shards of a placement, as emission does, and runs it on each device.

The text of the module is read back and executed by the simulator's steps, so that what is judged is what
`kina run` would do. Nothing of it communicates: devices run one after the other, in this thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kina.audit.instance import Instance, alone
from kina.audit.placement import Placement, PortState
from kina.diagnostics.finding import ProgramError
from kina.mlir.emit import PlanError, emit
from kina.mlir.grid import Grid
from kina.mlir.reader import read_module
from kina.mlir.syntax import Module
from kina.mlir.verify import verify
from kina.plan.decisions import Decisions, OpPlan
from kina.sim.dtypes import Array
from kina.sim.execute import Device, run_main
from kina.sim.prepare import Prepared, prepare
from kina.sim.rendezvous import Rendezvous
from kina.source import Source

#: For each operand or result its array on each device.
PerDevice = Sequence[Sequence[Array]]


class UnbuildableError(Exception):
    """The op has no form on the shards of a placement; says why."""


@dataclass(frozen=True, slots=True)
class Built:
    """An op on the shards of a placement."""

    instance: Instance
    placement: Placement
    grid: Grid
    prepared: Prepared

    @property
    def module(self) -> Module:
        """The module as it was read back."""
        return self.prepared.module


def build(instance: Instance, placement: Placement) -> Built:
    """The op as one device computes it. UnbuildableError if it has no form on these shards."""
    program, states = alone(instance), (*placement.operands, *placement.results)
    for state in states:
        if len(set(state.axes)) != len(state.axes):
            raise UnbuildableError("an axis is on two dims of one tensor")
    plan = OpPlan(
        0,
        tuple(state.layout for state in placement.operands),
        tuple(state.layout for state in placement.results),
    )
    layouts = tuple(state.layout for state in states)
    decisions = Decisions(layouts, {}, {}, (plan,), (), (), (), 0, 0, "", "", {0: instance.follows})
    try:
        text = emit(replace(program, mesh=placement.mesh), decisions)
        module = read_module(Source("audit.mlir", text))
        verify(module)
        return Built(instance, placement, Grid(placement.mesh), prepare(module))
    except ProgramError as problem:
        raise UnbuildableError(problem.findings[0].message) from None
    except (PlanError, ValueError, IndexError) as problem:
        raise UnbuildableError(str(problem)) from None


def run(built: Built, operands: PerDevice) -> PerDevice:
    """The results on each device, for `operands[i][device]`."""
    devices = built.placement.mesh.devices
    mesh = Rendezvous(devices)
    outputs = []
    with np.errstate(all="ignore"):
        for number in range(devices):
            inputs = [per_device[number] for per_device in operands]
            results, _ = run_main(Device(number, built.prepared, mesh), inputs)
            outputs.append(results)
    count = len(built.placement.results)
    return [[outputs[number][index] for number in range(devices)] for index in range(count)]


def shards(grid: Grid, state: PortState, parts: Any) -> list[Array]:
    """What each device holds; `parts(device)` is the whole tensor, or the device's part of a pending one."""
    found = []
    for device in range(len(grid.places)):
        array: Array = parts(device)
        where = []
        for size, axes in zip(array.shape, state.layout, strict=True):
            local = size // grid.parts(axes)
            start = grid.index(device, axes) * local
            where.append(slice(start, start + local))
        found.append(np.ascontiguousarray(array[tuple(where)]) if where else array)
    return found
