"""`kina why`: the proof that a tensor is laid out as it is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import takewhile
from typing import Protocol

from kina.diagnose.case import LARGE, axis_words
from kina.explain.answer import Answer, Evidence
from kina.explain.inquiry import Inquiry, inquire, inquire_layered
from kina.explain.names import Target
from kina.facts.names import encode
from kina.frontend.ir import Program, Value


class Stages(Protocol):
    """Is told the name of each stage."""

    def __call__(self, name: str) -> AbstractContextManager[None]: ...


def why(program: Program, solver: str, target: Target, stage: Stages) -> tuple[Inquiry, tuple[Answer, ...]]:
    """Why the target is laid out as it is: an answer for each dim, and for each pending sum.

    Raises ProgramError if a rule file is at fault, SetupError if the engine is.
    """
    if stored_may_differ(program, target.value):
        inquiry = inquire(program, solver, ("granted", "stored", "left_pending", "rebuilt"), stage)
    elif len(program.ops) > LARGE:
        inquiry = inquire_layered(program, target.value, solver, stage)
    else:
        inquiry = inquire(program, solver, ("granted",), stage)
    with stage("prove"):
        answers = tuple(_answers(inquiry, target))
    return inquiry, answers or (_absent(inquiry, target),)


def stored_may_differ(program: Program, value: Value) -> bool:
    """Whether the plan may store a value otherwise than propagation lays it out.

    It leaves values pending and builds them elsewhere only where they are used once and not annotated,
    or where a pending sum is given or demanded.
    """
    notes = [note for note in program.annotations if note.value == value.id]
    if any(note.kind == "pending" for note in notes):
        return True
    uses = sum(op.operands.count(value.id) for op in program.ops) + program.results.count(value.id)
    return uses == 1 and not notes and value.id not in program.parameters


def _answers(inquiry: Inquiry, target: Target) -> Iterator[Answer]:
    value = target.value
    lost = released(inquiry, value)
    for dim in range(value.type.rank) if target.dim is None else (target.dim,):
        stored = tuple(takewhile(lambda axis: axis not in lost, inquiry.held(value, dim)))
        for axis in stored[-1:] if target.axis is None else stored:
            if target.axis in (None, axis):
                yield _is_on(inquiry, value, dim, axis)
    if target.dim is None:
        yield from _pending(inquiry, target)
    yield from _unit_axes(inquiry, target)


def released(inquiry: Inquiry, value: Value) -> frozenset[str]:
    """The axes that propagation gave a value and the plan took from it."""
    name = encode(value.name)
    rows = [
        row for relation in ("left_pending", "rebuilt") for row in inquiry.rows(relation) if row[0] == name
    ]
    return frozenset(inquiry.case.axes[str(row[1])] for row in rows)


def _is_on(inquiry: Inquiry, value: Value, dim: int, axis: str) -> Answer:
    row = inquiry.grant(value, dim, axis)
    assert row is not None
    axes = inquiry.case.axis_list(row[2])
    return Answer(
        "is",
        f"{value.name}.{dim}@{axis}",
        f"dim {dim} of `{value.name}` is on {axis_words(axes)}",
        value.span,
        str(value.type),
        evidence=(Evidence("", inquiry.case.proof(inquiry.goal, row)),),
    )


def _pending(inquiry: Inquiry, target: Target) -> Iterator[Answer]:
    value, name = target.value, encode(target.value.name)
    for relation in ("left_pending", "given_pending"):
        for row in inquiry.rows(relation):
            axis = inquiry.case.axes.get(str(row[1]), "")
            if row[0] != name or target.axis not in (None, axis):
                continue
            if relation == "given_pending" and row in inquiry.rows("left_pending"):
                continue
            yield Answer(
                "pending",
                f"{value.name}@{axis}",
                f"`{value.name}` is a pending {row[2]} over `{axis}`",
                value.span,
                str(value.type),
                evidence=(Evidence("", inquiry.case.proof(relation, row)),),
            )


def _unit_axes(inquiry: Inquiry, target: Target) -> Iterator[Answer]:
    """Annotated axes of size 1, which the rules do not know."""
    sizes = {axis.name: axis.size for axis in inquiry.program.mesh.axes}
    for note in inquiry.program.annotations:
        axes = [axis for axis in note.axes if sizes[axis] == 1 and target.axis in (None, axis)]
        if note.value != target.value.id or note.kind != "sharded" or target.dim not in (None, note.dim):
            continue
        for axis in axes:
            yield Answer(
                "is",
                f"{target.value.name}.{note.dim}@{axis}",
                f"dim {note.dim} of `{target.value.name}` is on `{axis}`, by its annotation",
                note.span,
                f"`{axis}` has one device, and splits nothing",
            )


def _absent(inquiry: Inquiry, target: Target) -> Answer:
    value = target.value
    subject = f"`{value.name}`" if target.dim is None else f"dim {target.dim} of `{value.name}`"
    is_ = f"is not on `{target.axis}`" if target.axis else "is whole on every device"
    elsewhere = [
        f"`{target.axis}` is on its dim {dim}"
        for dim in range(value.type.rank)
        if target.axis is not None and target.axis in inquiry.held(value, dim)
    ]
    return Answer(
        "no",
        str(target),
        f"{subject} {is_}",
        value.span,
        str(value.type),
        notes=tuple(elsewhere),
        more=(inquiry.case.command(str(target), negated=True),),
    )
