"""Rows of carets, dashes and connectors, and the messages that hang from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby

from kina.diagnostics.cells import cells, printable, wrap
from kina.diagnostics.style import Style


@dataclass(frozen=True, slots=True)
class Mark:
    """The columns `start` up to `end` of one line, from 0, with a message."""

    start: int
    end: int
    message: str
    role: str

    def shifted(self, by: int, width: int) -> Mark:
        """The same mark in a window of `width` columns, clipped to it."""
        start = min(max(self.start + by, 0), width - 1)
        end = min(max(self.end + by, start + 1), width)
        return Mark(start, end, printable(self.message), self.role)

    @property
    def char(self) -> str:
        return "-" if self.role == "label" else "^"


@dataclass(slots=True)
class Canvas:
    """One row of single-column characters, each with a role."""

    style: Style
    squares: list[tuple[str, str]] = field(default_factory=list)

    def put(self, column: int, text: str, role: str) -> None:
        """Write `text` from `column` on, over what is there."""
        short = column + len(text) - len(self.squares)
        if short > 0:
            self.squares.extend([(" ", "")] * short)
        for index, char in enumerate(text, column):
            self.squares[index] = (char, role)

    def text(self) -> str:
        """The row, coloured."""
        runs = groupby(self.squares, key=lambda square: square[1])
        return "".join(self.style.paint("".join(char for char, _ in run), role) for role, run in runs)


def mark_rows(marks: Sequence[Mark], width: int, style: Style) -> list[str]:
    """The rows below a source line: underlines, the last mark's message beside it, the others hung below."""
    if not marks:
        return []
    canvas = Canvas(style)
    for mark in sorted(marks, key=lambda mark: (mark.role != "label", mark.start)):
        canvas.put(mark.start, mark.char * (mark.end - mark.start), mark.role)
    speaking = sorted((mark for mark in marks if mark.message), key=lambda mark: (mark.start, mark.end))
    beside = _beside(speaking, marks, width)
    if beside is None:
        rows = [canvas.text()]
        hanging = speaking
    else:
        first, *rest = wrap(beside.message, width - beside.end - 1)
        rows = [canvas.text() + " " + style.paint(first, beside.role)]
        hanging = [mark for mark in speaking if mark is not beside]
        for line in rest:
            rows.append(_connectors(hanging, style, beside.end + 1) + style.paint(line, beside.role))
    return rows + _hung(hanging, width, style)


def _beside(speaking: Sequence[Mark], marks: Sequence[Mark], width: int) -> Mark | None:
    """The mark whose message can stand on the row of carets: nothing follows it, and there is room."""
    if not speaking:
        return None
    last = speaking[-1]
    if last.end < max(mark.end for mark in marks):
        return None
    room = width - last.end - 1
    return last if cells(last.message) <= room or room >= 30 else None


def _hung(hanging: Sequence[Mark], width: int, style: Style) -> list[str]:
    rows: list[str] = []
    for count in range(len(hanging), 0, -1):
        mark = hanging[count - 1]
        if count == len(hanging):
            rows.append(_connectors(hanging, style, 0))
        left = hanging[: count - 1]
        start = max(0, min(mark.start, width - min(cells(mark.message), 40)))
        left_in_view = [other for other in left if other.start < start]
        for line in wrap(mark.message, width - start):
            rows.append(_connectors(left_in_view, style, start) + style.paint(line, mark.role))
    return rows


def _connectors(marks: Sequence[Mark], style: Style, width: int) -> str:
    canvas = Canvas(style)
    canvas.put(0, " " * width, "")
    for mark in marks:
        canvas.put(mark.start, "|", mark.role)
    return canvas.text()
