"""`kina check --fix N`: the edits of a help, shown and made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kina.commands.show import style_for
from kina.diagnostics.diff import apply_edits, diff_lines
from kina.diagnostics.finding import Edit, Finding, Help, SetupError
from kina.diagnostics.text import help_numbers
from kina.frontend.reader import load
from kina.output import write_stdout, write_text
from kina.source import Source


def fix(findings: Sequence[Finding], number: int, width: int | None = None) -> None:
    """Make the edits of help `number` of a report in the files, and show what was changed.

    Raises SetupError if there is no such help, or a file has changed since it was read or cannot be written.
    """
    chosen = _help(findings, number)
    for source, text in _changed(chosen.edits):
        if load(source.name).text != source.text:
            raise SetupError(f"`{source.name}` has changed since it was checked", "check it again")
        write_text(Path(source.name), _as_before(Path(source.name).read_bytes(), text))
    style = style_for(sys.stdout, width=width)
    lines = diff_lines(chosen.edits, None, style.width - 2, style)
    checked = "" if chosen.verified else ", which was not checked"
    write_stdout(
        f"help {number}{checked}: {chosen.message}\n" + "".join(f"  {line}\n" for line in lines) + "\n"
    )


def _help(findings: Sequence[Finding], number: int) -> Help:
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


def _changed(edits: Sequence[Edit]) -> list[tuple[Source, str]]:
    sources = dict.fromkeys(edit.span.source for edit in edits)
    return [
        (source, apply_edits(source.text, [edit for edit in edits if edit.span.source == source]))
        for source in sources
    ]


def _as_before(before: bytes, text: str) -> str:
    """The text with the line ends and the byte order mark of the file that it replaces."""
    mark = "\ufeff" if before.startswith(b"\xef\xbb\xbf") else ""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in before else text)
