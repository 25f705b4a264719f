"""Placements that the rules do not allow, tried all the same: those that turn out right are missing.

A hypothesis is about one mesh axis. Either it splits some dims of some ports, or some operands come pending
and results leave pending, all by one reduction: more than that no plan can say of one axis. Of two that are
right, one of which does all that the other does and more, the smaller one is meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import product

from kina.audit.allowed import allowed
from kina.audit.execute import Built, UnbuildableError, build, run
from kina.audit.instance import Instance
from kina.audit.meaning import meaning
from kina.audit.op_rule import OpRule
from kina.audit.placement import Placement, PortState, make_mesh, whole
from kina.audit.prices import lost_bytes
from kina.audit.trial import Seed, attempt, draw_inputs, judge
from kina.frontend.ir import REDUCTIONS, Mesh, TensorType

#: Truth values have these only.
_OF_TRUTH = ("max", "min")
#: A hypothesis has to stand this many draws, and as many more as it takes to see this many elements.
_DRAWS = 9
_ELEMENTS = 600
_MOST_DRAWS = 90
#: One that saves nothing has to be told from those that are wrong only: it is mostly allowed.
_FEW_DRAWS = 3

States = tuple[PortState, ...]


@dataclass(frozen=True, slots=True)
class Missing:
    """A placement that is right and forbidden; without it each device moves `bytes` more."""

    instance: Instance
    placement: Placement
    bytes: int


@dataclass(slots=True)
class Search:
    """The hypotheses about one instance; `tried` counts those that could be built."""

    instance: Instance
    rule: OpRule
    seed: Seed
    tried: int = 0
    #: what is right on the mesh that is searched, and what rules allow there
    right: list[Placement] = field(default_factory=list)
    known: list[Placement] = field(default_factory=list)

    def missing(self) -> Iterator[Missing]:
        """The placements over one axis, of 2 devices or of 3, that would be right and save bytes."""
        for mesh in (make_mesh(2), make_mesh(3)):
            self.right = []
            known = [each.placement for each in allowed(self.instance, self.rule, (mesh,))]
            self.known = [*known, _nothing_split(self.instance, mesh)]
            for placement in self._right(mesh):
                self.right.append(placement)
                lost = lost_bytes(self.instance, placement, self.known)
                if lost and any(state.axes for state in placement.results) and self._elsewhere(placement):
                    yield Missing(self.instance, placement, lost)

    def _right(self, mesh: Mesh) -> Iterator[Placement]:
        """Placements that turn out right, those with few ports that are not whole before others."""
        plain = _nothing_split(self.instance, mesh)
        for before, after in _splits(self.instance, mesh):
            if self._includes_right(before, after):
                continue
            try:
                built = build(self.instance, Placement(mesh, before, after))
            except UnbuildableError:
                continue
            yield from self._explained(built, before)
        try:
            built = build(self.instance, plain)
        except UnbuildableError:
            # What is allowed has no form on the devices either, and that is reported as wrong.
            return
        # Three devices allow no more pending parts than two do; some odd ones come out right by their number.
        for before in _pending(self.instance, mesh) if mesh.devices == 2 else ():
            if not self._includes_right(before, plain.results):
                yield from self._explained(built, before)

    def _includes_right(self, before: States, after: States) -> bool:
        """Whether a smaller placement that is right already is a part of this one."""
        return any(
            _within(known.operands, before) and _within(_split_only(known.results), after)
            for known in self.right
        )

    def _explained(self, built: Built, operands: States) -> Iterator[Placement]:
        """The placement of the results that explains what comes out, if there is one and it stands."""
        self.tried += 1
        inputs = draw_inputs(self.instance, operands, built.grid, self.seed, 1)
        outputs = run(built, inputs.per_device)
        expected = meaning(self.instance, inputs.wholes)
        results = []
        for index, state in enumerate(built.placement.results):
            for way in _ways(state, self.instance.result_types[index].dtype, built, operands):
                one = slice(index, index + 1)
                if judge(built, (way,), outputs[one], expected[one])[0].ok:
                    results.append(way)
                    break
            else:
                return
        placement = Placement(built.placement.mesh, operands, tuple(results))
        saves = lost_bytes(self.instance, placement, self.known) > 0
        if self._stands(built, placement, _MOST_DRAWS if saves else _FEW_DRAWS):
            yield placement

    def _stands(self, built: Built, placement: Placement, most: int = _MOST_DRAWS) -> bool:
        """Whether it is right for all draws, `most` at most."""
        tried = replace(built, placement=placement)
        least = min((type_.elements for type_ in self.instance.types if type_.rank), default=1)
        draws = min(max(_DRAWS, -(-_ELEMENTS // max(least, 1))), most)
        return all(attempt(tried, (*self.seed, 1 + number), number % 3).ok for number in range(draws))

    def _elsewhere(self, placement: Placement) -> bool:
        """Whether it is right for the other number of devices too, if that divides the dims."""
        other = make_mesh(5 - placement.mesh.devices)
        moved = replace(placement, mesh=other)
        states = (*zip(self.instance.operand_types, moved.operands, strict=True),)
        states = (*states, *zip(self.instance.result_types, moved.results, strict=True))
        if not all(_divides(type_, state, other) for type_, state in states):
            return True
        try:
            return self._stands(build(self.instance, moved), moved)
        except UnbuildableError:
            return False


def _nothing_split(instance: Instance, mesh: Mesh) -> Placement:
    """Every device has everything and does everything."""
    return Placement(
        mesh,
        tuple(whole(type_.rank) for type_ in instance.operand_types),
        tuple(whole(type_.rank) for type_ in instance.result_types),
    )


def _divides(type_: TensorType, state: PortState, mesh: Mesh) -> bool:
    return all(
        not axes or size % mesh.devices == 0 for size, axes in zip(type_.shape, state.layout, strict=True)
    )


def _splits(instance: Instance, mesh: Mesh) -> Iterable[tuple[States, States]]:
    """Operands and results of which some are split, few before many."""
    operands = [_split_states(type_, mesh) for type_ in instance.operand_types]
    results = [_split_states(type_, mesh) for type_ in instance.result_types]
    every = [(before, after) for before in product(*operands) for after in product(*results)]
    split = [each for each in every if _size(each[0]) + _size(each[1])]
    return sorted(split, key=lambda each: _size(each[0]) + _size(each[1]))


def _split_states(type_: TensorType, mesh: Mesh) -> list[PortState]:
    """Whole, or split on one of its dims."""
    axis = mesh.axes[0]
    found = [whole(type_.rank)]
    for dim, size in enumerate(type_.shape):
        if size and size % axis.size == 0:
            layout = tuple((axis.name,) if place == dim else () for place in range(type_.rank))
            found.append(PortState(layout))
    return found


def _pending(instance: Instance, mesh: Mesh) -> Iterator[States]:
    """Some operands pending by one reduction, few before many.

    Constants are not: kept on one device they make it do all the work, which is right and of no use.
    """
    axis = mesh.axes[0].name
    plain = tuple(whole(type_.rank) for type_ in instance.operand_types)
    drawn = [value in instance.program.parameters for value in instance.op.operands]
    subsets = sorted((chosen for chosen in product((False, True), repeat=len(plain)) if any(chosen)), key=sum)
    for reduction in REDUCTIONS:
        for chosen in subsets:
            types = {
                type_.dtype for type_, is_in in zip(instance.operand_types, chosen, strict=True) if is_in
            }
            odd = "bool" in types and reduction not in _OF_TRUTH
            if odd or any(is_in and not own for is_in, own in zip(chosen, drawn, strict=True)):
                continue
            yield tuple(
                PortState(state.layout, ((axis, reduction),) if is_in else ())
                for state, is_in in zip(plain, chosen, strict=True)
            )


def _ways(state: PortState, dtype: str, built: Built, operands: States) -> list[PortState]:
    """The states that a result may turn out to be in."""
    axis = built.placement.mesh.axes[0].name
    if any(state.layout):
        return [state]
    coming = [reduction for each in operands for _, reduction in each.pending]
    reductions = [each for each in coming[:1] or REDUCTIONS if dtype != "bool" or each in _OF_TRUTH]
    return [state, *(replace(state, pending=((axis, reduction),)) for reduction in reductions)]


def _size(states: States) -> int:
    return sum(1 for state in states if state.axes)


def _within(small: States, large: States) -> bool:
    """Whether every port that is not whole in the one is the same in the other."""
    return all(not one.axes or one == two for one, two in zip(small, large, strict=True))


def _split_only(states: States) -> States:
    return tuple(state if any(state.layout) else whole(len(state.layout)) for state in states)
