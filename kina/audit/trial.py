"""One run of an op on the devices of a placement, held against what the op means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from kina.audit.draw import draw, draw_part
from kina.audit.execute import Built, PerDevice, run, shards
from kina.audit.instance import PLACE, Instance
from kina.audit.meaning import meaning
from kina.audit.placement import PortState, whole
from kina.frontend.ir import Mesh, TensorType
from kina.mlir.grid import Grid
from kina.mlir.syntax import TensorType as LocalType
from kina.plan.decisions import Pending
from kina.run.ports import RunPort
from kina.run.shards import completed
from kina.run.verify import Difference, coarsest, compare
from kina.sim.dtypes import DTYPES, Array, dtype_name, is_float
from kina.sim.kernels.reduction import identity
from kina.sim.reference import run_program

#: So many times an element may be rounded on its way to a sum, in floats fine enough for that to be little.
_ROUNDINGS, _WIDE = 64, ("f32", "f64")

#: A seed and numbers that tell draws apart.
Seed = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """Operands as every device holds them, and whole."""

    wholes: tuple[Array, ...]
    per_device: PerDevice


@dataclass(frozen=True, slots=True)
class Trial:
    """What went in and came out on each device, what one device gives, and how far each result is off."""

    inputs: Inputs
    outputs: PerDevice
    expected: tuple[Array, ...]
    differences: tuple[Difference, ...]

    @property
    def ok(self) -> bool:
        return all(difference.ok for difference in self.differences)


def attempt(built: Built, seed: Seed, variety: int) -> Trial:
    """Run the op once on drawn operands."""
    inputs = draw_inputs(built.instance, built.placement.operands, built.grid, seed, variety)
    outputs = run(built, inputs.per_device)
    expected = meaning(built.instance, inputs.wholes)
    return Trial(inputs, outputs, expected, judge(built, built.placement.results, outputs, expected))


def results_of(instance: Instance, seed: Seed, variety: int) -> tuple[Array, ...]:
    """What the op gives for drawn operands."""
    states = [whole(type_.rank) for type_ in instance.operand_types]
    return meaning(instance, draw_inputs(instance, states, Grid(Mesh(())), seed, variety).wholes)


def judge(
    built: Built, states: Sequence[PortState], outputs: PerDevice, expected: Sequence[Array]
) -> tuple[Difference, ...]:
    """The worst difference of each result from what is expected, wherever it lies.

    An op that takes or gives coarse floats need not be finer than these.
    """
    grid, instance = built.grid, built.instance
    dtypes = {type_.dtype for type_ in instance.types}
    ports = [
        RunPort(
            f"result {index}",
            whole.shape,
            LocalType(dtype_name(whole.dtype), per_device[0].shape),
            state.layout,
            state.pending,
            PLACE,
        )
        for index, (state, per_device, whole) in enumerate(zip(states, outputs, expected, strict=True))
    ]
    devices = range(len(grid.places))

    def held(index: int) -> tuple[Sequence[int], Sequence[Array]]:
        return devices, completed(grid, states[index].pending, outputs[index])

    found = compare(grid, ports, held, expected, [coarsest(dtypes)] * len(ports))
    return tuple(
        replace(each, share=1.0) if not each.ok and _rounds(each, state, parts, dtypes) else each
        for each, state, parts in zip(found, states, outputs, strict=True)
    )


def _rounds(each: Difference, state: PortState, parts: Sequence[Array], dtypes: Collection[str]) -> bool:
    """Whether a difference is what rounding leaves where parts are far larger than their sum.

    The type that counts is the finest of the op: a rule that rounds parts more coarsely is wrong.
    """
    wide = [np.finfo(DTYPES[dtype]).eps for dtype in _WIDE if dtype in dtypes]
    if not state.pending or not wide or not is_float(parts[0].dtype):
        return False
    largest = max((float(np.abs(part).max(initial=0.0)) for part in parts), default=0.0)
    return bool(each.difference <= _ROUNDINGS * min(wide) * largest)


def draw_inputs(
    instance: Instance, states: Sequence[PortState], grid: Grid, seed: Seed, variety: int
) -> Inputs:
    """Operands for each device; the same seed gives the same ones. Constants are what they are."""
    fixed = _constants(instance)
    domains = dict(zip(instance.program.parameters, instance.domains, strict=True))
    wholes: list[Array] = []
    per_device: list[list[Array]] = []
    for position, (value, state) in enumerate(zip(instance.op.operands, states, strict=True)):
        rng = np.random.default_rng([*seed, variety, position])
        type_ = instance.program.type_of(value)
        drawn = tuple(pair for pair in state.pending if pair[0] not in state.kept)
        parts: dict[tuple[int, ...], Array]
        if value in fixed:
            parts = {(): fixed[value]}
            drawn = ()
        elif drawn:
            places = list(product(*(range(grid.sizes[axis]) for axis, _ in drawn)))
            parts = {
                place: draw_part(rng, type_, domains[value], variety, sum(place), drawn[0][1])
                for place in places
            }
        else:
            parts = {(): draw(rng, type_, domains[value], variety)}
        found, whole = _held(grid, state, drawn, parts, type_)
        wholes.append(whole)
        per_device.append(found)
    return Inputs(tuple(wholes), per_device)


def _held(
    grid: Grid,
    state: PortState,
    drawn: Pending,
    parts: dict[tuple[int, ...], Array],
    type_: TensorType,
) -> tuple[list[Array], Array]:
    """What each device holds of the parts, and the whole; where a value is not kept nothing changes."""
    kept = [pair for pair in state.pending if pair not in drawn]

    def part(device: int) -> Array:
        place = grid.places[device]
        for axis, reduction in kept:
            if place[axis]:
                some = parts[next(iter(parts))]
                return np.broadcast_to(identity(reduction, some.dtype), type_.shape)
        return parts[tuple(place[axis] for axis, _ in drawn)]

    everywhere = [parts[tuple(place[axis] for axis, _ in drawn)] for place in grid.places]
    return shards(grid, state, part), completed(grid, drawn, everywhere)[0]


def _constants(instance: Instance) -> dict[int, Array]:
    """The operands that depend on no parameter, by id."""
    made = {result for op in instance.program.ops[:-1] for result in op.results}
    wanted = [value for value in instance.op.operands if value in made]
    if not wanted:
        return {}
    constants = replace(instance.program, ops=instance.program.ops[:-1], parameters=(), results=tuple(wanted))
    return dict(zip(wanted, run_program(constants, ()).outputs, strict=True))
