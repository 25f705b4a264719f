"""Whole programs of one op: its operands are annotated, and what it gives is differentiated if it can be.

Rules of steps, levels, plan and coercions say nothing of an op by itself: they act in programs only.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import prod

from kina.audit.example import attributes, port_names
from kina.audit.instance import PLACE, Domain, Instance
from kina.audit.op_rule import Derived, OpRule
from kina.audit.outcome import Misplan
from kina.audit.placement import PortState
from kina.diagnostics.finding import ProgramError
from kina.frontend.autodiff.origin import spread
from kina.frontend.autodiff.reverse import differentiate
from kina.frontend.builder import Builder
from kina.frontend.constants import separate_constants
from kina.frontend.ir import Annotation, Attribute, Mesh, Program
from kina.frontend.names import Names
from kina.frontend.ops import OPS
from kina.frontend.ops.core import FLOATS

#: Types whose gradients are exact enough to be compared.
_WIDE = ("f32", "f64")
#: Elements that gradients are taken at: others jump, or leave what the type holds.
_SMOOTH = ("general", "positive", "nonzero")

#: (value, dim) -> the axes that its annotation names, major to minor.
Asked = dict[tuple[int, int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program of instance `number`; `domains` belong to its parameters.

    `forward` is the same program without its gradient, None where it has none.
    """

    number: int
    program: Program
    domains: tuple[Domain, ...]
    asked: Asked
    forward: Program | None = None


@dataclass(frozen=True, slots=True)
class Misplanned:
    """A program that is laid out or planned wrongly, and why."""

    drawn: Drawn
    why: str


def annotated(instance: Instance, number: int, asked: Asked, mesh: Mesh) -> Drawn:
    """The program of the op alone, with annotations."""
    program = _finished(replace(instance.program, mesh=mesh), asked)
    return Drawn(number, program, instance.domains, asked)


def with_gradient(instance: Instance, number: int, asked: Asked, mesh: Mesh, inner: bool) -> Drawn:
    """The program of the op, and of the gradient of a weighted sum of what it gives if there is one.

    With `inner` it gives that sum in place of what the op gives, so that a pending result can be left so.
    """
    made = _differentiated(instance, inner)
    if made is None:
        return annotated(instance, number, asked, mesh)
    forward, program = (_finished(replace(each, mesh=mesh), asked) for each in made)
    weights = len(program.parameters) - len(instance.program.parameters)
    domains = (*instance.domains, *(Domain() for _ in range(weights)))
    return Drawn(number, program, domains, asked, None if inner else forward)


def _finished(program: Program, asked: Asked) -> Program:
    notes = tuple(
        Annotation(value, "sharded", PLACE, dim=dim, axes=axes)
        for (value, dim), axes in sorted(asked.items())
    )
    return separate_constants(replace(program, annotations=notes))


def _differentiated(instance: Instance, inner: bool) -> tuple[Program, Program] | None:
    """The op with a weighted sum of its results, and that with the gradients of its operands.

    None if it has no slope, or if its slope is not exact enough to be compared.
    """
    program = instance.program
    wrt = [value for value in program.parameters if program.type_of(value).dtype in FLOATS]
    results = [value for value in program.results if program.type_of(value).dtype in FLOATS]
    dtypes = {program.type_of(value).dtype for value in (*wrt, *results)}
    smooth = all(domain.kind in _SMOOTH or domain.high for domain in instance.domains)
    # The gradient of a declared op is that of its body, whose ops have audits of their own.
    known = instance.op.kind in OPS
    if not known or not wrt or not results or len(dtypes) > 1 or not dtypes <= {*_WIDE} or not smooth:
        return None
    names = Names({value.name for value in program.values})
    builder = Builder(list(program.values), list(program.ops), names.fresh)
    weights, loss = _loss(builder, results)
    forward = replace(
        program,
        values=tuple(builder.values),
        ops=tuple(builder.ops),
        parameters=(*program.parameters, *weights),
        results=(loss,) if inner else (*program.results, loss),
    )
    try:
        gradients = differentiate(builder, loss, wrt, 0, PLACE, names.fresh)
    except ProgramError:
        return None
    return forward, replace(
        forward,
        values=tuple(builder.values),
        ops=spread(builder.values, builder.ops),
        results=(*forward.results, *gradients.values),
        cotangents=gradients.pairs,
    )


def _loss(builder: Builder, results: Sequence[int]) -> tuple[list[int], int]:
    """Weights for each result, and the sum of all weighted elements."""
    weights, parts = [], []
    for result in results:
        type_ = builder.type_of(result)
        weights.append(builder.parameter(builder.name_for("weight"), type_, PLACE))
        (part,) = builder.emit("multiply", (result, weights[-1]), {}, PLACE)
        if type_.rank:
            given: dict[str, Attribute] = {"dimensions": tuple(range(type_.rank)), "kind": "sum"}
            (part,) = builder.emit("reduce", (part,), given, PLACE)
        parts.append(part)
    loss = parts[0]
    for part in parts[1:]:
        (loss,) = builder.emit("add", (loss, part), {}, PLACE)
    return weights, loss


def constant_values(instance: Instance) -> frozenset[int]:
    """The values that depend on no parameter."""
    program = instance.program
    made = {result for op in program.ops for result in op.results}
    fixed: set[int] = set()
    for op in program.ops:
        if all(value in fixed for value in op.operands):
            fixed.update(op.results)
    return frozenset(fixed & made)


#: A dim of a value.
_Dim = tuple[int, int]
#: The axes of one annotation, and those of another one -> whether they are drawn together.
_Order = Callable[[tuple[str, ...], tuple[str, ...]], bool]


def draw_asked(instance: Instance, rule: OpRule, mesh: Mesh, rng: random.Random) -> Iterator[Asked]:
    """Annotations: of dims that share a factor, of dims that do not, and of any.

    Those that share a factor ask for other lists of axes. Those that do not ask for the same axes; one is
    combined if there is such a dim, since a result that is asked for both is in conflict and has no plan.
    """
    constants = constant_values(instance)
    values = [value for value in instance.values if value not in constants]
    every = [
        (value, dim)
        for value in dict.fromkeys(values)
        for dim, size in enumerate(instance.program.type_of(value).shape)
        if size > 1
    ]
    factors = _factors(instance, rule)
    reduced = {factor for factor, _ in rule.reduced}
    pairs = [(one, two) for one, two in permutations(every, 2) if one[0] != two[0]]
    sharing = [(one, two) for one, two in pairs if factors[one] & factors[two]]
    apart = [(one, two) for one, two in pairs if not factors[one] & factors[two]]
    combined = [(one, two) for one, two in apart if factors[one] & reduced]
    yield from _one(instance, mesh, rng, sharing, _other)
    yield from _one(instance, mesh, rng, combined, _begun) or _one(instance, mesh, rng, apart, _begun)
    yield from _one(instance, mesh, rng, pairs, _any) or _single(instance, mesh, rng, every)


def _factors(instance: Instance, rule: OpRule) -> defaultdict[_Dim, set[int]]:
    """The factors that each dim holds."""
    found: defaultdict[_Dim, set[int]] = defaultdict(set)
    for on in rule.dims:
        found[instance.values[on.port], on.dim].add(on.factor)
    return found


def _other(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    return one[0] != two[0]


def _begun(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    return len(one) > 1 and two == one[:1]


def _any(one: tuple[str, ...], two: tuple[str, ...]) -> bool:
    return True


def _one(
    instance: Instance, mesh: Mesh, rng: random.Random, pairs: Sequence[tuple[_Dim, _Dim]], order: _Order
) -> list[Asked]:
    """Axes for one of the pairs that they divide; none if there is no such pair."""
    for one, two in rng.sample(pairs, len(pairs)):
        lists = product(_fitting(instance, mesh, one), _fitting(instance, mesh, two))
        both = [(axes, others) for axes, others in lists if order(axes, others)]
        if both:
            axes, others = rng.choice(both)
            return [{one: axes, two: others}]
    return []


def _single(instance: Instance, mesh: Mesh, rng: random.Random, every: Sequence[_Dim]) -> list[Asked]:
    """Axes for one of the dims."""
    ways = [(each, axes) for each in every for axes in _fitting(instance, mesh, each)]
    return [dict([rng.choice(ways)])] if ways else []


def _fitting(instance: Instance, mesh: Mesh, each: _Dim) -> list[tuple[str, ...]]:
    """The lists of axes that divide a dim."""
    names, (value, dim) = [axis.name for axis in mesh.axes], each
    size = instance.program.type_of(value).shape[dim]
    lists = [axes for length in (1, 2) for axes in permutations(names, length)]
    return [axes for axes in lists if size % prod(mesh.size(axis) for axis in axes) == 0]


def misplans(derived: Derived, found: Sequence[Misplanned]) -> tuple[Misplan, ...]:
    """One entry for each way in which programs are planned wrongly, with the smallest of them."""
    groups: dict[str, list[Misplanned]] = {}
    for each in found:
        groups.setdefault(_kind_of(each.why), []).append(each)
    return tuple(_entry(derived, group) for group in groups.values())


def _kind_of(why: str) -> str:
    """A reason without its names and numbers."""
    return re.sub(r"`[^`]*`|[-\d.e+]*\d[-\d.e+]*", "", why)


def _entry(derived: Derived, group: Sequence[Misplanned]) -> Misplan:
    smallest = min(group, key=lambda each: derived.instances[each.drawn.number].elements)
    instance, drawn = derived.instances[smallest.drawn.number], smallest.drawn
    names = port_names(instance)
    ports = []
    for name, value in zip(names, instance.values, strict=True):
        type_ = instance.program.type_of(value)
        layout = tuple(drawn.asked.get((value, dim), ()) for dim in range(type_.rank))
        ports.append(f"{name}: {PortState(layout).text(type_)}")
    given = ", ".join(f"{name}={text}" for name, text in attributes(instance))
    what = f"`{instance.op.kind}`" + (f" with {given}" if given else "")
    if drawn.program.cotangents:
        what += " and its gradient"
    return Misplan(
        smallest.why, len(group), (f"on the mesh {drawn.program.mesh.text}, {what}, annotated so", *ports)
    )
