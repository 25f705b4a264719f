"""Questions to random programs, and programs with an obstacle removed."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

from kina.explain.inquiry import Inquiry, inquire, inquire_facts
from kina.explain.reasons import Reason, Reasoner
from kina.explain.why_not import OUTPUTS
from kina.facts.dump import Facts, dump
from kina.facts.names import encode
from kina.frontend.ir import Annotation, Mesh, Program

Question = tuple[tuple[str, int], str]


def quiet(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def asked(program: Program, solver: str = "auto") -> Inquiry:
    return inquire(program, solver, OUTPUTS, quiet, everywhere=True)


def absent(inquiry: Inquiry) -> list[Question]:
    """Every dim and axis that propagation did not bring together."""
    return [
        ((encode(value.name), dim), axis.name)
        for value in inquiry.program.values
        for dim in range(value.type.rank)
        for axis in inquiry.program.mesh.axes
        if axis.size > 1 and inquiry.grant(value, dim, axis.name) is None
    ]


def reason_now(inquiry: Inquiry, question: Question) -> Reason | None:
    """The reason for a question in another program, None if the axis arrives there."""
    (name, dim), axis = question
    if inquiry.grant(inquiry.case.value(name), dim, axis) is not None:
        return None
    return Reasoner(inquiry).reason((name, dim), axis)


def without(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The program with the obstacle that a reason names removed, None for those that only rules remove."""
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
            return _smaller_axis(inquiry, reason)
        case "taken" | "lost" | "contested":
            winner = reason.facts[-1][1]
            if winner[1] != dim:
                return _solved(inquiry, _closed(inquiry.facts, name, int(winner[1])))
            axes = inquiry.case.axis_list(winner[2])
            return _solved(inquiry, _barred(inquiry.facts, name, encode(axes[-1])))
        case _:
            return None


def _solved(inquiry: Inquiry, facts: Facts) -> Inquiry:
    return inquire_facts(inquiry.program, facts, "auto", OUTPUTS, quiet)


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


def _annotated(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The program in which something asks for the axis, behind what the dim holds already."""
    program = inquiry.program
    value, dim = inquiry.case.value(reason.place[0]), reason.place[1]
    axes = (*inquiry.held(value, dim), reason.axis)
    parts = 1
    for axis in axes:
        parts *= program.mesh.size(axis)
    if value.type.shape[dim] % parts:
        return None
    last = max(dump(program).priorities) + 1
    note = Annotation(value.id, "sharded", value.span, dim, axes, last)
    return asked(replace(program, annotations=(*program.annotations, note)))


def _smaller_axis(inquiry: Inquiry, reason: Reason) -> Inquiry | None:
    """The program on a mesh whose axis does divide the dim."""
    program = inquiry.program
    size = inquiry.case.value(reason.place[0]).type.shape[reason.place[1]]
    divisors = [each for each in (2, 3, 4) if size and size % each == 0]
    if not divisors or size % program.mesh.size(reason.axis) == 0:
        return None
    axes = tuple(
        replace(axis, size=divisors[0]) if axis.name == reason.axis else axis for axis in program.mesh.axes
    )
    return asked(replace(program, mesh=Mesh(axes, program.mesh.span)))
