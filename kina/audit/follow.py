"""Whether layouts go where the factors of an op say, in every direction: forward, backward and sideways.

Where a program of one op has one annotation, the factors alone tell which dims have to follow it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kina.audit.example import port_names
from kina.audit.instance import Instance
from kina.audit.merge import merge, starts
from kina.audit.op_rule import Derived, OpRule
from kina.audit.placement import make_mesh
from kina.audit.programs import Drawn, Misplanned, annotated, constant_values, draw_asked
from kina.datalog.engine import solve
from kina.facts.dump import dump
from kina.facts.entry import layouts_only
from kina.frontend.ir import Mesh
from kina.rulebook.base import RuleBase

_ONE, _TWO = make_mesh(2), make_mesh(2, 2)
_AXIS, _PARTS = "a", 2

#: (port, dim)
Place = tuple[int, int]
#: (port, dim) -> the lists of axes that the rules grant it
Granted = Mapping[Place, frozenset[tuple[str, ...]]]


def misled(
    derived: Derived, base: RuleBase, solver: str, numbers: Sequence[int], seed: int
) -> tuple[int, tuple[Misplanned, ...]]:
    """How many programs were laid out, and those in which layouts do not go where they should."""
    seeds = [
        (
            place,
            annotated(derived.instances[number], number, {_value(derived, number, place): (_AXIS,)}, _ONE),
        )
        for number in numbers
        for place in _seeds(derived.instances[number])
    ]
    drawn = [
        annotated(derived.instances[number], number, asked, _TWO)
        for number in numbers
        for asked in draw_asked(
            derived.instances[number],
            derived.rules[number],
            _TWO,
            random.Random(f"{seed} {number}"),  # noqa: S311
        )
    ]
    found = []
    for (place, each), granted in zip(
        seeds, _granted(derived, [each for _, each in seeds], _ONE, base, solver), strict=True
    ):
        instance, rule = derived.instances[each.number], derived.rules[each.number]
        found += [Misplanned(each, why) for why in _strays(instance, rule, place, granted)]
    for each, granted in zip(drawn, _granted(derived, drawn, _TWO, base, solver), strict=True):
        found += [Misplanned(each, why) for why in _ill_formed(derived.instances[each.number], granted)]
    return len(seeds) + len(drawn), tuple(found)


def _value(derived: Derived, number: int, place: Place) -> Place:
    """(value, dim) of a place."""
    return derived.instances[number].values[place[0]], place[1]


def _seeds(instance: Instance) -> Iterator[Place]:
    """Each place that an annotation can put the axis on, of values that are no constants."""
    constants = constant_values(instance)
    for port, value in enumerate(instance.values):
        for dim, size in enumerate(instance.program.type_of(value).shape):
            if size and size % _PARTS == 0 and value not in constants:
                yield port, dim


def _granted(
    derived: Derived, drawn: Sequence[Drawn], mesh: Mesh, base: RuleBase, solver: str
) -> Iterator[Granted]:
    """For each program what its op's ports are granted, in one run of the rules without the plan."""
    if not drawn:
        return
    programs = [each.program for each in drawn]
    whole = replace(merge(programs, mesh), rules=base.added)
    facts = dump(whole)
    rules = base.with_entry(layouts_only(facts.entry), base.added)
    rows: dict[tuple[str, int], set[tuple[str, ...]]] = {}
    for value, dim, axes, *_ in solve(solver, rules, facts.given(rules.inputs), ("granted",)).relations[
        "granted"
    ]:
        rows.setdefault((str(value), int(dim)), set()).add(tuple(str(axes).split(",")))
    for each, first in zip(drawn, starts(programs), strict=True):
        kind = derived.instances[each.number].op.kind
        op = next(op for op in reversed(each.program.ops) if op.kind == kind)
        ports = [facts.value_names[first + value] for value in (*op.operands, *op.results)]
        yield {
            (port, dim): frozenset(found)
            for (name, dim), found in rows.items()
            for port, held in enumerate(ports)
            if held == name
        }


def _ill_formed(instance: Instance, granted: Granted) -> Iterator[str]:
    """What no layout may be: a list without those that it begins with, or an axis on two dims of a tensor."""
    names = port_names(instance)
    held: dict[int, dict[str, int]] = {}
    for (port, dim), lists in sorted(granted.items()):
        for axes in sorted(lists):
            if len(axes) > 1 and axes[:-1] not in lists:
                yield f"dim {dim} of `{names[port]}` is on ({','.join(axes)}), and not on what it begins with"
            if held.setdefault(port, {}).setdefault(axes[-1], dim) != dim:
                yield f"`{axes[-1]}` is on two dims of `{names[port]}`"


def _strays(instance: Instance, rule: OpRule, seed: Place, granted: Granted) -> Iterator[str]:
    """Dims that an annotation at `seed` reaches and should not, or the other way."""
    expected = _expected(instance, rule, seed)
    if expected is None:
        return
    names = port_names(instance)
    asked = f"what is asked of dim {seed[1]} of `{names[seed[0]]}`"
    for port, dim in sorted(expected ^ granted.keys()):
        if (port, dim) in expected:
            yield f"{asked} does not come to dim {dim} of `{names[port]}`, which shares a factor with it"
        else:
            yield f"{asked} comes to dim {dim} of `{names[port]}`, which shares no factor with it"


def _expected(instance: Instance, rule: OpRule, seed: Place) -> frozenset[Place] | None:
    """The places that have to follow the seed; None if one tensor is asked for two dims, which is a conflict.

    Constants take a layout and do not hand it on; operands hand it to each other if the op computes.
    """
    values = instance.values
    if len({*values}) < len(values):
        return None
    count, constants = len(instance.op.operands), constant_values(instance)
    # Among constants layouts go on: there is nobody to hand them to.
    silent = constants if any(value not in constants for value in values[count:]) else frozenset()
    found, waiting = {seed}, [seed]
    while waiting:
        place = waiting.pop()
        if values[place[0]] in silent:
            continue
        sideways = _hands_sideways(instance, rule, values[place[0]] in constants)
        for near in _near(instance, rule, place):
            among_operands = place[0] < count and near[0] < count
            if near not in found and (sideways or not among_operands):
                found.add(near)
                waiting.append(near)
    ports = [port for port, _ in found]
    return None if len({*ports}) < len(ports) else frozenset(found)


def _hands_sideways(instance: Instance, rule: OpRule, constant: bool) -> bool:
    """Whether an operand hands its layout to another: the parts of a concatenate meet through its result."""
    return not (rule.keeps_shapes or constant or instance.op.kind == "concatenate")


def _near(instance: Instance, rule: OpRule, place: Place) -> Iterator[Place]:
    """The places that share a factor with a place: the major one on both sides, which the axis divides."""
    count, shapes = len(instance.op.operands), instance.shapes
    majors = [on for on in rule.dims if on.major == 1 and rule.size(on, shapes) > 1]
    for one in majors:
        if (one.port, one.dim) != place or rule.size(one, shapes) % _PARTS:
            continue
        for other in majors:
            operands, results = max(one.port, other.port) < count, min(one.port, other.port) >= count
            # An operand that is all of the factor is asked by another whatever its size.
            alike = rule.size(one, shapes) == rule.size(other, shapes) or (operands and other.size is None)
            if other.factor == one.factor and other.port != one.port and not results and alike:
                yield other.port, other.dim
