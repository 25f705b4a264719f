"""Findings as text for people: title, source with carets, then proof, note, help, more."""

from __future__ import annotations

from collections.abc import Sequence

from kina.diagnostics.cells import printable, wrap
from kina.diagnostics.diff import diff_lines
from kina.diagnostics.finding import Finding, Help
from kina.diagnostics.proof_tree import proof_lines
from kina.diagnostics.snippet import Note, last_line, snippet
from kina.diagnostics.style import Style


def render_text(findings: Sequence[Finding], style: Style) -> str:
    """All findings, a blank line after each; helps with edits are numbered through."""
    out: list[str] = []
    number = 0
    for finding in findings:
        lines, number = _finding(finding, number, style)
        out.extend(lines)
        out.append("")
    return "\n".join(out) + "\n" if out else ""


def titles_and_bodies(findings: Sequence[Finding], style: Style) -> list[tuple[str, str]]:
    """For each finding its title as one line, and what `render_text` prints below it."""
    out: list[tuple[str, str]] = []
    number = 0
    for finding in findings:
        lines, number = _finding(finding, number, style)
        title = f"{finding.severity}[{finding.code}]: {printable(finding.message)}"
        out.append((title, "\n".join(lines[len(_title(finding, style)) :])))
    return out


def summary(findings: Sequence[Finding]) -> str:
    """One line that counts the findings and says where to read on; empty without findings."""
    if not findings:
        return ""
    parts = []
    for severity in ("error", "warning", "note"):
        count = sum(1 for finding in findings if finding.severity == severity)
        if count:
            parts.append(f"{count} {severity}{'s' if count > 1 else ''}")
    worst = [finding for finding in findings if finding.severity == "error"]
    tail = f"; `kina explain {worst[0].code}` says more" if worst else ""
    return ", ".join(parts) + tail + "\n"


def help_numbers(findings: Sequence[Finding]) -> dict[tuple[int, int], int]:
    """The number of each help with edits, by the positions of its finding and of it; 0 for one without."""
    numbers: dict[tuple[int, int], int] = {}
    count = 0
    for index, finding in enumerate(findings):
        for position, help_ in enumerate(finding.helps):
            count += bool(help_.edits)
            numbers[index, position] = count if help_.edits else 0
    return numbers


def _finding(finding: Finding, number: int, style: Style) -> tuple[list[str], int]:
    out = _title(finding, style)
    digits = 1
    if finding.primary is not None:
        digits, lines = sources(finding, style)
        out += lines
    for heading, lines in _parts(finding, digits, style):
        out += section(heading, lines, digits, style)
    for help_ in finding.helps:
        number += bool(help_.edits)
        out += _help(help_, number, finding, digits, style)
    if finding.more:
        more = ", ".join(f"`{printable(command.strip('`'))}`" for command in finding.more)
        out += section("more", [more], digits, style)
    if finding.primary is not None and out[-1].strip() == "|":
        out.pop()
    return [line.rstrip() for line in out], number


def _title(finding: Finding, style: Style) -> list[str]:
    head = f"{finding.severity}[{finding.code}]"
    first, *rest = wrap(f"{head}: {printable(finding.message)}", style.width)
    if first.startswith(head):
        first = style.paint(head, finding.severity) + style.paint(first[len(head) :], "strong")
    return [first, *(style.paint("  " + line, "strong") for line in rest)]


def sources(finding: Finding, style: Style) -> tuple[int, list[str]]:
    """The digits of the line numbers, and the source around a finding with carets and labels."""
    assert finding.primary is not None
    notes = [Note(finding.primary, finding.at, finding.severity)]
    notes += [Note(label.span, label.message, "label") for label in finding.labels]
    by_file = {note.span.source: None for note in notes}
    digits = len(str(max(last_line(note.span) for note in notes)))
    out: list[str] = []
    for index, source in enumerate(by_file):
        here = [note for note in notes if note.span.source is source or note.span.source == source]
        place = here[0].span
        arrow = "-->" if index == 0 else ":::"
        out.append(" " * digits + f"{arrow} {printable(source.name)}:{place.line}:{place.column}")
        out += snippet(source, here, digits, style)
    return digits, out


def _parts(finding: Finding, digits: int, style: Style) -> list[tuple[str, list[str]]]:
    parts = []
    if finding.proof:
        parts.append(("proof", proof_lines(finding.proof, style.width - digits - 3, style)))
    parts += [("note", [printable(note)]) for note in finding.notes]
    return parts


def section(heading: str, lines: Sequence[str], digits: int, style: Style) -> list[str]:
    """`= heading: …`, its first line wrapped, the others as they are."""
    indent = " " * (digits + 3)
    first, *rest = wrap(f"{heading}: {lines[0]}", style.width - digits - 3)
    mark = style.paint(first[: len(heading)], "strong") + first[len(heading) :]
    out = [" " * (digits + 1) + "= " + mark]
    out += [indent + line for line in rest]
    return out + [indent + line for line in lines[1:]]


def _help(help_: Help, number: int, finding: Finding, digits: int, style: Style) -> list[str]:
    heading = f"help {number}" if help_.edits else "help"
    if help_.verified:
        heading += " (checked)"
    out = section(heading, [printable(help_.message)], digits, style)
    home = finding.primary.source if finding.primary else None
    indent = " " * (digits + 9)
    return out + [indent + line for line in diff_lines(help_.edits, home, style.width - digits - 9, style)]
