"""Names as they stand in facts: free of quotes, tabs, line breaks, backslashes and commas."""

from __future__ import annotations

import re

_UNSAFE = re.compile(r'[%"\\,\x00-\x1f\x7f\x85\u2028\u2029]')


def encode(name: str) -> str:
    """The name with each unsafe character as `%` and its code in hexadecimal, `;` after it if it is long.

    >>> encode('a "b"')
    'a %22b%22'
    """
    return _UNSAFE.sub(_escape, name)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"%{code:02X}" if code < 256 else f"%u{code:04X}"
