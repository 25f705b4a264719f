"""Notes and other findings that need no search: uses that differ, stops, unmet demands, ops without rules."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from kina.diagnose.case import Case, Fact, axis_words, distinct, subproof
from kina.diagnose.conflicts import LAYER
from kina.diagnose.edits import with_axes
from kina.diagnose.repairs import Trial
from kina.diagnose.reshapes import gathered_to_reshape
from kina.diagnostics.finding import Finding, Help, Label
from kina.frontend.ir import Op
from kina.source import Span


def notes(case: Case, trial: Trial) -> Iterator[Finding]:
    """All of them, in the order of the program within each kind; alike ones of repeated layers are one."""
    yield from _unmet(case)
    yield from _unruled(case)
    yield from _uses_differ(case)
    yield from _stopped_by_annotation(case, trial)
    yield from _stopped_by_size(case)
    yield from gathered_to_reshape(case, trial)
    yield from _gathered_to_move(case)


def _unmet(case: Case) -> Iterator[Finding]:
    demands = {note.value: note for note in case.program.annotations if note.kind == "pending"}

    def told(fact: Fact) -> object:
        return case.value(fact[0]).span, demands[case.value(fact[1]).id].span

    for fact in distinct(case.rows("demand_unmet"), told):
        user, name, axis, reduction = fact
        value = case.value(name)
        op, note = case.producers[case.value(user).id], demands[value.id]
        yield Finding(
            "K320",
            "error",
            f"{case.op_words(op)} needs the value of `{case.short(value)}`, which is to stay a pending"
            f" {reduction} over `{case.axes[str(axis)]}`",
            op.span,
            f"not linear for a pending {reduction}",
            labels=(Label(note.span, "demanded here"),),
            proof=case.proof("demand_unmet", fact),
            rule="pending.nonlinear-use",
            more=("`kina explain K320`",),
        )


def _unruled(case: Case) -> Iterator[Finding]:
    for fact in distinct(case.rows("unruled"), lambda fact: case.value(fact[0]).span):
        op = case.producers[case.value(fact[0]).id]
        yield Finding(
            "K902",
            "warning",
            f"no rule covers {case.op_words(op)}, so every device does all of its work",
            op.span,
            "replicated",
            helps=tuple(_rules_of(case, op)),
            proof=case.proof("unruled", fact),
            rule="sanity.unruled",
            more=("`kina explain K902`",),
        )


def _rules_of(case: Case, op: Op) -> Iterator[Help]:
    """The rule file beside the declaration of an op, if there is one that was not added."""
    if case.program.declared is None or op.kind not in case.program.declared.visible.ops:
        return
    file = Path(case.program.declared.visible.ops[op.kind].form.span.file).with_suffix(".dl")
    if file.is_file() and os.path.realpath(file) not in {each.real for each in case.program.rules}:
        yield Help(f"`{file}` lies beside its declaration: pass `--rules {shlex.quote(str(file))}`")


def _uses_differ(case: Case) -> Iterator[Finding]:
    def asked(fact: Fact) -> object:
        value = case.value(fact[0])
        return value.span, LAYER.sub("[]", value.name), fact[1:]

    facts = (fact for fact in case.rows("uses_differ") if fact[1] != fact[3] or str(fact[2]) <= str(fact[4]))
    told = {fact: tuple(_origins(case, fact)) for fact in distinct(facts, asked)}
    for fact in distinct(told, lambda fact: (case.value(fact[0]).span, told[fact])):
        name, dim, word, other, rival = fact
        value = case.value(name)
        one, two = axis_words(case.axis_list(word)), axis_words(case.axis_list(rival))
        if dim == other:
            asks = f"dim {dim} over {one} and over {two}"
        elif one == two:
            asks = f"{one} on dims {dim} and {other}"
        else:
            asks = f"{one} on dim {dim} and {two} on dim {other}"
        yield Finding(
            "K202",
            "note",
            f"uses of `{case.short(value)}` ask for {asks}; it takes neither,"
            " and each use takes its own share",
            value.span,
            labels=tuple(Label(span, "one use comes from here") for span in told[fact]),
            proof=case.proof("uses_differ", fact),
            rule="conflict.uses-differ",
            more=("`kina explain K202`",),
        )


def _origins(case: Case, fact: Fact) -> Iterable[Span]:
    """Where the user wrote what the two uses ask for."""
    name, dim, word, other, rival = fact
    steps = case.sketch("uses_differ", fact)
    roots = {step.columns: step.id for step in steps if step.relation == "root_ask"}
    sides = (subproof(steps, roots[name, *ask]) for ask in ((dim, word), (other, rival)))
    return dict.fromkeys(note.span for side in sides for note in case.origins(side))


def _stopped_by_annotation(case: Case, trial: Trial) -> Iterator[Finding]:
    def told(fact: Fact) -> object:
        return case.value(fact[0]).span, fact[1], fact[3]

    for fact in distinct(case.rows("stopped_by_annotation"), told):
        name, dim, word, carrying, origin, _ = fact
        value = case.value(name)
        axes, both = case.axis_list(word), case.axis_list(carrying)
        note = next(
            n
            for n in case.program.annotations
            if n.value == value.id and n.kind == "sharded" and n.dim == int(dim)
        )
        own = axis_words(both[len(axes) :])
        edits = (with_axes(note, both, case.program.mesh),)
        found = trial(edits)
        message = f"let both split it; {found.plan}" if found.passed else "let both split it"
        help_ = Help(message, edits if found.passed else (), verified=found.passed)
        yield Finding(
            "K310",
            "note",
            f"{axis_words(axes)} stops at `{case.short(value)}` dim {dim}, where {own} stands with"
            f" priority {note.priority}",
            note.span,
            f"would follow `{case.short(case.value(origin))}`",
            helps=(help_,),
            proof=case.proof("stopped_by_annotation", fact),
            rule="stops.later-annotation",
            more=("`kina explain K310`",),
        )


def _stopped_by_size(case: Case) -> Iterator[Finding]:
    for fact in distinct(case.rows("stopped_by_size"), lambda fact: case.value(fact[0]).span):
        name, dim, word, size, origin, place = fact
        value = case.value(name)
        axes = case.axis_list(word)
        parts = case.program.mesh.size(axes[0])
        yield Finding(
            "K311",
            "note",
            f"{axis_words(axes)} = {parts} stops at `{case.short(value)}` dim {dim}, where it would have"
            f" {size} elements to split",
            value.span,
            f"dim {place} of `{case.short(case.value(origin))}` is split over {axis_words(axes)}",
            proof=case.proof("stopped_by_size", fact),
            rule="stops.size-forward",
            more=("`kina explain K311`",),
        )


def _gathered_to_move(case: Case) -> Iterator[Finding]:
    for fact in distinct(case.rows("gathered_to_move"), lambda fact: case.value(fact[0]).span):
        user, name, axis = fact
        value = case.value(name)
        yield Finding(
            "K330",
            "warning",
            f"`{case.short(value)}` is gathered over `{case.axes[str(axis)]}` and split again,"
            " because its axes wait for each other",
            case.value(user).span,
            f"{value.type.bytes:,} bytes",
            proof=case.proof("gathered_to_move", fact),
            rule="remarks.gather-to-move",
            more=("`kina explain K330`",),
        )
