"""Printing findings for a person: width and colour of the standard error stream."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from typing import TextIO

from kina.diagnostics.finding import Finding
from kina.diagnostics.style import Style
from kina.output import write_stderr

#: The width of what is not printed on a terminal, so that the same input gives the same bytes.
PIPED_WIDTH = 100


def style_for(stream: TextIO, proof: str = "short", width: int | None = None) -> Style:
    """How to print on `stream`: colour only on a terminal, and not against `NO_COLOR`."""
    terminal = stream.isatty()
    colour = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if width is None:
        width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns if terminal else PIPED_WIDTH
    return Style(max(width, 40), colour, proof)


def show_findings(findings: Sequence[Finding], proof: str = "short", width: int | None = None) -> None:
    """Print findings and their count on the standard error stream."""
    from kina.diagnostics.text import render_text, summary

    write_stderr(render_text(findings, style_for(sys.stderr, proof, width)) + summary(findings))
