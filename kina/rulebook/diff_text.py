"""A comparison of rules as text for a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kina.diagnostics.cells import printable
from kina.diagnostics.style import Style
from kina.report.tables import aligned
from kina.rulebook.as_json import render
from kina.rulebook.changes import RuleChange
from kina.rulebook.diff import Diff
from kina.rulebook.diff_ops import OpChange
from kina.rulebook.diff_program import Difference, ProgramChange

#: Differences of one kind that the text shows of a program; the rest are counted.
_SHOWN = 8


def diff_text(found: Diff, failed: Sequence[str], style: Style) -> str:
    """What differs, most general first: rules, ops, what the audit says, programs."""
    out = [style.paint(printable(f"{found.base} -> {found.head}"), "strong"), ""]
    if not found.rules:
        out.append("no rule differs")
    for change in found.rules:
        out += _rule(change, style)
    if found.rules or found.ops:
        out += ["", *_ops(found.ops, style), *_verdicts(found, style), "", *_programs(found, style)]
    out += ["", *(style.paint(f"fails: {each}", "error") for each in failed)] if failed else []
    return "\n".join(line.rstrip() for line in out).rstrip() + "\n"


def rule_line(change: RuleChange) -> str:
    """`removed  layout.slice-pass  rules/layout.dl:122`."""
    return f"{change.what}  {change.name}  {change.head_at or change.base_at}"


def clause_lines(change: RuleChange) -> Iterator[str]:
    """The lines of a clause that went, came and stayed, with `-`, `+` and a blank before them."""
    from difflib import ndiff

    old, new = change.base_text.splitlines(), change.head_text.splitlines()
    yield from (line for line in ndiff(old, new) if not line.startswith("?"))


def _rule(change: RuleChange, style: Style) -> Iterator[str]:
    yield printable(rule_line(change))
    if change.what == "changed":
        colours = {"-": "removed", "+": "added", " ": "dim"}
        for line in clause_lines(change):
            yield style.paint(f"    {printable(line)}", colours.get(line[:1], "dim"))


def _ops(changes: Sequence[OpChange], style: Style) -> Iterator[str]:
    if not changes:
        yield "no placement of any op differs"
        return
    for op in dict.fromkeys(change.op for change in changes):
        yield style.paint(f"{op}", "strong")
        for change in (each for each in changes if each.op == op):
            yield f"    {change.what}: {printable(op_words(change))}"
            yield style.paint(f"        {printable(_because(change))}", "dim")


def op_words(change: OpChange) -> str:
    """What was, what is, or both."""
    if change.before and change.after:
        return f"{change.before} -> {change.after}"
    return change.before or change.after


def _because(change: OpChange) -> str:
    forms = " -> ".join(filter(None, dict.fromkeys(change.forms)))
    return f"{forms}, by {rules_words(change.rules)}"


def rules_words(rules: Sequence[str]) -> str:
    """The rules that caused something; four at most."""
    shown = ", ".join(rules[:4])
    return f"{shown} and {len(rules) - 4} more" if len(rules) > 4 else shown or "no rule in particular"


def _verdicts(found: Diff, style: Style) -> Iterator[str]:
    if not found.audited:
        return
    yield ""
    yield f"audited: {', '.join(found.audited)}"
    for one in found.verdicts:
        when = "now" if one.new else "no longer"
        role = "error" if one.new and one.what == "incorrect" else "dim"
        lost = f", {one.bytes:,} bytes" if one.bytes else ""
        yield style.paint(f"    {when} {one.what}: {one.op}: {printable(one.why)}{lost}", role)
    if not found.verdicts:
        yield "    it says of them what it said before"


def _programs(found: Diff, style: Style) -> Iterator[str]:
    changed, same = found.programs.changed, found.programs.same
    if changed:
        rows = [(one.file, arrow(one.bytes), arrow(one.peak_bytes), arrow(one.errors)) for one in changed]
        yield from aligned(("program", "bytes moved", "peak memory", "errors"), rows, style)
        for one in changed:
            yield ""
            yield from _program(one, style)
        yield ""
    count = len(same)
    yield f"{count} program{'' if count == 1 else 's'} as before" if count else "no program is as before"
    for file, why in found.programs.left_out:
        yield printable(f"left out: {file}: {why}")


def arrow(pair: tuple[int, int]) -> str:
    """A number, or how it changed."""
    return f"{pair[0]:,}" if pair[0] == pair[1] else f"{pair[0]:,} -> {pair[1]:,}"


def _program(change: ProgramChange, style: Style) -> Iterator[str]:
    """The differences of a program; what made each, where it is not all that made any."""
    head = printable(f"{change.file}, by {rules_words(change.rules)}")
    yield style.paint(head, "strong")
    parts = (("layout", change.layouts), ("collective", change.collectives), ("finding", change.findings))
    for what, differences in parts:
        for each in differences[:_SHOWN]:
            by = "" if each.rules == change.rules else f", by {rules_words(each.rules)}"
            yield printable(f"    {what} {_difference(each)}{by}")
        if len(differences) > _SHOWN:
            yield f"    {len(differences) - _SHOWN} more differences of this kind"


def _difference(each: Difference) -> str:
    """`wo: f32[4@model] -> f32[4] ×12`."""
    times = f" ×{each.times}" if each.times > 1 else ""
    return f"{each.about}: {each.before or 'nothing'} -> {each.after or 'nothing'}{times}"


def diff_json(found: Diff, failed: Sequence[str]) -> str:
    """The object of a comparison on one line, as `rules_diff.schema.json` describes it."""
    return render(
        ok=not failed,
        base=found.base,
        head=found.head,
        rules=[_rule_json(change) for change in found.rules],
        ops=[_op_json(change) for change in found.ops],
        audit={
            "ops": list(found.audited),
            "verdicts": [
                {
                    "op": one.op,
                    "verdict": one.what,
                    "new": one.new,
                    "why": one.why,
                    "rules": list(one.rules),
                    "bytes": one.bytes,
                }
                for one in found.verdicts
            ],
        },
        programs=[_program_json(change) for change in found.programs.changed],
        same=list(found.programs.same),
        left_out=[{"file": file, "reason": why} for file, why in found.programs.left_out],
        failures=list(failed),
    )


def _rule_json(change: RuleChange) -> dict[str, Any]:
    return {
        "rule": change.name,
        "change": change.what,
        "relation": change.relation,
        "base_at": change.base_at or None,
        "head_at": change.head_at or None,
        "base_text": change.base_text,
        "head_text": change.head_text,
    }


def _op_json(change: OpChange) -> dict[str, Any]:
    return {
        "op": change.op,
        "change": change.what,
        "before": change.before or None,
        "after": change.after or None,
        "base_form": change.forms[0],
        "head_form": change.forms[1],
        "instances": list(change.instances),
        "rules": list(change.rules),
    }


def _program_json(change: ProgramChange) -> dict[str, Any]:
    def pair(numbers: tuple[int, int]) -> dict[str, int]:
        return {"before": numbers[0], "after": numbers[1]}

    def differences(of: Sequence[Difference], key: str) -> list[dict[str, Any]]:
        return [
            {
                key: each.about,
                "before": each.before or None,
                "after": each.after or None,
                "times": each.times,
                "rules": list(each.rules),
            }
            for each in of
        ]

    return {
        "file": change.file,
        "rules": list(change.rules),
        "bytes": pair(change.bytes),
        "peak_bytes": pair(change.peak_bytes),
        "errors": pair(change.errors),
        "layouts": differences(change.layouts, "tensor"),
        "collectives": differences(change.collectives, "tensor"),
        "findings": differences(change.findings, "code"),
    }
