"""`--on-conflict cost`: conflicts settled by the cheaper plan, and said so (K203)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kina.diagnose.case import axis_words
from kina.diagnose.conflicts import Conflict, Side, causes, conflicts, message, places_note
from kina.diagnose.solved import Solved
from kina.diagnostics.finding import Finding, Label
from kina.facts.entry import level_names
from kina.facts.names import encode
from kina.frontend.ir import Annotation, Program

Solve = Callable[[Program], Solved]

#: Rounds after which settling stops: each settles at least one root, and what is left stays an error.
_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class Settled:
    """The program with the annotations that settle its conflicts, solved, and a warning for each."""

    solved: Solved
    findings: tuple[Finding, ...]


def settle(solved: Solved, again: Solve) -> Settled:
    """Give the conflicts of each cause the side with the cheaper plan, as annotations of the lowest priority.

    The roots of the first level that has any come first; `again` solves a changed program.
    """
    findings: list[Finding] = []
    for _ in range(_ROUNDS):
        roots = _first_roots(solved)
        if not roots:
            break
        solved, finding = _settle_cause(solved, _alike(solved, roots), again)
        findings.append(finding)
    return Settled(solved, tuple(findings))


def _first_roots(solved: Solved) -> tuple[Conflict, ...]:
    """The conflicts of the first level that has contested ones, those that are alike to the first of them."""
    found = conflicts(solved.case)
    if not found:
        return ()
    names = {encode(conflict.value.name) for conflict in found}
    for level in level_names(solved.facts.priorities, solved.facts.derived):
        contested = {str(fact[0]) for fact in solved.solution.relations[f"{level}.contested"]} & names
        if contested:
            return tuple(conflict for conflict in found if encode(conflict.value.name) in contested)
    return found


def _alike(solved: Solved, roots: tuple[Conflict, ...]) -> list[Conflict]:
    """The first conflict, and those of its cause that ask the same: settled apart, they could part ways."""
    cause = next(group for group in causes(solved.case, roots) if roots[0] in group)
    return [
        roots[0],
        *(each for each in cause if each is not roots[0] and each.fact[1:] == roots[0].fact[1:]),
    ]


def _settle_cause(solved: Solved, alike: Sequence[Conflict], again: Solve) -> tuple[Solved, Finding]:
    sides = (alike[0].one, alike[0].two)
    options = [(side, again(_annotated(solved, alike, side))) for side in sides]
    costs = [option.decisions().cost_bytes for _, option in options]
    best = 0 if costs[0] <= costs[1] else 1
    side, other = options[best][0], options[1 - best][0]
    return options[best][1], _warning(solved, alike, side, other, costs[best], costs[1 - best])


def _annotated(solved: Solved, alike: Sequence[Conflict], side: Side) -> Program:
    """The program with the side's layout on the contested tensors, and on those of repeated layers."""
    program = solved.program
    lowest = max(solved.facts.priorities) + 1
    places = {conflict.value.span for conflict in alike}
    contested = [
        solved.case.value(fact[0])
        for fact in solved.case.rows("conflict")
        if fact[1:] == alike[0].fact[1:] and solved.case.value(fact[0]).span in places
    ]
    notes = tuple(
        Annotation(value.id, "sharded", value.span, side.dim, side.axes, lowest, settled=True)
        for value in contested
    )
    return replace(program, annotations=(*program.annotations, *notes))


def _warning(
    solved: Solved, alike: Sequence[Conflict], side: Side, other: Side, cost: int, more: int
) -> Finding:
    conflict = alike[0]
    labels = tuple(
        Label(note.span, f"asks for dim {each.dim} over {axis_words(each.axes)}")
        for each in (conflict.one, conflict.two)
        for note in each.notes
    )
    return Finding(
        "K203",
        "warning",
        f"{message(solved.case, conflict)}; settled by cost: dim {side.dim} over {axis_words(side.axes)}"
        f" moves {cost:,} bytes in all, dim {other.dim} over {axis_words(other.axes)} {more:,}",
        conflict.value.span,
        "settled here",
        labels=tuple(dict.fromkeys(labels)),
        notes=places_note(solved.case, alike, "is settled alike", "are settled alike"),
        proof=solved.case.proof("conflict", conflict.fact),
        rule="conflict.requests-meet",
        more=("`kina explain K203`",),
    )
