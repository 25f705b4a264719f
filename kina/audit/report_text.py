"""The audit as a table: what was tried of each op, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from kina.audit.outcome import OpReport
from kina.diagnostics.style import Style
from kina.report.tables import aligned

_HEADS = ("op", "instances", "placements", "hypotheses", "programs", "incorrect", "missing")


def audit_text(reports: Sequence[OpReport], unfired: Sequence[str], seed: int, style: Style) -> str:
    """A line for each op, known reasons of missing placements, rules that said nothing, and the sums."""
    rows = [
        (
            report.op,
            f"{report.instances:,}",
            f"{report.placements:,}",
            f"{report.hypotheses:,}",
            f"{report.programs:,}",
            str(report.wrong),
            _missing(report),
        )
        for report in reports
    ]
    lines = [*aligned(_HEADS, rows, style), *_known(reports), *_unfired(unfired), "", _sums(reports, seed)]
    return "".join(f"{line}\n" for line in lines)


def _missing(report: OpReport) -> str:
    known = len(report.missing) - len(report.unexplained)
    return f"{len(report.unexplained)}" + (f" (and {known} known)" if known else "")


def _known(reports: Sequence[OpReport]) -> list[str]:
    """For each reason the ops of which it keeps placements missing."""
    ops: dict[str, dict[str, None]] = {}
    for report in reports:
        for each in report.missing:
            if each.reason:
                ops.setdefault(each.reason, {})[report.op] = None
    if not ops:
        return []
    return ["", "known to be missing:", *(f"  {', '.join(found)}: {reason}" for reason, found in ops.items())]


def _unfired(rules: Sequence[str]) -> list[str]:
    return ["", f"rules that said nothing of any op: {', '.join(rules)}"] if rules else []


def _sums(reports: Sequence[OpReport], seed: int) -> str:
    placements = sum(report.placements for report in reports)
    wrong = sum(report.wrong for report in reports)
    missing = sum(len(report.unexplained) for report in reports)
    ops = "1 op" if len(reports) == 1 else f"{len(reports)} ops"
    return f"{ops}, {placements:,} placements: {wrong} incorrect, {missing} missing (seed {seed})"
