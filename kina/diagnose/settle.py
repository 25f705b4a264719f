"""`--on-conflict cost`: conflicts settled by the cheaper plan, and said so (K203)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kina.diagnose.case import axis_words
from kina.diagnose.conflicts import Conflict, Side, conflicts, message
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
    """Give each conflict the side with the cheaper plan, as an annotation of the lowest priority.

    The roots of the first level that has any come first; `again` solves a changed program.
    """
    findings: list[Finding] = []
    for _ in range(_ROUNDS):
        roots = _first_roots(solved)
        if not roots:
            break
        solved, finding = _settle_one(solved, roots, again)
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


def _settle_one(solved: Solved, roots: tuple[Conflict, ...], again: Solve) -> tuple[Solved, Finding]:
    conflict = roots[0]
    options = [(side, again(_annotated(solved, conflict, side))) for side in (conflict.one, conflict.two)]
    costs = [option.decisions().cost_bytes for _, option in options]
    best = 0 if costs[0] <= costs[1] else 1
    side, other = options[best][0], options[1 - best][0]
    return options[best][1], _warning(solved, conflict, side, other, costs[best], costs[1 - best])


def _annotated(solved: Solved, conflict: Conflict, side: Side) -> Program:
    """The program with the side's layout on the contested tensor, and on alike ones of repeated layers."""
    program = solved.program
    lowest = max(solved.facts.priorities) + 1
    alike = [
        solved.case.value(fact[0])
        for fact in solved.case.rows("conflict")
        if fact[1:] == conflict.fact[1:] and solved.case.value(fact[0]).span == conflict.value.span
    ]
    notes = tuple(Annotation(value.id, "sharded", value.span, side.dim, side.axes, lowest) for value in alike)
    return replace(program, annotations=(*program.annotations, *notes))


def _warning(solved: Solved, conflict: Conflict, side: Side, other: Side, cost: int, more: int) -> Finding:
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
        proof=solved.case.proof("conflict", conflict.fact),
        rule="conflict.requests-meet",
        more=("`kina explain K203`",),
    )
