"""Programs with the obstacle removed that a reason names."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from kina.explain.inquiry import Inquiry, inquire_facts
from kina.explain.reasons import Reason
from kina.explain.why_not import OUTPUTS
from kina.facts.dump import Facts, dump
from kina.facts.entry import steps_everywhere
from kina.facts.names import encode
from kina.frontend.ir import Annotation, Mesh, MeshAxis, Program
from tests.explain.asking import asked, quiet

#: The name of an axis that is added to a mesh.
MADE = "made"


def without(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The program with the obstacle that a reason names removed, None where no program can be without it:
    a dim of one element is not split."""
    program = inquiry.program
    name, dim = reason.place
    match reason.kind:
        case "annotation":
            value = inquiry.case.value(name).id
            kept = tuple(note for note in program.annotations if note.value != value)
            return asked(replace(program, annotations=kept))
        case "nothing":
            return _annotated(inquiry, reason)
        case "size":
            if not divides(inquiry, reason):
                return _smaller_axis(inquiry, reason)
            return _beside_reshape(inquiry, reason) or _led_through(inquiry, reason)
        case "whole" | "unruled":
            return _led_through(inquiry, reason)
        case _:
            winner = reason.facts[-1][1]
            if winner[1] != dim:
                return _solved(program, _closed(inquiry.facts, name, int(winner[1])))
            axes = inquiry.case.axis_list(winner[2])
            return _solved(program, _barred(inquiry.facts, name, encode(axes[-1])))


def divides(inquiry: Inquiry, reason: Reason) -> bool:
    """Whether the axis divides the dim at which it stops, so that a size in its way is one of a reshape."""
    size = inquiry.case.value(reason.place[0]).type.shape[reason.place[1]]
    return size % inquiry.program.mesh.size(reason.axis) == 0


def _solved(program: Program, facts: Facts) -> Inquiry:
    return inquire_facts(program, facts, "auto", OUTPUTS, quiet)


def _closed(facts: Facts, name: str, dim: int) -> Facts:
    """The facts with a dim that stays whole, and no seed of its own."""
    seeds = [row for row in facts.relations["given_sharded"] if row[:2] != (name, dim)]
    fixed = [*facts.relations["given_fixed"], (name, dim)]
    relations = {**facts.relations, "given_sharded": seeds, "given_fixed": list(dict.fromkeys(fixed))}
    return replace(facts, relations=relations)


def _barred(facts: Facts, name: str, axis: str) -> Facts:
    """The facts with an axis kept off a tensor."""
    seeds = [
        row
        for row in facts.relations["given_sharded"]
        if row[0] != name or axis not in str(row[2]).split(",")
    ]
    kept_off = [*facts.relations["given_replicated"], (name, axis)]
    relations = {**facts.relations, "given_sharded": seeds, "given_replicated": list(dict.fromkeys(kept_off))}
    return replace(facts, relations=relations)


def _annotated(inquiry: Inquiry, reason: Reason) -> Inquiry:
    """The program in which the dim is asked to hold the axis, behind what it holds if there is room."""
    program = inquiry.program
    value, dim = inquiry.case.value(reason.place[0]), reason.place[1]
    axes = (*inquiry.held(value, dim), reason.axis)
    if value.type.shape[dim] % prod(program.mesh.size(axis) for axis in axes):
        axes = (reason.axis,)
    last = max(dump(program).priorities) + 1
    note = Annotation(value.id, "sharded", value.span, dim, axes, last)
    return asked(replace(program, annotations=(*program.annotations, note)))


def _smaller_axis(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The program on a mesh whose axis does divide the dim."""
    program = inquiry.program
    size = inquiry.case.value(reason.place[0]).type.shape[reason.place[1]]
    divisor = next((each for each in range(2, size + 1) if size % each == 0), None)
    if divisor is None:
        return None
    axes = (replace(each, size=divisor) if each.name == reason.axis else each for each in program.mesh.axes)
    return asked(replace(program, mesh=Mesh(tuple(axes), program.mesh.span)))


# -- steps that no rule takes


def _led_through(inquiry: Inquiry, reason: Reason) -> Inquiry:
    """The program by rules with one more, which leads along the step that stopped the axis."""
    assert reason.way is not None
    (source, dim), (target, place) = reason.way.source, reason.way.target
    size = inquiry.case.value(target).type.shape[place]
    step = f'op_sideways("{source}", {dim}, "{target}", {place}, {size}).\n'
    return _solved(inquiry.program, replace(inquiry.facts, entry=f"{inquiry.facts.entry}\n{step}"))


def _beside_reshape(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The program in which an added axis splits what lies above the axis in a reshape, where one can."""
    assert reason.way is not None
    if reason.way.kind == "join":
        return _major_split(inquiry, reason)
    if reason.way.kind == "cut":
        return _major_taken(inquiry, reason)
    return None


def _more_axes(program: Program, size: int) -> Program:
    mesh = program.mesh
    return replace(program, mesh=Mesh((*mesh.axes, MeshAxis(MADE, size)), mesh.span))


def _major_split(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The major elements of the target are split completely, and it is open for more."""
    assert reason.way is not None
    name, dim = reason.place
    value = inquiry.case.value(name)
    held = inquiry.held(value, dim)
    parts, rest = divmod(reason.way.major, prod(inquiry.program.mesh.size(axis) for axis in held))
    if rest or parts == 1:
        return None
    more = _more_axes(inquiry.program, parts)
    note = Annotation(value.id, "sharded", value.span, dim, (*held, MADE))
    program = replace(more, annotations=(*more.annotations, note))
    facts = dump(program)
    fixed = [row for row in facts.relations["given_fixed"] if row != (name, dim)]
    relations = {**facts.relations, "given_fixed": fixed}
    return _solved(program, replace(facts, entry=steps_everywhere(facts.entry), relations=relations))


def _major_taken(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """Wherever the axis is asked for, one comes before it that splits the source where its factors meet."""
    assert reason.way is not None
    program = inquiry.program
    source = inquiry.case.value(reason.way.source[0])
    row = inquiry.grant(source, reason.way.source[1], reason.axis)
    assert row is not None
    before = inquiry.case.axis_list(row[2])[:-1]
    parts, rest = divmod(reason.way.major, prod(program.mesh.size(axis) for axis in before))
    if rest or parts == 1:
        return None
    more = _more_axes(program, parts)
    notes = tuple(_put_before(note, reason.axis) for note in program.annotations)
    for note in notes:
        if note.dim is None:
            continue
        if program.type_of(note.value).shape[note.dim] % prod(more.mesh.size(axis) for axis in note.axes):
            return None
    return asked(replace(more, annotations=notes))


def _put_before(note: Annotation, axis: str) -> Annotation:
    if note.kind != "sharded" or axis not in note.axes:
        return note
    place = note.axes.index(axis)
    return replace(note, axes=(*note.axes[:place], MADE, *note.axes[place:]))
