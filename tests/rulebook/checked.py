"""What `kina check` says of the programs in the tests beside the rules."""

from __future__ import annotations

from kina.diagnostics.concise import render_concise
from kina.pipeline import Options, Result, check
from kina.source import Source


def checked(text: str) -> Result:
    """What `kina check` says of the program `text`."""
    return check(Source("case.kina", text), Options(solver="clingo"))


def message(text: str) -> str:
    """The findings about the program `text`, a line for each."""
    return render_concise(checked(text).findings)
