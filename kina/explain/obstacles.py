"""Reasons in words, with the places and proofs that bear them out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from kina.diagnose.case import Fact, axis_words
from kina.diagnostics.finding import Label, ProofStep
from kina.explain.answer import Evidence
from kina.explain.inquiry import Inquiry
from kina.explain.reasons import Reason
from kina.facts.entry import level_names
from kina.frontend.ir import Annotation, Op, Value
from kina.source import Span

#: Level suffix -> what it does, in words.
_LEVELS = {
    "shape_forward": "forward through ops that keep shapes",
    "shape": "through ops that keep shapes",
    "forward": "forward, from operand to result",
    "backward": "backward, from result to operand",
    "sideways": "from operand to operand",
}


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What stands in the way: words after a colon, and where the user sees it."""

    words: str
    at: Span | None = None
    below: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()


def obstacle(inquiry: Inquiry, reason: Reason) -> Obstacle:
    """What a reason says."""
    match reason.kind:
        case "nothing":
            return _nothing(inquiry, reason)
        case "annotation":
            return _annotation(inquiry, reason)
        case "taken":
            fact = reason.facts[0][1]
            others = axis_words(inquiry.case.axis_list(fact[2]))
            return Obstacle(f"`{reason.axis}` splits dim {fact[1]}, which is on {others}" + _behind(reason))
        case "size":
            return _size(inquiry, reason)
        case "lost":
            return _lost(inquiry, reason)
        case "contested":
            return _contested(inquiry, reason)
        case "whole":
            op = _op(inquiry, reason)
            words = f"{inquiry.case.op_words(op)} needs the dim whole"
            return Obstacle(words, op.span, f"dim {reason.place[1]} must not be split")
        case _:
            op = _op(inquiry, reason)
            return Obstacle(f"no rule covers {inquiry.case.op_words(op)}", op.span, "replicated")


def _behind(reason: Reason) -> str:
    return f", and the axis comes behind {axis_words(reason.behind)}" if reason.behind else ""


def _op(inquiry: Inquiry, reason: Reason) -> Op:
    assert reason.way is not None
    return inquiry.case.producers[inquiry.case.value(reason.way.op).id]


def _value(inquiry: Inquiry, reason: Reason) -> Value:
    return inquiry.case.value(reason.place[0])


def _nothing(inquiry: Inquiry, reason: Reason) -> Obstacle:
    named = [
        note for note in inquiry.program.annotations if reason.axis in note.axes and note.kind == "sharded"
    ]
    if not named:
        return Obstacle("nothing asks for it", notes=(f"no annotation splits anything over `{reason.axis}`",))
    labels = tuple(dict.fromkeys(Label(note.span, f"splits over `{reason.axis}`") for note in named[:3]))
    return Obstacle(
        "nothing asks for it", labels=labels, notes=("no way leads there from a dim that has it",)
    )


def _annotation(inquiry: Inquiry, reason: Reason) -> Obstacle:
    value, dim = _value(inquiry, reason), reason.place[1]
    words = "its annotation keeps it off"
    label = "written here"
    note = next(iter(_barring(inquiry, value, dim, reason.axis)), None)
    match note.kind if note is not None else "":
        case "sharded":
            assert note is not None
            words, label = (
                f"its annotation says {axis_words(note.axes)} and no more",
                "holds exactly what is written",
            )
        case "closed":
            words, label = "its annotation closes it", "dims that are not annotated stay whole"
        case "replicated":
            words, label = "its annotation says `@replicated`", f"keeps `{reason.axis}` off"
        case "pending":
            words, label = f"its annotation makes it pending over `{reason.axis}`", "each device holds a part"
    labels = (Label(note.span, label),) if note is not None else ()
    return Obstacle(words + _behind(reason), labels=labels)


def _barring(inquiry: Inquiry, value: Value, dim: int, axis: str) -> Iterable[Annotation]:
    """The annotations that keep an axis off a dim, the most telling first."""
    notes = [note for note in inquiry.program.annotations if note.value == value.id]
    yield from (note for note in notes if note.kind == "sharded" and note.dim == dim)
    yield from (note for note in notes if note.kind == "replicated" and axis in note.axes)
    yield from (note for note in notes if note.kind == "pending" and axis in note.axes)
    yield from (note for note in notes if note.kind == "closed")


def _size(inquiry: Inquiry, reason: Reason) -> Obstacle:
    value, dim = _value(inquiry, reason), reason.place[1]
    parts, size = inquiry.program.mesh.size(reason.axis), value.type.shape[dim]
    if size % parts:
        return Obstacle(f"`{reason.axis}` = {parts} does not divide its size {size}" + _behind(reason))
    return Obstacle(_reshaped(inquiry, reason) + _behind(reason))


def _reshaped(inquiry: Inquiry, reason: Reason) -> str:
    """Why what a reshape hands on does not fit a dim that the axis divides."""
    way = reason.way
    assert way is not None
    mesh = inquiry.program.mesh
    source = inquiry.case.value(way.source[0])
    origin = f"dim {way.source[1]} of `{source.name}`"
    if reason.asked and way.kind == "join":
        return (
            f"only {way.size} elements of its minor part come from {origin},"
            f" and `{reason.axis}` = {mesh.size(reason.axis)} does not divide them"
        )
    if reason.asked:
        if way.size == inquiry.case.value(reason.place[0]).type.shape[reason.place[1]]:
            return f"the axes of {origin} make more parts than divide its size {way.size}"
        return f"only {way.size} of its elements come from {origin}"
    if way.kind == "join":
        return (
            f"`{reason.axis}` would split its minor part, and the {way.major} elements above it are not"
            " split completely"
        )
    row = inquiry.grant(source, way.source[1], reason.axis)
    assert row is not None
    if way.major % prod(mesh.size(axis) for axis in inquiry.case.axis_list(row[2])) == 0:
        return f"`{reason.axis}` splits {origin} into its first {way.major} parts, which do not go there"
    return (
        f"it would take what is left of {origin} when the first {way.major} parts are split,"
        " and no list of axes makes just so many"
    )


def _lost(inquiry: Inquiry, reason: Reason) -> Obstacle:
    fact = reason.facts[0][1]
    held = axis_words(inquiry.case.axis_list(fact[2]))
    since = _first_level(inquiry, "accepted", fact[:3])
    notes = (f"{held} came {since}",) if since else ()
    return Obstacle(f"the dim is on {held} already" + _behind(reason), notes=notes)


def _first_level(inquiry: Inquiry, relation: str, fact: Fact) -> str:
    """The level at which a tuple first holds, in words."""
    for level in level_names(inquiry.facts.priorities, inquiry.facts.derived):
        if fact in inquiry.rows(f"{level}.{relation}"):
            priority, _, suffix = level.split("_", 2)
            return f"at priority {priority[1:]}, {_LEVELS[suffix]}"
    return ""


def _contested(inquiry: Inquiry, reason: Reason) -> Obstacle:
    value = _value(inquiry, reason)
    asks = [f"for {axis_words(inquiry.case.axis_list(fact[2]))} on dim {fact[1]}" for _, fact in reason.facts]
    return Obstacle(
        f"`{value.name}` is asked {' and '.join(asks)}, and nothing ranks them" + _behind(reason),
        notes=("`kina check` shows the conflict and what settles it",),
    )


# -- proofs


def evidence(inquiry: Inquiry, reason: Reason) -> tuple[Evidence, ...]:
    """The proofs of what decides a reason, and of the place that the axis comes from."""
    found = []
    for relation, fact in reason.facts:
        if relation == "contested_at":
            found.append(Evidence(_ask_words(inquiry, fact), ask_proof(inquiry, fact[:3])))
        elif relation == "given_barred":
            continue
        else:
            found.append(Evidence("", inquiry.case.proof(relation, fact)))
    if reason.way is not None and reason.kind != "contested":
        source = reason.way.source
        rows = inquiry.granted[source]
        row = next((row for row in rows if inquiry.ends_in(row, reason.axis)), rows[-1])
        found.append(Evidence(_source_words(inquiry, row), inquiry.case.proof("granted", row)))
    return tuple(found)


def _ask_words(inquiry: Inquiry, fact: Fact) -> str:
    return f"dim {fact[1]} is asked to be on {axis_words(inquiry.case.axis_list(fact[2]))}"


def _source_words(inquiry: Inquiry, row: Fact) -> str:
    value = inquiry.case.value(row[0])
    return f"it comes from dim {row[1]} of `{value.name}`"


def ask_proof(inquiry: Inquiry, fact: Fact) -> tuple[ProofStep, ...]:
    """Why a dim is asked to be on a list: that the request arrives in the last level that has it."""
    for level in reversed(level_names(inquiry.facts.priorities, inquiry.facts.derived)):
        if fact in inquiry.rows(f"{level}.flow"):
            steps = inquiry.case.prove(f"{level}.flow", fact)
            return tuple(_flow_step(inquiry.case.placed(step)) for step in steps)
    raise KeyError(f"flow{fact}")


def _flow_step(step: ProofStep) -> ProofStep:
    """A request that arrives is shown, by the words of what is asked; the way it takes is not."""
    relation = step.relation.rpartition(".")[2]
    if relation == "arrived":
        value, dim, list_ = step.columns
        return replace(step, hidden=False, says=f"dim {dim} of `{value}` is asked to be on `{list_}`")
    return replace(step, hidden=True) if relation == "asked" else step
