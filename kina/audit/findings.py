"""What an audit found out, as findings at the rules that are to blame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kina.audit.outcome import Example, FalseClaim, Incorrect, Lacking, Misplan, OpReport, PortValue
from kina.datalog.syntax import Clause
from kina.diagnostics.finding import Finding, Help, Label
from kina.frontend.ops import OPS
from kina.rulebook.base import RuleBase, clauses, rule_name
from kina.rulebook.lint_ops import claim_span
from kina.source import Span

#: Types of attributes that can follow a dim.
_COUNTING = ("number", "numbers", "position")


def findings(reports: Sequence[OpReport], base: RuleBase) -> tuple[Finding, ...]:
    """An error for each wrong placement, plan and claim; a warning for what lacks without a known reason."""
    places = {rule_name(clause): clause for file in base.files for clause in clauses(file)}
    found: list[Finding] = []
    for report in reports:
        helps = _follow_help(report.op, base)
        found += [_incorrect(report.op, each, places, helps) for each in report.incorrect]
        found += [_misplanned(report.op, each) for each in report.misplanned]
        found += [_claim(report.op, each, base) for each in report.claims]
        found += [_missing(report.op, each) for each in report.unexplained]
    return tuple(found)


def _follow_help(op: str, base: RuleBase) -> tuple[Help, ...]:
    """What to look at besides, if a declared op has attributes that count elements or places."""
    if op in OPS or op not in base.table:
        return ()
    counting = [f"`{each.name}`" for each in base.table[op].attributes if each.type in _COUNTING]
    if not counting:
        return ()
    names = " or ".join(counting)
    text = f"if {names} counts elements or places of a dim, `attribute_follows` has to say of which"
    return (Help(text),)


def _incorrect(op: str, each: Incorrect, places: dict[str, Clause], helps: tuple[Help, ...]) -> Finding:
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
        helps=helps,
        rule=each.rules[0] if each.rules else "",
        more=("kina explain K820",),
    )


def _place(places: dict[str, Clause], rule: str) -> Span | None:
    return places[rule].head.span if rule in places else None


def _misplanned(op: str, each: Misplan) -> Finding:
    return Finding(
        "K823",
        "error",
        f"a program of `{op}` is not planned as its rules say: {each.why}",
        None,
        notes=each.lines,
        more=("kina explain K823",),
    )


def _claim(op: str, each: FalseClaim, base: RuleBase) -> Finding:
    return Finding(
        "K822",
        "error",
        f"`{each.attribute}` of `{op}` {_ROLES.get(each.role, each.role)}, and that is not so: {each.why}",
        claim_span(base.rulebook, op, each.attribute),
        more=("kina explain K822",),
    )


#: A role as part of a sentence.
_ROLES = {"guards": "is said to guard rules", "localised": "is said to be localised"}


def _missing(op: str, each: Lacking) -> Finding:
    return Finding(
        "K821",
        "warning",
        f"no rule allows a placement of `{op}` that is right: {each.where}",
        None,
        notes=(
            f"for example {_types(op, each.example)}",
            f"without it each device moves {each.bytes:,} bytes more there",
            "it stood all draws that were tried, which is no proof",
        ),
        helps=(
            Help("write a rule that allows it if there is a reason why it is right; rules stand without it"),
        ),
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
