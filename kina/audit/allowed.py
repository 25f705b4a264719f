"""The placements that the rules of an op allow: what a plan can make of its factors and pending parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod

from kina.audit.instance import Instance
from kina.audit.op_rule import OnDim, OpRule
from kina.audit.placement import Placement, PortState, make_mesh
from kina.frontend.ir import Mesh
from kina.plan.decisions import Layout, Pending

#: Meshes on which placements are tried: axes of 2 and 3, and two axes at once.
MESHES = (make_mesh(2), make_mesh(3), make_mesh(2, 2), make_mesh(2, 3))

#: Factor -> its axes, major to minor.
Split = Mapping[int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Passing:
    """A pending `reduction` over `axes` that passes through the op from `ports`.

    Of the ports in `kept` one device keeps a whole value; the others come with parts of their own.
    """

    reduction: str
    axes: tuple[str, ...]
    ports: tuple[int, ...]
    together: bool
    kept: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Allowed:
    """A placement with what the rules say that allows it."""

    placement: Placement
    split: tuple[tuple[int, tuple[str, ...]], ...]
    passing: Passing | None = None


@dataclass(frozen=True, slots=True)
class _Space:
    """An op's rules, indexed."""

    instance: Instance
    rule: OpRule
    shapes: tuple[tuple[int, ...], ...]

    def factors(self) -> dict[int, tuple[int, ...]]:
        """The sizes that each factor has at its dims."""
        found: dict[int, list[int]] = {}
        for on in self.rule.dims:
            found.setdefault(on.factor, []).append(self.rule.size(on, self.shapes))
        return {factor: tuple(dict.fromkeys(sizes)) for factor, sizes in found.items()}

    def layout(self, port: int, split: Split, parts: Mapping[tuple[str, ...], int]) -> Layout:
        """What the plan puts on the dims of a port, as `coercion.port-dim`, `-major` and `-minor` say."""
        dims: list[tuple[str, ...]] = [()] * len(self.shapes[port])
        for on in sorted(self.rule.dims, key=lambda on: on.major):
            axes = split.get(on.factor, ())
            if on.port != port or not axes:
                continue
            # An axis that wrong rules put on a dim twice makes no list of parts: `build` objects to it.
            if on.size is None or on.major == 1 or parts.get(dims[on.dim], on.major) == on.major:
                dims[on.dim] = (*dims[on.dim], *axes)
        return tuple(dims)


def allowed(instance: Instance, rule: OpRule, meshes: Sequence[Mesh] = MESHES) -> Iterator[Allowed]:
    """Every placement on the meshes that uses all of their axes, simplest first."""
    space = _Space(instance, rule, instance.shapes)
    for mesh in meshes:
        names = tuple(axis.name for axis in mesh.axes)
        for split in _splits(space, mesh, names):
            yield _placed(space, mesh, split, None)
        for passing, rest in _passings(space, names):
            for split in _splits(space, mesh, rest) if rest else ({},):
                yield _placed(space, mesh, split, passing)


def _splits(space: _Space, mesh: Mesh, names: Sequence[str]) -> Iterator[Split]:
    """Every way to put all of the axes on factors that they divide, in any order."""
    factors = space.factors()
    sizes = {axis.name: axis.size for axis in mesh.axes}
    if len(names) == 1:
        candidates: list[dict[int, tuple[str, ...]]] = [{factor: (names[0],)} for factor in factors]
    else:
        candidates = [{factor: order} for factor in factors for order in permutations(names)]
        candidates += [
            {factor: (names[0],), other: (names[1],)} for factor, other in permutations(factors, 2)
        ]
    for split in candidates:
        if all(_divides(factors[factor], axes, sizes) for factor, axes in split.items()) and _covered(
            space, split, sizes
        ):
            yield split


def _divides(found: Sequence[int], axes: tuple[str, ...], sizes: Mapping[str, int]) -> bool:
    """Whether the axes divide the factor at some dim, which then can bring them."""
    parts = _parts(axes, sizes)
    return any(size % parts == 0 and size for size in found)


def _parts(axes: tuple[str, ...], sizes: Mapping[str, int]) -> int:
    return prod(sizes[axis] for axis in axes)


def _covered(space: _Space, split: Split, sizes: Mapping[str, int]) -> bool:
    """Whether the factors above each minor one are split completely, on some dim that holds it."""
    dims = space.rule.dims
    minor = {on.factor for on in dims if on.major > 1}
    for factor in minor & split.keys():
        if not any(
            on.factor == factor and on.major > 1 and _cover(space, split, sizes, on) >= on.major
            for on in dims
        ):
            return False
    return True


def _cover(space: _Space, split: Split, sizes: Mapping[str, int], on: OnDim) -> int:
    """How many of the first parts of a dim are split completely."""
    covered = 1
    above = [other for other in space.rule.dims if (other.port, other.dim) == (on.port, on.dim)]
    for other in sorted(above, key=lambda other: other.major):
        complete = _parts(split.get(other.factor, ()), sizes) == other.size
        if other.size is not None and other.major == covered and complete:
            covered *= other.size
    return covered


def _passings(space: _Space, names: Sequence[str]) -> Iterator[tuple[Passing, tuple[str, ...]]]:
    """Every way for a pending reduction to pass, with the axes that are left for factors."""
    choices: list[tuple[tuple[str, ...], tuple[str, ...]]] = [(tuple(names), ())]
    if len(names) == 2:
        choices += [((names[0],), (names[1],)), ((names[1],), (names[0],))]
    constants = {
        port
        for port, value in enumerate(space.instance.op.operands)
        if value not in space.instance.program.parameters
    }
    for axes, rest in choices:
        for port, reduction in space.rule.alone:
            if port not in constants:
                yield Passing(reduction, axes, (port,), False), rest
        for reduction in dict.fromkeys(reduction for _, reduction in space.rule.together):
            ports = tuple(port for port, kind in space.rule.together if kind == reduction)
            fixed = tuple(port for port in ports if port in constants)
            yield Passing(reduction, axes, ports, True, fixed), rest
            for port in ports if len(ports) > 1 and len(axes) == 1 else ():
                others = tuple(other for other in ports if other != port)
                if port not in constants:
                    yield Passing(reduction, axes, ports, True, others), rest


def _placed(space: _Space, mesh: Mesh, split: Split, passing: Passing | None) -> Allowed:
    sizes = {axis.name: axis.size for axis in mesh.axes}
    parts = {axes: _parts(axes, sizes) for axes in _lists(tuple(sizes))}
    count = len(space.instance.operand_types)
    reduced = [
        (axis, reduction, factor)
        for factor, reduction in space.rule.reduced
        for axis in split.get(factor, ())
    ]
    passed: Pending = tuple((axis, passing.reduction) for axis in passing.axes) if passing else ()
    states = []
    for port in range(len(space.shapes)):
        layout = space.layout(port, split, parts)
        pending: Pending = ()
        kept: frozenset[str] = frozenset()
        if port >= count:
            here = {on.factor for on in space.rule.dims if on.port == port}
            made = [(axis, reduction) for axis, reduction, factor in reduced if factor not in here]
            pending = (*made, *passed)
        else:
            if passing is not None and port in passing.ports:
                pending = passed
                kept = frozenset(passing.axes) if port in passing.kept else frozenset()
            if port in space.rule.once:
                once = tuple((axis, reduction) for axis, reduction, _ in reduced)
                pending, kept = (*pending, *once), kept | {axis for axis, _ in once}
        states.append(PortState(layout, pending, kept))
    placement = Placement(mesh, tuple(states[:count]), tuple(states[count:]))
    return Allowed(placement, tuple(sorted(split.items())), passing)


def _lists(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for length in range(len(names) + 1):
        yield from permutations(names, length)
