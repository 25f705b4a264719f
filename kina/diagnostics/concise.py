"""Findings as one line each, for editors and grep."""

from __future__ import annotations

from collections.abc import Sequence

from kina.diagnostics.cells import printable
from kina.diagnostics.finding import Finding


def render_concise(findings: Sequence[Finding]) -> str:
    """`file:line:column: severity[code] message (rule)`, one line for each finding."""
    return "".join(_line(finding) + "\n" for finding in findings)


def _line(finding: Finding) -> str:
    place = f"{finding.primary}: " if finding.primary is not None else ""
    rule = f" ({finding.rule})" if finding.rule else ""
    return printable(f"{place}{finding.severity}[{finding.code}] {finding.message}{rule}")
