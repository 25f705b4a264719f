"""One device's thread: steps in order, values in numbered slots, freed after their last use."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from kina.sim.collectives import run_collective
from kina.sim.dtypes import Array
from kina.sim.faults import Faults
from kina.sim.holders import Holders
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
    #: None if nothing is worth computing once for several devices
    holders: Holders | None = None
    at: Step | None = None
    count: int = 0
    #: seconds that the last collective waited for other members
    waited: float = 0.0


@dataclass(slots=True)
class Values:
    """Arrays by slot, and the devices that hold the same as this one, if these are kept."""

    arrays: list[Array | None]
    holders: list[int] = field(default_factory=list)


#: Arrays, and who holds each, if that is kept.
Returned = tuple[list[Array], list[int]]


def run_main(device: Device, inputs: list[Array], holders: Sequence[int] = ()) -> Returned:
    """The results of `main` on this device; the list of inputs is emptied."""
    return _call(device, "main", inputs, holders)


def _call(device: Device, name: str, inputs: list[Array], holders: Sequence[int]) -> Returned:
    plan, count = device.prepared.plans[name], device.prepared.slots[name]
    values = Values([None] * count)
    for number, array in zip(plan.arguments, inputs, strict=True):
        values.arrays[number] = array
    if device.holders is not None:
        # constants are everyone's
        values.holders = [device.holders.everyone] * count
        for number, same in zip(plan.arguments, holders, strict=True):
            values.holders[number] = same
    # the slots hold the only references now, so that arguments are freed after their last use
    inputs.clear()
    for number in plan.unused:
        values.arrays[number] = None
    return _run(device, plan, values)


def _run(device: Device, plan: Plan, values: Values) -> Returned:
    for step in plan.steps:
        device.at = step
        device.mesh.check()
        if device.faults is not None:
            device.faults.before(device.number, device.count, step.op, device.mesh)
        device.count += 1
        if device.events is None or step.value is not None:
            _perform(device, step, values)
        else:
            _traced(device, step, values)
        for number in step.dead:
            values.arrays[number] = None
    arrays = [_filled(values.arrays[number]) for number in plan.returned]
    return arrays, _known(values, plan.returned)


def _filled(value: Array | None) -> Array:
    if value is None:
        raise RuntimeError("a value is read after its last use")
    return value


def _known(values: Values, numbers: Sequence[int]) -> list[int]:
    return [values.holders[number] for number in numbers] if values.holders else []


def _traced(device: Device, step: Step, values: Values) -> None:
    device.waited = 0.0
    begin = time.perf_counter()
    _perform(device, step, values)
    end = time.perf_counter()
    moved = step.collective.bytes if step.collective else 0
    assert device.events is not None
    device.events.append(Event(device.number, step.op, begin, end, moved, device.waited))


def _perform(device: Device, step: Step, values: Values) -> None:
    arrays = values.arrays
    if step.value is not None:
        arrays[step.results[0]] = step.value
        return
    operands = [_filled(arrays[number]) for number in step.operands]
    results: Sequence[Array]
    if step.kernel is None:
        results = _performed(device, step, operands, values)
    elif device.holders is not None:
        results = _computed_once(device, device.holders, step, operands, values.holders)
    else:
        results = computed(step, operands)
    for number, array in zip(step.results, results, strict=True):
        arrays[number] = array


def _performed(device: Device, step: Step, operands: list[Array], values: Values) -> Sequence[Array]:
    """The results of a step that is no kernel of ours."""
    if step.collective is not None:
        return (_exchanged(device, step, operands[0], values.holders),)
    results: Sequence[Array]
    if step.callee:
        results, holders = _call(device, step.callee, operands, _known(values, step.operands))
    elif step.branches:
        results, holders = _branched(device, step, operands[0], values)
    else:
        results = step.foreign(operands, step.attributes) if step.foreign else (_identity(device, step),)
        holders = _own(device, step)
    _note(step, holders, values.holders)
    return results


def _computed_once(
    device: Device, holders: Holders, step: Step, operands: list[Array], known: list[int]
) -> Sequence[Array]:
    """The results of a kernel, computed by one of the devices that hold the operands if that is worth it."""
    same = holders.everyone
    for number in step.operands:
        same &= known[number]
    for number in step.results:
        known[number] = same
    if step.elements < holders.least:
        return computed(step, operands)
    place = holders.advance()
    if same == holders.own or holders.apart:
        return computed(step, operands)
    return device.mesh.once((place, same), same.bit_count(), lambda: computed(step, operands))


def computed(step: Step, operands: list[Array]) -> Sequence[Array]:
    """The results of a step that has a kernel; in the list of operands stand the only references to them."""
    if step.places:
        return (apply(step.op.kind, operands, step.places),)
    assert step.kernel is not None
    return step.kernel(operands, step.attributes)


def _exchanged(device: Device, step: Step, payload: Array, known: list[int]) -> Array:
    """The result of a collective."""
    assert step.collective is not None
    place = device.holders.advance() if device.holders is not None else 0
    got = run_collective(device.number, place, step.collective, payload, device.mesh)
    device.waited = got.waited
    _note(step, [step.collective.members[device.number]] if got.same else _own(device, step), known)
    return got.result


def _branched(device: Device, step: Step, chosen: Array, values: Values) -> Returned:
    """`if` takes its first region on true; `case` its last one for a number that is out of range."""
    number = int(chosen) if step.op.kind == "case" else int(not chosen)
    plan = step.branches[number if 0 <= number < len(step.branches) else -1]
    holders = device.holders
    if holders is None or values.holders[step.operands[0]] == holders.everyone:
        return _run(device, plan, values)
    holders.apart += 1
    results, _ = _run(device, plan, values)
    holders.apart -= 1
    return results, [holders.own] * len(results)


def _note(step: Step, holders: Sequence[int], known: list[int]) -> None:
    """Note who holds each result of a step, if that is kept."""
    if known:
        for number, same in zip(step.results, holders, strict=True):
            known[number] = same


def _own(device: Device, step: Step) -> list[int]:
    """That no other device is known to hold the results of a step."""
    return [device.holders.own] * len(step.results) if device.holders is not None else []


def _identity(device: Device, step: Step) -> Array:
    partitions = device.prepared.module.partitions
    number = device.number % partitions if step.op.kind == "partition_id" else device.number // partitions
    return np.array(number, np.uint32)
