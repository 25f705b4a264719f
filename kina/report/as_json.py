"""The result of a check as one JSON object; keys are only ever added."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kina.diagnostics.text import help_numbers

if TYPE_CHECKING:
    from kina.diagnostics.finding import Finding, Help, ProofStep
    from kina.frontend.ir import Program
    from kina.pipeline import Result
    from kina.plan.decisions import Collective, Decisions
    from kina.source import Span

VERSION = 1


def render_json(result: Result, timings: bool = False) -> str:
    """The object of `result` on one line, as `kina/report/schema/check.schema.json` describes it."""
    return json.dumps(report(result, timings)) + "\n"


def report(result: Result, timings: bool = False) -> dict[str, Any]:
    """The result as plain data. A check that stopped early has no tensors, collectives or solver."""
    program, decisions = result.program, result.decisions
    solver = {"name": "", "version": ""}
    if decisions is not None:
        solver = {"name": decisions.solver_name, "version": decisions.solver_version}
    out: dict[str, Any] = {
        "version": VERSION,
        "ok": result.ok,
        "file": result.file,
        "entry": program.entry if program else "",
        "mesh": [{"axis": axis.name, "size": axis.size} for axis in program.mesh.axes] if program else [],
        "tensors": _tensors(program, decisions) if program and decisions else [],
        "collectives": [_collective(program, one) for one in decisions.collectives]
        if program and decisions
        else [],
        "findings": findings_json(result.findings),
        "cost_bytes": decisions.cost_bytes if decisions else 0,
        "peak_bytes": decisions.peak_bytes if decisions else 0,
        "solver": solver,
    }
    if timings:
        out["timings_ms"] = {name: round(spent, 3) for name, spent in result.timings}
    return out


def findings_json(findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """Findings as they stand in every JSON report."""
    numbers = help_numbers(findings)
    return [_finding(finding, index, numbers) for index, finding in enumerate(findings)]


def _tensors(program: Program, decisions: Decisions) -> list[dict[str, Any]]:
    annotated = {annotation.value for annotation in program.annotations if not annotation.settled}
    return [
        {
            "name": value.name,
            "file": value.span.file,
            "line": value.span.line,
            "dtype": value.type.dtype,
            "shape": list(value.type.shape),
            "layout": [list(axes) for axes in decisions.layouts[value.id]],
            "pending": [{"axis": axis, "kind": kind} for axis, kind in decisions.pending.get(value.id, ())],
            "annotated": value.id in annotated,
        }
        for value in program.values
    ]


def _collective(program: Program, collective: Collective) -> dict[str, Any]:
    return {
        "kind": collective.kind,
        "axes": list(collective.axes),
        "tensor": program.values[collective.value].name,
        "op": collective.op,
        "file": collective.span.file,
        "line": collective.span.line,
        "bytes": collective.bytes,
        "reason": collective.reason,
    }


def _finding(finding: Finding, index: int, numbers: dict[tuple[int, int], int]) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "primary": span_json(finding.primary) if finding.primary is not None else None,
        "at": finding.at,
        "labels": [{"message": label.message, **span_json(label.span)} for label in finding.labels],
        "notes": list(finding.notes),
        "helps": [_help(help_, numbers[index, i]) for i, help_ in enumerate(finding.helps)],
        "proof": proof_json(finding.proof),
        "rule": finding.rule,
    }


def _help(help_: Help, number: int) -> dict[str, Any]:
    edits = [{**span_json(edit.span), "replacement": edit.replacement} for edit in help_.edits]
    return {"number": number, "message": help_.message, "edits": edits, "verified": help_.verified}


def proof_json(proof: Sequence[ProofStep]) -> list[dict[str, Any]]:
    """A proof as a flat list of steps, so that shared ones stand once."""
    return [_step(step) for step in proof]


def _step(step: ProofStep) -> dict[str, Any]:
    return {
        "id": step.id,
        "relation": step.relation,
        "tuple": list(step.columns),
        "says": step.says,
        "rule": step.rule,
        "rule_at": step.rule_at,
        "given_at": span_json(step.given_at) if step.given_at is not None else None,
        "premises": list(step.premises),
    }


def span_json(span: Span) -> dict[str, Any]:
    """A place in a file, from its first character to that after its last."""
    return {
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }
