"""What an audit found out, as findings at the rules that are to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kina.audit.outcome import Example, Incorrect, Lacking, OpReport, PortValue
from kina.datalog.syntax import Clause
from kina.diagnostics.finding import Finding, Help, Label
from kina.rulebook.base import RuleBase, clauses, rule_name
from kina.source import Span


def findings(reports: Sequence[OpReport], base: RuleBase) -> tuple[Finding, ...]:
    """An error for each wrong placement, a warning for each missing one whose reason is not known."""
    places = {rule_name(clause): clause for file in base.files for clause in clauses(file)}
    found: list[Finding] = []
    for report in reports:
        found += [_incorrect(report.op, each, places) for each in report.incorrect]
        found += [_missing(report.op, each) for each in report.unexplained]
    return tuple(found)


def _incorrect(op: str, each: Incorrect, places: dict[str, Clause]) -> Finding:
    spans = [span for rule in each.rules if (span := _place(places, rule)) is not None]
    names = " and ".join(f"`{rule}`" for rule in each.rules) or "no rule"
    verb = "allows" if len(each.rules) == 1 else "allow"
    return Finding(
        "K820",
        "error",
        f"{names} {verb} a placement of `{op}` that is wrong",
        spans[0] if spans else None,
        labels=tuple(Label(span, "and this") for span in spans[1:]),
        notes=(each.why, *(_example(op, each.example) if each.example else ())),
        rule=each.rules[0] if each.rules else "",
        more=("kina explain K820",),
    )


def _place(places: dict[str, Clause], rule: str) -> Span | None:
    return places[rule].head.span if rule in places else None


def _missing(op: str, each: Lacking) -> Finding:
    return Finding(
        "K821",
        "warning",
        f"no rule allows a placement of `{op}` that is right: {each.where}",
        None,
        notes=(
            f"for example {_types(op, each.example)}",
            f"without it each device moves {each.bytes:,} bytes more there",
        ),
        helps=(Help("write a rule, or give the reason in the list of known missing placements"),),
        more=("kina explain K821",),
    )


def _types(op: str, example: Example) -> str:
    """The op with its types on one line."""
    operands, results = (
        ", ".join(value.type for value in side) for side in (example.operands, example.results)
    )
    given = ", ".join(f"{name}={value}" for name, value in example.attributes)
    mesh = ", ".join(f"{axis}={size}" for axis, size in example.mesh)
    return f"`{op}` of {operands} to {results}" + (f" with {given}" if given else "") + f", on {mesh}"


def _example(op: str, example: Example) -> Iterator[str]:
    mesh = ", ".join(f"{axis}={size}" for axis, size in example.mesh)
    given = ", ".join(f"{name}={value}" for name, value in example.attributes)
    yield f"on the mesh {mesh}, `{op}`" + (f" with {given}" if given else "")
    for value in (*example.operands, *example.results):
        yield f"{value.name}: {_value(value)}"


def _value(value: PortValue) -> str:
    held = [f"device {device} has {text}" for device, text in enumerate(value.devices)]
    whole = [f"together {value.whole}"] if value.whole else []
    one = [f"one device gives {value.expected}"] if value.expected else []
    return ", ".join([value.type, *held, *whole, *one])
