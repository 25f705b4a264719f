"""How numbers, strings and lists are written in MLIR text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

#: dtype of the typed IR -> element type of MLIR
ELEMENTS: Mapping[str, str] = MappingProxyType(
    {"f32": "f32", "bf16": "bf16", "f16": "f16", "f64": "f64", "i32": "i32", "i64": "i64", "bool": "i1"}
)
FLOATS = frozenset({"f32", "bf16", "f16", "f64"})

#: Bits of infinity and of a quiet NaN, which have no decimal form; the sign is the highest bit.
_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}
_NAN = {"f16": 0x7E00, "bf16": 0x7FC0, "f32": 0x7FC00000, "f64": 0x7FF8000000000000}
_DIGITS = {"f16": 4, "bf16": 4, "f32": 8, "f64": 16}

_OUTSIDE_NAME = re.compile(r"[^A-Za-z0-9_$.]")
_UNPRINTABLE = re.compile(r'[\x00-\x1f"\\\x7f]')


def number(text: str, element: str) -> str:
    """An element, given as text that Python's `float` reads, as it stands in `dense<…>`.

    >>> number("1e-05", "f32"), number("-inf", "bf16"), number("1", "i1"), number("-0", "f32")
    ('1.0e-05', '0xFF80', 'true', '-0.0')
    """
    if element == "i1":
        return "true" if float(text) else "false"
    if element not in FLOATS:
        return str(int(text)) if text.lstrip("+-").isdecimal() else str(int(float(text)))
    value = float(text)
    if math.isfinite(value):
        mantissa, mark, exponent = repr(value).partition("e")
        return (mantissa if "." in mantissa else mantissa + ".0") + mark + exponent
    bits = _NAN[element] if math.isnan(value) else _INFINITY[element]
    if value < 0:
        bits |= 1 << (4 * _DIGITS[element] - 1)
    return f"0x{bits:0{_DIGITS[element]}X}"


def string(text: str) -> str:
    """The text in quotes, with escapes for what may not stand there.

    >>> string('a "b"')
    '"a \\\\22b\\\\22"'
    """
    return '"' + _UNPRINTABLE.sub(lambda match: f"\\{ord(match[0]):02X}", text) + '"'


def numbers(values: Iterable[int]) -> str:
    """`[1, 2]`."""
    return f"[{', '.join(map(str, values))}]"


def array(values: Iterable[int], element: str = "i64") -> str:
    """`array<i64: 1, 2>`."""
    listed = ", ".join(map(str, values))
    return f"array<{element}: {listed}>" if listed else f"array<{element}>"


def flags(values: Iterable[int]) -> str:
    """`array<i1: true, false>`."""
    listed = ", ".join("true" if value else "false" for value in values)
    return f"array<i1: {listed}>" if listed else "array<i1>"


def matrix(rows: Iterable[Iterable[int]], width: int) -> str:
    """`dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>`; rows have `width` numbers."""
    listed = [numbers(row) for row in rows]
    inner = f"[{', '.join(listed)}]" if listed else ""
    return f"dense<{inner}> : tensor<{len(listed)}x{width}xi64>"


def identifier(name: str) -> str:
    """The name of a value with `_` for every character that may not stand behind `%`.

    >>> identifier("layer[3].wq")
    'layer_3_.wq'
    """
    plain = _OUTSIDE_NAME.sub("_", name)
    return plain if plain and not plain[0].isdigit() else f"v{plain}"
