"""Source lines with carets and labels below them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kina.diagnostics.canvas import Canvas, Mark, mark_rows
from kina.diagnostics.cells import Row, cut, printable, row, wrap
from kina.diagnostics.style import Style
from kina.source import Source, Span

#: Spans over several lines that get a bracket of their own at the left; others show their first line.
_BRACKETS = 3


@dataclass(frozen=True, slots=True)
class Note:
    """A span to be marked, the text below it, and the role that colours it; "label" is drawn with dashes."""

    span: Span
    message: str
    role: str


@dataclass(frozen=True, slots=True)
class _Bracket:
    """A span over several lines, drawn at `depth` columns pairs from the left."""

    first: int
    last: int
    note: Note
    depth: int


def last_line(span: Span) -> int:
    """The line of the last character of a span, which may end with a line break."""
    return span.source.place(max(span.start, span.end - 1))[0]


def snippet(source: Source, notes: Sequence[Note], digits: int, style: Style) -> list[str]:
    """The lines of `source` that the notes touch, marked, with a gutter of `digits` for line numbers."""
    brackets = _brackets(notes)
    taken = {id(bracket.note) for bracket in brackets}
    single = [note for note in notes if id(note) not in taken]
    numbers = _lines_to_show(single, brackets)
    gutter = 2 * len(brackets)
    budget = max(style.width - digits - 3 - gutter, 10)
    edge = " " * digits + " |"
    out = [edge]
    previous = 0
    for number in numbers:
        if previous and number > previous + 1:
            out.append("...".ljust(digits + 3) + _open_bars(brackets, previous, number, style))
        out.extend(_line(source, number, single, brackets, digits, budget, style))
        previous = number
    out.append(edge)
    return [line.rstrip() for line in out]


def _brackets(notes: Sequence[Note]) -> list[_Bracket]:
    several = [note for note in notes if last_line(note.span) > note.span.line]
    several.sort(key=lambda note: (note.span.start, -note.span.end))
    return [
        _Bracket(note.span.line, last_line(note.span), note, depth)
        for depth, note in enumerate(several[:_BRACKETS])
    ]


def _lines_to_show(single: Iterable[Note], brackets: Iterable[_Bracket]) -> list[int]:
    """The touched lines; a hole of one line is filled, as a gap mark would take the same room."""
    touched = {note.span.line for note in single}
    for bracket in brackets:
        if bracket.last - bracket.first <= 4:
            touched.update(range(bracket.first, bracket.last + 1))
        touched.update((bracket.first, bracket.last))
    filled = {number + 1 for number in touched if number + 2 in touched}
    return sorted(touched | filled)


def _open_bars(brackets: Sequence[_Bracket], before: int, after: int, style: Style) -> str:
    bars = [
        style.paint("|", b.note.role) + " " if b.first <= before and b.last >= after else "  "
        for b in brackets
    ]
    return "".join(bars)


def _line(
    source: Source,
    number: int,
    single: Sequence[Note],
    brackets: Sequence[_Bracket],
    digits: int,
    budget: int,
    style: Style,
) -> list[str]:
    laid = row(source.line(number))
    marks = [_mark(note, laid) for note in single if note.span.line == number]
    starting = [b for b in brackets if b.first == number]
    ending = [b for b in brackets if b.last == number]
    columns = [c for mark in marks for c in (mark.start, mark.end)]
    columns += [laid.column(b.note.span.column - 1) for b in starting]
    columns += [_end_column(b, laid) for b in ending]
    offset = _offset(columns, laid.width, budget)
    text = _window(laid, offset, budget)
    edge = " " * digits + " | "
    slash = {b.depth for b in starting if not source.line(number)[: b.note.span.column - 1].strip()}
    out = [f"{number:>{digits}} | {_gutter(brackets, number, slash, style)}{text}"]
    bars = _gutter(brackets, number, frozenset(), style, after_start=slash)
    shifted = [mark.shifted(-offset, budget) for mark in marks]
    out += [edge + bars + line for line in mark_rows(shifted, budget, style)]
    for bracket in starting:
        if bracket.depth not in slash:
            column = laid.column(bracket.note.span.column - 1) - offset
            out += [edge + line for line in _turn(brackets, bracket, number, column, budget, style)]
    for bracket in reversed(ending):
        column = _end_column(bracket, laid) - 1 - offset
        out += [edge + line for line in _turn(brackets, bracket, number, column, budget, style)]
    return out


def _mark(note: Note, laid: Row) -> Mark:
    first = note.span.column - 1
    if last_line(note.span) > note.span.line:
        start, end = laid.column(first), laid.width
    else:
        length = max(note.span.end - note.span.start, 1)
        start, end = laid.column(first), laid.column(first + length)
    return Mark(start, max(end, start + 1), note.message, note.role)


def _end_column(bracket: _Bracket, laid: Row) -> int:
    place = bracket.note.span.source.place(max(bracket.note.span.end - 1, 0))
    return laid.column(place[1])


def _offset(columns: Sequence[int], width: int, budget: int) -> int:
    """The first column shown of a line that may be too long: the marks come into view, with some context."""
    if width <= budget or not columns or max(columns) < budget:
        return 0
    context = max(0, min(12, budget - (max(columns) - min(columns)) - 2))
    return max(0, min(min(columns) - context, width - budget))


def _window(laid: Row, offset: int, budget: int) -> str:
    if laid.width <= budget:
        return laid.shown
    text = cut(laid.shown, offset, budget)
    if offset:
        text = "…" + cut(text, 1, budget)
    if laid.width > offset + budget:
        text = cut(text, 0, budget - 1) + "…"
    return text


def _gutter(
    brackets: Sequence[_Bracket],
    number: int,
    slash: Iterable[int],
    style: Style,
    after_start: Iterable[int] = (),
) -> str:
    """The bracket columns left of a text line; `after_start` are those that began on this line."""
    out = ""
    for bracket in brackets:
        glyph = " "
        if bracket.depth in slash:
            glyph = "/"
        elif bracket.first < number <= bracket.last or bracket.depth in after_start:
            glyph = "|"
        out += style.paint(glyph, bracket.note.role if glyph != " " else "") + " "
    return out


def _turn(
    brackets: Sequence[_Bracket], bracket: _Bracket, number: int, column: int, budget: int, style: Style
) -> list[str]:
    """The rows that lead a bracket from the gutter to where its span starts, or ends with its message."""
    role = bracket.note.role
    ends = bracket.last == number
    left = 2 * bracket.depth
    target = 2 * len(brackets) + min(max(column, 0), budget - 1)
    canvas, below = Canvas(style), Canvas(style)
    below.put(target + 1, " ", "")
    for other in brackets:
        if other.first < number and (
            other.last > number or (other.last == number and other.depth < bracket.depth)
        ):
            canvas.put(2 * other.depth, "|", other.note.role)
            below.put(2 * other.depth, "|", other.note.role)
    canvas.put(left, "|" if ends else " ", role)
    canvas.put(left + 1, "_" * (target - left - 1), role)
    canvas.put(target, "-" if role == "label" else "^", role)
    if not ends or not bracket.note.message:
        return [canvas.text()]
    first, *rest = wrap(printable(bracket.note.message), max(budget + 2 * len(brackets) - target - 2, 16))
    return [
        canvas.text() + " " + style.paint(first, role),
        *(below.text() + style.paint(line, role) for line in rest),
    ]
