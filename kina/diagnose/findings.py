"""From a solved program to its findings, with repairs that were tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kina.diagnose.case import plural
from kina.diagnose.conflicts import conflict_findings
from kina.diagnose.edits import apply_edits
from kina.diagnose.needless import needless
from kina.diagnose.notes import notes
from kina.diagnose.solved import Solved
from kina.diagnose.warnings import warnings
from kina.diagnostics.finding import Edit, Finding, Help, ProgramError
from kina.plan.decisions import Decisions
from kina.source import Source

Attempt = Callable[[Source], Solved]


def findings(solved: Solved, decisions: Decisions, attempt: Attempt) -> tuple[Finding, ...]:
    """The findings of a solved program; `attempt` solves a changed source, to see whether a repair works.

    What a plan costs is said only of one that stands: a conflict is to be settled first.
    """

    def trial(message: str, edits: tuple[Edit, ...]) -> tuple[Help, int]:
        return try_edits(message, edits, attempt)

    found = (*conflict_findings(solved.case, trial), *notes(solved.case, trial))
    if solved.has_conflict:
        return found
    declared = solved.program.declared
    if declared is not None and declared.visible.ops:
        from kina.mlir.local_op import misfits

        found = (*found, *misfits(solved.program, decisions))
    needless_ones = needless(solved.case, decisions, lambda source: attempt(source).decisions())
    return (*found, *warnings(solved.case, decisions), *needless_ones)


def try_edits(message: str, edits: tuple[Edit, ...], attempt: Attempt) -> tuple[Help, int]:
    """The help, verified if the check passes with the edits, and the bytes that the plan then moves."""
    sources = {edit.span.source for edit in edits}
    if len(sources) != 1:
        return Help(message, edits), 0
    try:
        repaired = attempt(apply_edits(sources.pop(), edits))
    except ProgramError:
        return Help(message, edits), 0
    if repaired.has_conflict:
        return Help(message, edits), 0
    decisions = repaired.decisions()
    return Help(f"{message}; {plan_words(decisions)}", edits, verified=True), decisions.cost_bytes


def plan_words(decisions: Decisions) -> str:
    """What a plan moves, in words: `the plan then has 2 all_gather + 2 reduce_scatter, 393,216 bytes`."""
    counts = Counter(collective.kind for collective in decisions.collectives)
    if not counts:
        return "the plan then has no collective"
    kinds = " + ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"the plan then has {kinds}, {plural(decisions.cost_bytes, 'byte')}"
