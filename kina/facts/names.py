"""Names as they stand in facts: free of quotes, tabs, line breaks, backslashes and commas."""

from __future__ import annotations

_UNSAFE = frozenset('%"\\,') | {chr(code) for code in range(32)} | {"\x7f", "\x85", "\u2028", "\u2029"}


def encode(name: str) -> str:
    """The name with each unsafe character as `%` and its code in hexadecimal, `;` after it if it is long.

    >>> encode('a "b"')
    'a %22b%22'
    """
    if not _UNSAFE.intersection(name):
        return name
    return "".join(_escape(char) if char in _UNSAFE else char for char in name)


def _escape(char: str) -> str:
    code = ord(char)
    return f"%{code:02X}" if code < 256 else f"%u{code:04X}"
