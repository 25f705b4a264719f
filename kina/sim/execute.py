"""One device's thread: steps in order, values in numbered slots, freed after their last use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kina.sim.collectives import run_collective
from kina.sim.dtypes import Array
from kina.sim.faults import Faults
from kina.sim.prepare import Plan, Prepared, Step
from kina.sim.rendezvous import Rendezvous
from kina.sim.reuse import apply
from kina.sim.trace import Event


@dataclass(slots=True)
class Device:
    """The state of one device while it runs. `at` is the step it works on, for messages."""

    number: int
    prepared: Prepared
    mesh: Rendezvous
    faults: Faults | None = None
    events: list[Event] | None = None
    at: Step | None = None
    count: int = 0
    #: seconds that the last collective waited for other members
    waited: float = 0.0


def run_main(device: Device, inputs: list[Array]) -> list[Array]:
    """The results of `main` on this device; the list of inputs is emptied."""
    return _call(device, "main", inputs)


def _call(device: Device, name: str, inputs: list[Array]) -> list[Array]:
    plan = device.prepared.plans[name]
    slots: list[Array | None] = [None] * device.prepared.slots[name]
    for number, value in zip(plan.arguments, inputs, strict=True):
        slots[number] = value
    # the slots hold the only references now, so that arguments are freed after their last use
    inputs.clear()
    for number in plan.unused:
        slots[number] = None
    return _run(device, plan, slots)


def _run(device: Device, plan: Plan, slots: list[Array | None]) -> list[Array]:
    for step in plan.steps:
        device.at = step
        device.mesh.check()
        if device.faults is not None:
            device.faults.before(device.number, device.count, step.op, device.mesh)
        device.count += 1
        if device.events is None or step.value is not None:
            _perform(device, step, slots)
        else:
            _traced(device, step, slots)
        for number in step.dead:
            slots[number] = None
    return [_filled(slots[number]) for number in plan.returned]


def _filled(value: Array | None) -> Array:
    if value is None:
        raise RuntimeError("a value is read after its last use")
    return value


def _traced(device: Device, step: Step, slots: list[Array | None]) -> None:
    device.waited = 0.0
    begin = time.perf_counter()
    _perform(device, step, slots)
    end = time.perf_counter()
    moved = step.collective.bytes if step.collective else 0
    assert device.events is not None
    device.events.append(Event(device.number, step.op, begin, end, moved, device.waited))


def _perform(device: Device, step: Step, slots: list[Array | None]) -> None:
    if step.value is not None:
        slots[step.results[0]] = step.value
        return
    operands = [_filled(slots[number]) for number in step.operands]
    results: Sequence[Array]
    if step.places:
        results = (apply(step.op.kind, operands, step.places),)
    elif step.kernel is not None:
        results = step.kernel(operands, step.attributes)
    elif step.collective is not None:
        result, device.waited = run_collective(device.number, step.collective, operands[0], device.mesh)
        results = (result,)
    elif step.branches:
        results = _run(device, step.branches[_branch(step, operands[0])], slots)
    elif step.callee:
        results = _call(device, step.callee, operands)
    else:
        partitions = device.prepared.module.partitions
        number = device.number % partitions if step.op.kind == "partition_id" else device.number // partitions
        results = (np.array(number, np.uint32),)
    for number, value in zip(step.results, results, strict=True):
        slots[number] = value


def _branch(step: Step, chosen: Array) -> int:
    """`if` takes its first region on true; `case` its last one for a number that is out of range."""
    if step.op.kind == "if":
        return 0 if bool(chosen) else 1
    number = int(chosen)
    return number if 0 <= number < len(step.branches) else len(step.branches) - 1
