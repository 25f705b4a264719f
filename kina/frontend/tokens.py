"""Words of the language: numbers, quoted texts and names, and the errors in them."""

from __future__ import annotations

import re
from typing import NoReturn

from kina.diagnostics.finding import Help, ProgramError, error
from kina.source import Source, Span

#: White space and comments.
SKIP = re.compile(r"(?:\s+|;[^\n]*)+")
#: A name, a number, a keyword or the name of an annotation.
WORD = re.compile(r"[^\s()\[\]{}\";|'`]+")
_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_NOT_FINITE = {"inf": float("inf"), "+inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_NUMBER_LIKE = re.compile(r"[+-]?\.?[0-9]")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "|": "|"}
_WRITTEN = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_NAME_ESCAPES = str.maketrans({**_WRITTEN, "|": "\\|"})
_TEXT_ESCAPES = str.maketrans({**_WRITTEN, '"': '\\"'})
_TEXT_STOP = re.compile(r'["\\]')
_NAME_STOP = re.compile(r"[|\\]")


def fail(source: Source, code: str, message: str, start: int, end: int, help_: str = "") -> NoReturn:
    """Raises the finding `code` on the characters `start` up to `end`."""
    helps = (Help(help_),) if help_ else ()
    raise ProgramError(error(code, message, Span(source, start, min(end, len(source.text))), helps=helps))


def number(text: str, span: Span) -> int | float | None:
    """The number that `text` writes, None if it is a name; ProgramError if it does not fit in 64 bits."""
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    if not _NUMBER_LIKE.match(text):
        return None
    value: int | float
    if _INTEGER.match(text):
        digits = text.lstrip("+-").lstrip("0")
        value = int(text) if len(digits) < 20 else 1 << 64
        fits = abs(value) < 1 << 63
    elif _FLOAT.match(text):
        value = float(text)
        fits = abs(value) != float("inf")
    else:
        help_ = Help(f"a name that begins like a number is quoted: `|{text}|`")
        raise ProgramError(error("K007", f"`{text}` is neither a number nor a name", span, helps=(help_,)))
    if not fits:
        raise ProgramError(error("K009", "this number does not fit in 64 bits", span))
    return value


def quoted(source: Source, start: int) -> tuple[int, str]:
    """Where the text or name that opens at `start` ends, and what it says."""
    string = source.text
    quote = string[start]
    what, stop = ("string", _TEXT_STOP) if quote == '"' else ("quoted name", _NAME_STOP)
    chars: list[str] = []
    i = start + 1
    while True:
        match = stop.search(string, i)
        if match is None:
            fail(source, "K003", f"this {what} is never closed", start, start + 1)
        chars.append(string[i : match.start()])
        i = match.end()
        if match.group() == quote:
            break
        escape = string[i : i + 1]
        if escape not in _ESCAPES:
            fail(source, "K007", f"`\\{escape}` is no escape in a {what}", i - 1, i + 1)
        chars.append(_ESCAPES[escape])
        i += 1
    value = "".join(chars)
    if quote == "|" and not value:
        fail(source, "K007", "a quoted name is empty", start, i)
    return i, value


def quote_name(name: str) -> str:
    """A name as it is written, in bars where it would not read back as itself."""
    return name if _plain(name) else f"|{name.translate(_NAME_ESCAPES)}|"


def quote_axis(name: str) -> str:
    """A name as it is written inside an annotation, where `,` and `=` are marks too."""
    if _plain(name) and not any(mark in name for mark in ",="):
        return name
    return f"|{name.translate(_NAME_ESCAPES)}|"


def quote_text(text: str) -> str:
    """A text as it is written, in double quotes."""
    return f'"{text.translate(_TEXT_ESCAPES)}"'


def _plain(name: str) -> bool:
    if name[:1] in "@:" and name != "@":
        return False
    return WORD.fullmatch(name) is not None and name not in _NOT_FINITE and not _NUMBER_LIKE.match(name)
