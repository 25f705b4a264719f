"""Placements that the rules do not allow, tried all the same: those that turn out right are missing.

A hypothesis is about one mesh axis. Either it splits some dims of some ports, or some operands come
pending and the results leave pending, all by one reduction: more than that no plan can say of one axis.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from kina.audit.allowed import allowed
from kina.audit.execute import Built, UnbuildableError, build, run
from kina.audit.instance import Instance
from kina.audit.meaning import meaning
from kina.audit.op_rule import OpRule
from kina.audit.placement import Placement, PortState, make_mesh, whole
from kina.audit.prices import lost_bytes
from kina.audit.trial import Seed, attempt, draw_inputs, judge
from kina.frontend.ir import Mesh, TensorType

REDUCTIONS = ("sum", "max", "min", "prod")
#: Draws that a hypothesis has to stand.
TRIALS = 9
#: With more operands than this only some sets of them are tried pending.
_MANY = 4

States = tuple[PortState, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A placement that is right and forbidden; without it each device moves `bytes` more."""

    instance: Instance
    placement: Placement
    bytes: int


def missing(instance: Instance, rule: OpRule, seed: Seed) -> Iterator[Missing]:
    """The placements over one axis, of 2 devices or of 3, that would be right and save bytes."""
    for mesh in (make_mesh(2), make_mesh(3)):
        known = [each.placement for each in allowed(instance, rule) if each.placement.mesh == mesh]
        known.append(_nothing_split(instance, mesh))
        for operands, built in _tried(instance, mesh):
            for results in _explained(built, operands, seed):
                placement = Placement(mesh, operands, results)
                lost = lost_bytes(instance, placement, known)
                if lost and _stands(built, placement, seed):
                    yield Missing(instance, placement, lost)


def _nothing_split(instance: Instance, mesh: Mesh) -> Placement:
    """Every device has everything and does everything."""
    return Placement(
        mesh,
        tuple(whole(type_.rank) for type_ in instance.operand_types),
        tuple(whole(type_.rank) for type_ in instance.result_types),
    )


def _tried(instance: Instance, mesh: Mesh) -> Iterator[tuple[States, Built]]:
    """Operands that are split, or pending, with the op that can be built on them."""
    plain = _nothing_split(instance, mesh)
    operands = [_split_states(type_, mesh) for type_ in instance.operand_types]
    results = [_split_states(type_, mesh) for type_ in instance.result_types]
    for before in product(*operands):
        for after in product(*results):
            if all(not any(state.layout) for state in (*before, *after)):
                continue
            try:
                yield before, build(instance, Placement(mesh, before, after))
            except UnbuildableError:
                continue
    built = build(instance, plain)
    for before in _pending_states(instance, mesh):
        yield before, built


def _split_states(type_: TensorType, mesh: Mesh) -> list[PortState]:
    """Whole, or split on one of its dims."""
    axis = mesh.axes[0]
    found = [whole(type_.rank)]
    for dim, size in enumerate(type_.shape):
        if size and size % axis.size == 0:
            layout = tuple((axis.name,) if place == dim else () for place in range(type_.rank))
            found.append(PortState(layout))
    return found


def _pending_states(instance: Instance, mesh: Mesh) -> Iterator[States]:
    """Some operands pending by one reduction, constants kept on one device; truth values have no sums."""
    axis = mesh.axes[0].name
    plain = tuple(whole(type_.rank) for type_ in instance.operand_types)
    drawn = set(instance.program.parameters)
    for reduction in REDUCTIONS:
        for chosen in _subsets(len(plain)):
            types = [instance.operand_types[place].dtype for place in chosen]
            if reduction in ("sum", "prod") and "bool" in types:
                continue
            fixed = [place for place in chosen if instance.op.operands[place] not in drawn]
            if len(fixed) == len(chosen):
                continue
            yield tuple(
                replace(
                    state,
                    pending=((axis, reduction),) if place in chosen else (),
                    kept=frozenset([axis] if place in fixed else ()),
                )
                for place, state in enumerate(plain)
            )


def _subsets(count: int) -> Iterator[tuple[int, ...]]:
    """Sets of operands, none empty: all of them, or of many operands each one, the first two and all."""
    if count <= _MANY:
        for chosen in product((False, True), repeat=count):
            if any(chosen):
                yield tuple(place for place, is_in in enumerate(chosen) if is_in)
        return
    yield from ((place,) for place in range(count))
    yield from ((0, 1), tuple(range(count)))


def _explained(built: Built, operands: States, seed: Seed) -> Iterator[States]:
    """What the results are, if what one draw gives is any of it."""
    placement = replace(built.placement, operands=operands)
    inputs = draw_inputs(built.instance, operands, built.grid, seed, 1)
    outputs = run(built, inputs.per_device)
    expected = meaning(built.instance, inputs.wholes)
    ways = []
    for index, state in enumerate(placement.results):
        fitting = [
            way
            for way in _results(state, built, operands)
            if judge(built.grid, (way,), outputs[index : index + 1], expected[index : index + 1])[0].ok
        ]
        ways.append(fitting[:1])
    yield from product(*ways)


def _results(state: PortState, built: Built, operands: States) -> list[PortState]:
    """The states that a result may turn out to be in."""
    axis = built.placement.mesh.axes[0].name
    coming = [reduction for each in operands for _, reduction in each.pending]
    if any(state.layout):
        return [state]
    reductions = coming[:1] or REDUCTIONS
    return [state, *(replace(state, pending=((axis, reduction),)) for reduction in reductions)]


def _stands(built: Built, placement: Placement, seed: Seed) -> bool:
    """Whether it is right for all draws."""
    tried = replace(built, placement=placement)
    return all(attempt(tried, (*seed, 1 + number), number).ok for number in range(TRIALS))


