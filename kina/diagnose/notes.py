"""Notes and other findings that need no search: uses that differ, stops, unmet demands, ops without rules."""

from __future__ import annotations

from collections.abc import Iterator

from kina.diagnose.case import Case, axis_words
from kina.diagnose.edits import with_axes
from kina.diagnose.repairs import Trial
from kina.diagnose.reshapes import gathered_to_reshape
from kina.diagnostics.finding import Finding, Help, Label


def notes(case: Case, trial: Trial) -> Iterator[Finding]:
    """All of them, in the order of the program within each kind; alike ones of repeated layers are one."""
    seen: set[tuple[object, ...]] = set()
    for finding in _all(case, trial):
        key = (finding.code, finding.primary, tuple(label.span for label in finding.labels))
        if key not in seen:
            seen.add(key)
            yield finding


def _all(case: Case, trial: Trial) -> Iterator[Finding]:
    yield from _unmet(case)
    yield from _unruled(case)
    yield from _uses_differ(case)
    yield from _stopped_by_annotation(case, trial)
    yield from _stopped_by_size(case)
    yield from gathered_to_reshape(case, trial)
    yield from _gathered_to_move(case)


def _unmet(case: Case) -> Iterator[Finding]:
    for fact in case.rows("demand_unmet"):
        user, name, axis, reduction = fact
        value = case.value(name)
        op = case.producers[case.value(user).id]
        note = next(n for n in case.program.annotations if n.value == value.id and n.kind == "pending")
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
    for fact in case.rows("unruled"):
        op = case.producers[case.value(fact[0]).id]
        yield Finding(
            "K902",
            "warning",
            f"no rule covers {case.op_words(op)}, so every device does all of its work",
            op.span,
            "replicated",
            proof=case.proof("unruled", fact),
            rule="sanity.unruled",
            more=("`kina explain K902`",),
        )


def _uses_differ(case: Case) -> Iterator[Finding]:
    for fact in case.rows("uses_differ"):
        name, dim, word, other, rival = fact
        if dim == other and str(word) > str(rival):
            continue
        value = case.value(name)
        one, two = axis_words(case.axis_list(word)), axis_words(case.axis_list(rival))
        if dim == other:
            asks = f"dim {dim} over {one} and over {two}"
        elif one == two:
            asks = f"{one} on dims {dim} and {other}"
        else:
            asks = f"{one} on dim {dim} and {two} on dim {other}"
        proofs = (case.proof("root_ask", (name, dim, word)), case.proof("root_ask", (name, other, rival)))
        labels = [Label(n.span, "one use comes from here") for p in proofs for n in case.origins(p)]
        yield Finding(
            "K202",
            "note",
            f"uses of `{case.short(value)}` ask for {asks}; it takes neither,"
            " and each use takes its own share",
            value.span,
            labels=tuple(dict.fromkeys(labels)),
            proof=case.proof("uses_differ", fact),
            rule="conflict.uses-differ",
            more=("`kina explain K202`",),
        )


def _stopped_by_annotation(case: Case, trial: Trial) -> Iterator[Finding]:
    seen: set[tuple[object, ...]] = set()
    for fact in case.rows("stopped_by_annotation"):
        name, dim, word, carrying, origin, _ = fact
        value = case.value(name)
        if (value.span, dim, carrying) in seen:
            continue
        seen.add((value.span, dim, carrying))
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
    for fact in case.rows("stopped_by_size"):
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
    for fact in case.rows("gathered_to_move"):
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
