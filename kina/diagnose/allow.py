"""`;; kina: allow K501 because …`: warnings and notes that a file silences, with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kina.diagnostics.finding import Finding, Help
from kina.diagnostics.pages import codes
from kina.frontend.ir import Program
from kina.source import Source, Span

_COMMENT = re.compile(r"^[ \t]*;+[ \t]*kina:[ \t]*(?P<rest>\S.*?)[ \t]*\r?$", re.M)
_ALLOW = re.compile(r"allow[ \t]+(?P<code>K\d{3})[ \t]+because[ \t]+\S.*")

#: What cannot be silenced: remarks on the comments themselves.
_OWN = ("K506", "K507")


@dataclass(frozen=True, slots=True)
class _Allow:
    code: str
    span: Span


def allow_sources(source: Source, program: Program | None) -> tuple[Source, ...]:
    """The user's files whose comments count: the program's and those it takes values from."""
    found = {source.name: source}
    for value in program.values if program is not None else ():
        found.setdefault(value.span.source.name, value.span.source)
    return tuple(found.values())


def apply_allows(findings: Sequence[Finding], sources: Iterable[Source]) -> tuple[Finding, ...]:
    """The findings without the warnings and notes that their file allows, and with what is wrong with allows.

    A comment holds for the file that it stands in. One that silences nothing is reported (K506), unless
    errors kept the check from coming to an end; so is one that is not understood (K507).
    """
    allows: list[_Allow] = []
    remarks: list[Finding] = []
    for source in sources:
        for comment in _COMMENT.finditer(source.text):
            span = Span(source, comment.start("rest"), comment.end("rest"))
            allow = _ALLOW.fullmatch(comment["rest"])
            if allow is None or allow["code"] not in codes() or allow["code"] in _OWN:
                remarks.append(_not_understood(span, allow["code"] if allow else ""))
            else:
                allows.append(_Allow(allow["code"], span))
    if not allows and not remarks:
        return tuple(findings)
    kept = tuple(finding for finding in findings if not any(_silences(allow, finding) for allow in allows))
    complete = not any(finding.severity == "error" for finding in findings)
    idle = [allow for allow in allows if complete and not any(_silences(allow, f) for f in findings)]
    return (*kept, *remarks, *map(_idle, idle))


def _silences(allow: _Allow, finding: Finding) -> bool:
    """A finding without a place is of the whole program, and goes by its code alone."""
    if finding.severity == "error" or finding.code != allow.code:
        return False
    return finding.primary is None or finding.primary.source.name == allow.span.source.name


def _idle(allow: _Allow) -> Finding:
    return Finding(
        "K506",
        "warning",
        f"no {allow.code} is found here that could be allowed",
        allow.span,
        "silences nothing",
        helps=(Help("take the comment away"),),
        more=("`kina explain K506`",),
    )


def _not_understood(span: Span, code: str) -> Finding:
    at = "no reason is given" if re.fullmatch(r"allow[ \t]+K\d{3}.*", span.text) else "not understood"
    if code in _OWN:
        at = f"{code} is about comments, and not silenced by one"
    elif code:
        at = f"there is no code {code}"
    return Finding(
        "K507",
        "warning",
        "a comment to Kina is not understood, and silences nothing",
        span,
        at,
        helps=(Help("write `;; kina: allow K504 because` and the reason"),),
        more=("`kina explain K507`",),
    )
