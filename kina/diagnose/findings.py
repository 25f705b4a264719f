"""From a solved program to its findings, with repairs that were tried."""

from __future__ import annotations

from collections.abc import Callable

from kina.diagnose.edits import apply_edits, overlap
from kina.diagnose.needless import needless
from kina.diagnose.notes import notes
from kina.diagnose.repairs import Tried, conflict_findings, plan_words
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

    def trial(edits: tuple[Edit, ...]) -> Tried:
        return try_edits(edits, attempt)

    found = (*conflict_findings(solved.case, trial), *notes(solved.case, trial))
    if solved.has_conflict:
        return found
    declared = solved.program.declared
    if declared is not None and declared.visible.ops:
        from kina.diagnose.rule_faults import unsettled_attributes
        from kina.mlir.local_op import misfits

        found = (*found, *unsettled_attributes(solved.case), *misfits(solved.program, decisions))
    needless_ones = needless(solved.case, decisions, lambda source: attempt(source).decisions())
    return (*found, *warnings(solved.case, decisions), *needless_ones)


def try_edits(edits: tuple[Edit, ...], attempt: Attempt) -> Tried:
    """What a check comes to with the edits, which lie in one file."""
    sources = {edit.span.source for edit in edits}
    if len(sources) != 1 or overlap(edits):
        return Tried(False)
    try:
        repaired = attempt(apply_edits(sources.pop(), edits))
    except ProgramError:
        return Tried(False)
    if repaired.has_conflict:
        return Tried(False, frozenset(repaired.solution.relations["conflict"]))
    decisions = repaired.decisions()
    gathered = frozenset(row[:2] for row in repaired.solution.relations["gathered_to_reshape"])
    plan = plan_words(repaired.case, decisions)
    return Tried(True, frozenset(), plan, decisions.cost_bytes, gathered, repaired.program)


def tried_help(help_: Help, attempt: Attempt) -> Help:
    """A help with the edits that it proposes, if the check passes with them; else as it is."""
    if not help_.proposed or not try_edits(help_.proposed, attempt).passed:
        return help_
    return Help(help_.message, help_.proposed, verified=True)
