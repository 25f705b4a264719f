"""Source text and places in it: the only module that counts characters."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

#: The name of a program that was given as text, from Python.
TEXT = "<text>"


@dataclass(frozen=True, slots=True)
class Source:
    """One source file: its name as the user wrote it, and its whole text.

    Lines and columns count from 1; a column counts Unicode code points.
    """

    name: str
    text: str
    line_starts: tuple[int, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts = [0]
        starts.extend(i + 1 for i, char in enumerate(self.text) if char == "\n")
        object.__setattr__(self, "line_starts", tuple(starts))

    def place(self, offset: int) -> tuple[int, int]:
        """The (line, column) of a character offset; the end of the text is a place too."""
        offset = max(0, min(offset, len(self.text)))
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line without its line break, empty past the end."""
        if not 1 <= number <= len(self.line_starts):
            return ""
        start = self.line_starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")


@dataclass(frozen=True, slots=True)
class Span:
    """The characters `start` up to, not including, `end` of a source."""

    source: Source
    start: int
    end: int

    @property
    def file(self) -> str:
        return self.source.name

    @property
    def line(self) -> int:
        return self.source.place(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.place(self.start)[1]

    @property
    def end_line(self) -> int:
        return self.source.place(self.end)[0]

    @property
    def end_column(self) -> int:
        """The column after the last character."""
        return self.source.place(self.end)[1]

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.source, self.start, other.end)
