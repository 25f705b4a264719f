"""`kina check --fix N`: the edits of a help, shown and made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kina.commands.show import style_for
from kina.diagnostics.chosen import changed, numbered_help
from kina.diagnostics.diff import diff_lines
from kina.diagnostics.finding import Finding, SetupError
from kina.frontend.reader import load
from kina.output import write_stdout, write_text


def fix(findings: Sequence[Finding], number: int, width: int | None = None) -> None:
    """Make the edits of help `number` of a report in the files, and show what was changed.

    Raises SetupError if there is no such help, or a file has changed since it was read or cannot be written.
    """
    chosen = numbered_help(findings, number)
    for source, text in changed(chosen.edits):
        if load(source.name).text != source.text:
            raise SetupError(f"`{source.name}` has changed since it was checked", "check it again")
        write_text(Path(source.name), _as_before(Path(source.name).read_bytes(), text))
    style = style_for(sys.stdout, width=width)
    lines = diff_lines(chosen.edits, None, style.width - 2, style)
    checked = "" if chosen.verified else ", which was not checked"
    write_stdout(
        f"help {number}{checked}: {chosen.message}\n" + "".join(f"  {line}\n" for line in lines) + "\n"
    )


def _as_before(before: bytes, text: str) -> str:
    """The text with the line ends and the byte order mark of the file that it replaces."""
    mark = "\ufeff" if before.startswith(b"\xef\xbb\xbf") else ""
    return mark + (text.replace("\n", "\r\n") if b"\r\n" in before else text)
