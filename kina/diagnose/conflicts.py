"""Conflicts (K201): two requests meet in one tensor, and nothing ranks them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from kina.diagnose.case import Case, Fact, axis_words, command, plural
from kina.diagnose.edits import annotated_form, sharded_text, with_priority
from kina.diagnostics.finding import Edit, Finding, Help, Label
from kina.frontend.ir import Annotation, Value

#: The number of a repeated layer in the name of a value.
_LAYER = re.compile(r"\[\d+\]")

#: Tries edits: the help if the check passes with them, and the bytes that the plan then moves.
Trial = Callable[[str, tuple[Edit, ...]], tuple[Help, int]]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two requests: the dim, its list, and the annotations that it comes from."""

    dim: int
    axes: tuple[str, ...]
    notes: tuple[Annotation, ...]


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
        name = _LAYER.sub("[]", value.name)
        found.setdefault((value.span.start, value.span.file, name, *fact[1:]), fact)
    return tuple(_conflict(case, fact) for fact in found.values())


def _conflict(case: Case, fact: Fact) -> Conflict:
    name, dim, word, other, rival = fact
    sides = []
    for place, axes in ((dim, word), (other, rival)):
        proof = case.proof("root_ask", (name, place, axes))
        sides.append(Side(int(place), case.axis_list(axes), case.origins(proof)))
    return Conflict(fact, case.value(name), *sides)


def conflict_findings(case: Case, trial: Trial) -> tuple[Finding, ...]:
    """One finding for each group of conflicts that one repair settles."""
    groups: defaultdict[str, list[Conflict]] = defaultdict(list)
    for conflict in conflicts(case):
        groups[conflict.axis].append(conflict)
    findings: list[Finding] = []
    for group in groups.values():
        findings.extend(_group_findings(case, group, trial))
    return tuple(findings)


def _group_findings(case: Case, group: list[Conflict], trial: Trial) -> list[Finding]:
    """Together if one repair settles all, otherwise apart by what would settle each."""
    helps = repairs(case, group, trial)
    if any(help_.verified for help_ in helps) or len(group) == 1:
        return [_finding(case, group, helps)]
    return [_finding(case, [conflict], repairs(case, [conflict], trial)) for conflict in group]


def repairs(case: Case, group: Sequence[Conflict], trial: Trial) -> tuple[Help, ...]:
    """What could settle the conflicts, what was tried and passed first, then by bytes."""
    tried: dict[tuple[Edit, ...], tuple[int, Help]] = {}
    for message, edits in _candidates(case, group):
        if edits in tried:
            continue
        help_, cost = trial(message, edits)
        tried[edits] = (cost, help_)
    ranked = sorted(
        tried.values(), key=lambda pair: (not pair[1].verified, pair[0] if pair[1].verified else 0)
    )
    passed = [help_ for _, help_ in ranked if help_.verified]
    return tuple(passed or [help_ for _, help_ in ranked][:2])


def _candidates(case: Case, group: Sequence[Conflict]) -> list[tuple[str, tuple[Edit, ...]]]:
    mesh = case.program.mesh
    found: list[tuple[str, tuple[Edit, ...]]] = []
    if len(group) == 1:
        conflict = group[0]
        name = _result_words(case, conflict)
        for side in (conflict.one, conflict.two):
            edit = annotated_form(conflict.value.span, sharded_text(mesh, side.dim, side.axes))
            found.append(
                (f"say which layout {name} shall have: dim {side.dim} over {axis_words(side.axes)}", (edit,))
            )
    sides = [[conflict.one for conflict in group], [conflict.two for conflict in group]]
    for side_of_each in sides:
        notes = {note.span: note for side in side_of_each for note in side.notes}
        rivals = [note for conflict in group for note in conflict.notes if note.span not in notes]
        later = max((note.priority for note in rivals), default=0) + 1
        edits = tuple(with_priority(note, later) for note in _ordered(notes.values()))
        if edits and rivals:
            found.append((_give_way(case, tuple(_ordered(notes.values()))), edits))
    return found


def _ordered(notes: Iterable[Annotation]) -> list[Annotation]:
    return sorted(notes, key=lambda note: note.span.start)


def _give_way(case: Case, notes: tuple[Annotation, ...]) -> str:
    names = list(dict.fromkeys(f"`{case.short(case.program.values[note.value])}`" for note in notes))
    if len(names) == 1:
        return f"let {names[0]} give way: it is stored so, and moves at use"
    return f"let {', '.join(names[:-1])} and {names[-1]} give way: they are stored so, and move at use"


def _result_words(case: Case, conflict: Conflict) -> str:
    return f"`{case.short(conflict.value)}`"


def _finding(case: Case, group: Sequence[Conflict], helps: tuple[Help, ...]) -> Finding:
    first = group[0]
    proof = case.proof("conflict", first.fact)
    labels = [
        Label(note.span, f"asks for {_asked(side)}") for side in (first.one, first.two) for note in side.notes
    ]
    return Finding(
        "K201",
        "error",
        message(case, first),
        first.value.span,
        "one axis can split one dim only"
        if first.one.dim != first.two.dim
        else "one list of axes for one dim",
        labels=tuple(dict.fromkeys(labels)),
        notes=_notes(case, group),
        helps=helps,
        proof=proof,
        rule=proof[0].rule if proof else "",
        more=("`kina explain K201`", _question(first)),
    )


def _question(conflict: Conflict) -> str:
    """The command that says why the tensor does not have what it is asked for."""
    target = f"{conflict.value.name}.{conflict.one.dim}@{conflict.one.axes[-1]}"
    return f"`{command(conflict.value.span.file, target, negated=True)}`"


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


def _asked(side: Side) -> str:
    return f"dim {side.dim} over {axis_words(side.axes)}"


def _notes(case: Case, group: Sequence[Conflict]) -> tuple[str, ...]:
    notes: list[str] = []
    if len(group) > 1:
        places = ", ".join(f"`{case.short(c.value)}` at {c.value.span}" for c in group[1:4])
        more = ", …" if len(group) > 4 else ""
        verb = "asks" if len(group) == 2 else "ask"
        notes.append(f"{plural(len(group) - 1, 'more place')} {verb} the same ({places}{more})")
    roots = {conflict.value.id for conflict in group}
    waiting = {case.value(fact[0]).id for fact in case.rows("contested_at")} - roots
    if waiting:
        notes.append(
            f"{plural(len(waiting), 'tensor')} {'waits' if len(waiting) == 1 else 'wait'} for the answer"
        )
    return tuple(notes)
