"""Findings as workflow commands, which GitHub shows beside the changed lines."""

from __future__ import annotations

from collections.abc import Sequence

from kina.diagnostics.finding import Finding

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render_github(findings: Sequence[Finding]) -> str:
    """One `::error …::message` line for each finding."""
    return "".join(_line(finding) + "\n" for finding in findings)


def _line(finding: Finding) -> str:
    fields = []
    span = finding.primary
    if span is not None:
        fields += [f"file={_property(span.file)}", f"line={span.line}", f"endLine={span.end_line}"]
        if span.line == span.end_line:
            fields += [f"col={span.column}", f"endColumn={span.end_column}"]
    fields.append(f"title={_property(f'kina {finding.code}')}")
    said = [finding.message]
    if finding.at:
        said[0] += f": {finding.at}"
    said += [f"{label.span}: {label.message}" for label in finding.labels if label.message]
    said += [f"help: {help_.message}" for help_ in finding.helps]
    return f"::{_COMMANDS[finding.severity]} {','.join(fields)}::{_data(chr(10).join(said))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
