"""How wide text is on a terminal, and how source text is made safe and measurable for it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

TAB = 4

#: Marks that reorder or hide what follows them: shown, so that a program cannot look like another.
_DIRECTION_MARKS = frozenset("\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def visible(char: str) -> str:
    """What is printed for a character: control characters as their pictures, never as themselves."""
    code = ord(char)
    if char == "\t":
        return " " * TAB
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0x80 <= code < 0xA0 or char in _DIRECTION_MARKS or 0xD800 <= code < 0xE000:
        return "�"
    return char


def cells(text: str) -> int:
    """The number of terminal columns that printable `text` takes."""
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def printable(text: str) -> str:
    """`text` with every character made visible; a line break becomes its picture."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(visible(char) for char in text)


def pad(text: str, width: int) -> str:
    """`text` with blanks after it, up to `width` columns."""
    return text + " " * max(0, width - cells(text))


def wrap(text: str, width: int) -> list[str]:
    """`text` in lines of at most `width` columns, broken at blanks outside backticks where that can be."""
    lines: list[str] = []
    current, *words = _words(text)
    for word in words:
        joined = f"{current} {word}"
        if cells(joined) > width:
            lines.append(current)
            current = word
        else:
            current = joined
    return [*lines, current]


def _words(text: str) -> list[str]:
    """Split at blanks; a backticked name keeps its own, unless it is long."""
    words: list[str] = []
    for word in text.split(" "):
        if words and words[-1].count("`") % 2 and len(words[-1]) + len(word) < 40:
            words[-1] += " " + word
        else:
            words.append(word)
    return words


@dataclass(frozen=True, slots=True)
class Row:
    """A source line ready to print: `shown` and, for each character and the end, its first column from 0."""

    shown: str
    starts: tuple[int, ...]

    def column(self, index: int) -> int:
        """The screen column at which character `index` of the line starts, at most the line's end."""
        return self.starts[min(index, len(self.starts) - 1)]

    @property
    def width(self) -> int:
        return self.starts[-1]


def row(line: str) -> Row:
    """Lay out one source line."""
    if line.isascii() and line.isprintable():
        return Row(line, tuple(range(len(line) + 1)))
    parts: list[str] = []
    starts = [0]
    for char in line:
        shown = visible(char)
        parts.append(shown)
        starts.append(starts[-1] + cells(shown))
    return Row("".join(parts), tuple(starts))


def cut(text: str, start: int, width: int) -> str:
    """The columns `start` up to `start + width` of `text`; a wide character cut in half becomes a blank."""
    if text.isascii() or width <= 0:
        return text[start : start + max(width, 0)]
    out: list[str] = []
    column = 0
    for char in text:
        size = _cells(char)
        if column >= start and column + size <= start + width:
            out.append(char)
        elif column < start < column + size or column < start + width < column + size:
            out.append(" ")
        column += size
        if column >= start + width:
            break
    return "".join(out)
