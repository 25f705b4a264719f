"""`kina why --not`: the one reason why an axis is not on a dim, with its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kina.diagnose.case import axis_words, plural
from kina.explain.answer import Answer, Evidence
from kina.explain.inquiry import Inquiry, inquire
from kina.explain.names import Target
from kina.explain.obstacles import evidence, obstacle
from kina.explain.reasons import Reason, Reasoner
from kina.explain.ways import RELATIONS
from kina.explain.why import Stages, released, stored_may_differ
from kina.facts.names import encode
from kina.frontend.ir import Program, Value

#: The relations that reasons and their evidence are made of.
OUTPUTS = ("granted", "contested_at", "given_barred", "given_replicated", "root_ask", *RELATIONS)


def why_not(
    program: Program, solver: str, target: Target, stage: Stages
) -> tuple[Inquiry, tuple[Answer, ...]]:
    """Why the axis is not on the dim: an answer for each dim and axis that the target leaves open.

    Raises ProgramError if a rule file is at fault, SetupError if the engine is.
    """
    outputs = [*OUTPUTS]
    if stored_may_differ(program, target.value):
        outputs += ["stored", "left_pending", "rebuilt"]
    inquiry = inquire(program, solver, outputs, stage, everywhere=True)
    with stage("prove"):
        answers = tuple(_answers(inquiry, target))
    return inquiry, answers


def _answers(inquiry: Inquiry, target: Target) -> Iterator[Answer]:
    value = target.value
    if value.type.rank == 0:
        yield Answer("no", str(target), f"`{value.name}` is a scalar, which has no dim to split", value.span)
        return
    single = target.axis is not None and (target.dim is not None or value.type.rank == 1)
    reasoner = Reasoner(inquiry)
    gone = released(inquiry, value)
    found = [
        _answer(inquiry, reasoner, value, dim, axis.name, axis.name in gone)
        for dim in (range(value.type.rank) if target.dim is None else (target.dim,))
        for axis in inquiry.program.mesh.axes
        if target.axis in (None, axis.name)
    ]
    absent = [answer for answer in found if answer.holds] or found
    for answer in absent:
        yield answer if single or len(absent) == 1 else _brief(inquiry, answer)


def _brief(inquiry: Inquiry, answer: Answer) -> Answer:
    """The statement alone: evidence is for the question about one dim and one axis."""
    more = () if not answer.holds else (inquiry.case.command(answer.question, negated=True),)
    return replace(answer, evidence=(), labels=(), lines=(), notes=(), more=more, brief=True)


def _answer(inquiry: Inquiry, reasoner: Reasoner, value: Value, dim: int, axis: str, gone: bool) -> Answer:
    question = f"{value.name}.{dim}@{axis}"
    base = f"dim {dim} of `{value.name}` is not on `{axis}`"
    size = inquiry.program.mesh.size(axis)
    if size == 1:
        return Answer(
            "nothing", question, f"{base}: an axis of one device splits nothing", value.span, str(value.type)
        )
    granted = inquiry.grant(value, dim, axis)
    if granted is not None and gone:
        return _released(inquiry, value, dim, axis, question, base)
    if granted is not None:
        return Answer(
            "no",
            question,
            f"dim {dim} of `{value.name}` is on {axis_words(inquiry.case.axis_list(granted[2]))}",
            value.span,
            str(value.type),
            more=(inquiry.case.command(question),),
        )
    reason = reasoner.reason((encode(value.name), dim), axis)
    return _reasoned(inquiry, value, dim, reason, question, base)


def _reasoned(inquiry: Inquiry, value: Value, dim: int, reason: Reason, question: str, base: str) -> Answer:
    here = reason.place == (encode(value.name), dim)
    place = inquiry.case.value(reason.place[0])
    found = obstacle(inquiry, reason)
    where = "" if here else f"it stops at dim {reason.place[1]} of `{place.name}`, where "
    proofs = evidence(inquiry, reason)
    return Answer(
        reason.kind,
        question,
        f"{base}: {where}{found.words}",
        found.at or place.span,
        found.below or str(place.type),
        labels=found.labels,
        evidence=proofs,
        notes=(*found.notes, *_path_notes(inquiry, reason, value, dim)),
        more=(inquiry.case.command(place.name),) if not here else (),
    )


def _path_notes(inquiry: Inquiry, reason: Reason, value: Value, dim: int) -> Iterator[str]:
    """From where the axis would come, and how far it would still have to go."""
    if reason.way is None:
        return
    source = inquiry.case.value(reason.way.source[0])
    yield f"the nearest place that has it is dim {reason.way.source[1]} of `{source.name}`"
    if reason.path:
        yield (
            f"from dim {reason.place[1]} of `{inquiry.case.value(reason.place[0]).name}` it would be"
            f" {plural(len(reason.path), 'step')} to dim {dim} of `{value.name}`"
        )


def _released(inquiry: Inquiry, value: Value, dim: int, axis: str, question: str, base: str) -> Answer:
    name = encode(value.name)
    pending = [
        r for r in inquiry.rows("left_pending") if r[0] == name and inquiry.case.axes[str(r[1])] == axis
    ]
    if pending:
        because, fact = f"it is left a pending {pending[0][2]} over it", ("left_pending", pending[0])
    else:
        built = next(
            r for r in inquiry.rows("rebuilt") if r[0] == name and inquiry.case.axes[str(r[1])] == axis
        )
        because, fact = "it is built where it is used, which does not use the axis", ("rebuilt", built)
    return Answer(
        "released",
        question,
        f"{base}: {because}",
        value.span,
        str(value.type),
        evidence=(Evidence("", inquiry.case.proof(*fact)),),
        notes=("propagation alone would put it there",),
    )
