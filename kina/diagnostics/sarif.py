"""Findings as a SARIF 2.1.0 log: proofs are code flows, labels related locations, pages rule help."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from kina import __version__
from kina.diagnostics.finding import Edit, Finding, Help, ProofStep
from kina.diagnostics.pages import page
from kina.source import Span

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def render_sarif(findings: Sequence[Finding]) -> str:
    """One log with one run that holds all findings, as a line of JSON."""
    codes = sorted({finding.code for finding in findings})
    driver = {
        "name": "kina",
        "version": __version__,
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, codes.index(finding.code)) for finding in findings],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _rule(code: str) -> dict[str, Any]:
    try:
        known = page(code)
    except KeyError:
        return {"id": code}
    return {
        "id": code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.prose or known.title},
        "help": {"text": known.text, "markdown": known.text},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    text = finding.message + (f": {finding.at}" if finding.at else "")
    notes = [f"note: {note}" for note in finding.notes]
    helps = [f"help: {help_.message}" for help_ in finding.helps]
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": finding.severity,
        "message": {"text": "\n".join([text, *notes, *helps])},
        "locations": [_location(finding.primary)] if finding.primary is not None else [],
    }
    if finding.labels:
        result["relatedLocations"] = [
            _location(label.span, label.message, number) for number, label in enumerate(finding.labels)
        ]
    if finding.proof:
        result["codeFlows"] = [{"threadFlows": [{"locations": _flow(finding)}]}]
    fixes = [_fix(help_) for help_ in finding.helps if help_.edits and help_.verified]
    if fixes:
        result["fixes"] = fixes
    if finding.rule:
        result["properties"] = {"rule": finding.rule}
    return result


def _flow(finding: Finding) -> list[dict[str, Any]]:
    """The proof from its leaves to its root: premises stand before what follows from them."""
    return [{"location": _step_location(step, finding.primary)} for step in reversed(finding.proof)]


def _step_location(step: ProofStep, home: Span | None) -> dict[str, Any]:
    says = f"{step.says} ({step.rule})" if step.rule else step.says
    if step.given_at is not None:
        return _location(step.given_at, says)
    place = re.fullmatch(r"(.+):(\d+)", step.rule_at)
    if place is not None:
        region = {"startLine": int(place[2])}
        where = {"artifactLocation": {"uri": _uri(place[1])}, "region": region}
        return {"physicalLocation": where, "message": {"text": says}}
    if home is not None:
        return _location(home, says)
    return {"message": {"text": says}}


def _location(span: Span, message: str = "", number: int | None = None) -> dict[str, Any]:
    out: dict[str, Any] = {} if number is None else {"id": number}
    out["physicalLocation"] = {"artifactLocation": {"uri": _uri(span.file)}, "region": _region(span)}
    if message:
        out["message"] = {"text": message}
    return out


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _fix(help_: Help) -> dict[str, Any]:
    files: dict[str, list[Edit]] = {}
    for edit in help_.edits:
        files.setdefault(edit.span.file, []).append(edit)
    changes = [
        {
            "artifactLocation": {"uri": _uri(name)},
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.replacement}}
                for edit in edits
            ],
        }
        for name, edits in files.items()
    ]
    return {"description": {"text": help_.message}, "artifactChanges": changes}


def _uri(name: str) -> str:
    """A file name as a URI reference; a colon in a relative name would be read as a scheme."""
    uri = quote(name.replace("\\", "/"), safe="/")
    return "file://" + uri if uri.startswith("/") else uri
