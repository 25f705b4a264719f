"""Conflicts (K201): two requests meet in one tensor, and nothing ranks them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kina.diagnose.case import Case, Fact, axis_words, plural, subproof
from kina.diagnostics.finding import Finding, Help, Label
from kina.frontend.ir import Annotation, Value
from kina.reach import reached
from kina.source import Span

#: The number of a repeated layer in the name of a value.
LAYER = re.compile(r"\[\d+\]")

#: Places that a note lists.
_LISTED = 3


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two requests: the dim, its list, the annotations that it comes from, and the way from there.

    `values` are the tensors on that way, by their names in facts.
    """

    dim: int
    axes: tuple[str, ...]
    notes: tuple[Annotation, ...]
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conflict:
    """A tensor that is asked for two things, `fact` being the tuple of the relation `conflict`."""

    fact: Fact
    value: Value
    one: Side
    two: Side

    @property
    def axis(self) -> str:
        """The axis that both sides want, or the last one of the first side."""
        shared = [axis for axis in self.one.axes if axis in self.two.axes]
        return (shared or list(self.one.axes))[-1]

    @property
    def notes(self) -> tuple[Annotation, ...]:
        return (*self.one.notes, *self.two.notes)


def conflicts(case: Case) -> tuple[Conflict, ...]:
    """The roots, in the order of the program; alike ones of repeated layers are one.

    They are told apart before anything is proved: a proof in a late layer is long.
    """
    found: dict[tuple[object, ...], Fact] = {}
    for fact in sorted(case.rows("conflict"), key=lambda fact: (case.value(fact[0]).id, fact[1:])):
        if fact[1] == fact[3] and str(fact[2]) > str(fact[4]):
            continue
        value = case.value(fact[0])
        name = LAYER.sub("[]", value.name)
        found.setdefault((value.span.start, value.span.file, name, *fact[1:]), fact)
    return tuple(_conflict(case, fact) for fact in found.values())


def _conflict(case: Case, fact: Fact) -> Conflict:
    name, dim, word, other, rival = fact
    steps = case.sketch("conflict", fact)
    sides = []
    for place, axes in ((dim, word), (other, rival)):
        ask = next(s for s in steps if (s.relation, s.columns) == ("root_ask", (name, place, axes)))
        proof = subproof(steps, ask.id)
        values = frozenset(str(step.columns[0]) for step in proof if step.columns)
        sides.append(Side(int(place), case.axis_list(axes), case.origins(proof), values))
    return Conflict(fact, case.value(name), *sides)


def causes(case: Case, found: Iterable[Conflict]) -> list[list[Conflict]]:
    """The conflicts by what causes them: those over one axis are together that share an annotation.

    An annotation on a tensor of the same type that says the same counts as shared.
    """
    groups: list[list[Conflict]] = []
    for conflict in found:
        said = {_said(case, note) for note in conflict.notes}
        group, others = [conflict], []
        for each in groups:
            shared = any(_said(case, note) in said for other in each for note in other.notes)
            if shared and each[0].axis == conflict.axis:
                group = [*each, *group]
            else:
                others.append(each)
        groups = [*others, group]
    return sorted(groups, key=lambda each: each[0].value.id)


def _said(case: Case, note: Annotation) -> object:
    return note.kind, note.dim, note.axes, note.priority, case.program.type_of(note.value)


def conflict_finding(case: Case, group: Sequence[Conflict], helps: tuple[Help, ...]) -> Finding:
    """The finding for conflicts of one cause, told by the first of them."""
    first = group[0]
    proof = case.proof("conflict", first.fact)
    return Finding(
        "K201",
        "error",
        message(case, first),
        first.value.span,
        "one axis can split one dim only"
        if first.one.dim != first.two.dim
        else "one list of axes for one dim",
        labels=tuple(_labels(case, group, helps)),
        notes=_notes(case, group),
        helps=helps,
        proof=proof,
        rule=proof[0].rule if proof else "",
        more=("`kina explain K201`", _question(case, first)),
    )


def _labels(case: Case, group: Sequence[Conflict], helps: Sequence[Help]) -> Iterator[Label]:
    """What each annotation asks for, those that only helps change last."""
    labels: dict[Span, str] = {}
    for conflict in group:
        for side in (conflict.one, conflict.two):
            for note in side.notes:
                labels.setdefault(note.span, f"asks for {asked(side)}")
    written = {note.span for note in case.program.annotations}
    for edit in (edit for help_ in helps for edit in help_.edits if edit.span in written):
        labels.setdefault(edit.span, "asks for the same as another")
    return (Label(span, words) for span, words in labels.items())


def _question(case: Case, conflict: Conflict) -> str:
    """The command that says why the tensor does not have what it is asked for."""
    target = f"{conflict.value.name}.{conflict.one.dim}@{conflict.one.axes[-1]}"
    return f"`{case.command(target, negated=True)}`"


def message(case: Case, conflict: Conflict) -> str:
    """What is the case, in one line."""
    op = case.producers.get(conflict.value.id)
    name = case.short(conflict.value)
    words = case.op_words(op) if op else f"`{name}`"
    own = f"`{name.split('#')[0].split('.')[-1]}`"
    where = "it" if not op else "its result" if own in words else f"`{name}`"
    if conflict.one.dim != conflict.two.dim:
        return f"{words} is asked to put `{conflict.axis}` on two dims of {where}"
    one, two = axis_words(conflict.one.axes), axis_words(conflict.two.axes)
    return f"{words} is asked to split dim {conflict.one.dim} of {where} over {one} and over {two}"


def asked(side: Side) -> str:
    """What a side asks for: dim 1 over `model`."""
    return f"dim {side.dim} over {axis_words(side.axes)}"


def _notes(case: Case, group: Sequence[Conflict]) -> tuple[str, ...]:
    home = group[0].value
    notes = list(places_note(case, group, "asks the same", "ask the same"))
    waiting = _dependent(case, group)
    if waiting:
        verb = "depends" if len(waiting) == 1 else "depend"
        places = _places(case, home, waiting)
        notes.append(f"{plural(len(waiting), 'more finding')} {verb} on this one ({places})")
    return tuple(notes)


def places_note(case: Case, group: Sequence[Conflict], one: str, several: str) -> tuple[str, ...]:
    """What holds of the tensors of a group besides the first, said of one and of several; nothing of none."""
    others = [conflict.value for conflict in group[1:]]
    if not others:
        return ()
    said = one if len(others) == 1 else several
    return (f"{plural(len(others), 'more place')} {said} ({_places(case, group[0].value, others)})",)


def _places(case: Case, home: Value, values: Sequence[Value]) -> str:
    places = [f"`{case.short(value)}` at {_place(home, value)}" for value in values[:_LISTED]]
    return ", ".join(places) + (", …" if len(values) > _LISTED else "")


def _place(home: Value, value: Value) -> str:
    span = value.span
    return f"{span.line}:{span.column}" if span.file == home.span.file else str(span)


def _dependent(case: Case, group: Sequence[Conflict]) -> list[Value]:
    """The tensors that are contested only because those of the group are: they wait for the answer.

    They are the contested ones that ops lead to from there by way of contested ones; of those at one place
    the last one, which the form there stands for.
    """
    roots = {case.value(fact[0]).id for fact in case.rows("conflict")}
    contested = {case.value(fact[0]).id for fact in case.rows("contested_at")}
    near: dict[int, set[int]] = {}
    for op in case.program.ops:
        touched = contested.intersection((*op.operands, *op.results))
        for value in touched:
            near.setdefault(value, set()).update(touched)
    together = reached((conflict.value.id for conflict in group), near)
    values = case.program.values
    taken = {values[root].span for root in roots}
    places = {values[each].span: values[each] for each in sorted(together) if values[each].span not in taken}
    return sorted(places.values(), key=lambda value: value.id)
