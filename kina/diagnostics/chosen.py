"""The helps of a report by their numbers, and what their edits make of the files."""

from __future__ import annotations

from collections.abc import Sequence

from kina.diagnostics.diff import apply_edits
from kina.diagnostics.finding import Edit, Finding, Help, SetupError
from kina.diagnostics.text import help_numbers
from kina.source import Source


def numbered_help(findings: Sequence[Finding], number: int) -> Help:
    """The help that a report prints under this number. SetupError if it has none."""
    numbers = help_numbers(findings)
    for (index, position), each in numbers.items():
        if each == number:
            return findings[index].helps[position]
    count = max(numbers.values(), default=0)
    has = (
        f"it has helps 1 to {count}"
        if count > 1
        else "it has help 1 only"
        if count
        else "it has none with an edit"
    )
    raise SetupError(f"the report has no help {number}", has)


def changed(edits: Sequence[Edit]) -> list[tuple[Source, str]]:
    """The sources that edits lie in, each with its text after them."""
    sources = dict.fromkeys(edit.span.source for edit in edits)
    return [
        (source, apply_edits(source.text, [edit for edit in edits if edit.span.source == source]))
        for source in sources
    ]
