"""Text to surface tree: characters to nested syntax here, syntax to forms in `surface`.

`sexpdata` gives the frame of the parser; places, quoted names, annotations and located errors are
added. Parsing keeps its own stack, so nesting cannot overflow Python's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import sexpdata

from kina.diagnostics.finding import Finding, Label, ProgramError, SetupError, error
from kina.frontend.annotation_reader import read_annotation
from kina.frontend.ast import AnnotationForm, Module
from kina.frontend.tokens import SKIP, WORD, fail, number, quoted
from kina.source import Source, Span

#: Brackets open at once, at most.
NESTING_LIMIT = 200
#: Bytes of a program or module, at most: a device may never end.
MOST_BYTES = 256 * 2**20

#: A top-level form at the margin.
_NEXT_FORM = re.compile(r"^\((?:defn|defop|mesh|define|import)\b", re.M)
#: Control characters, and those that change the direction of writing: what is seen would not be what is read.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True)
class Atom:
    """A word: a "name", a "number", a "text" in double quotes or a "keyword" without its colon."""

    kind: str
    value: str | int | float
    span: Span


@dataclass(frozen=True, slots=True)
class Group:
    """A bracketed list; `bracket` is "(" or "["."""

    bracket: str
    items: tuple[Node, ...]
    span: Span


Node = Atom | Group | AnnotationForm


def load(path: str) -> Source:
    """The text of the file `path`; SetupError if it cannot be opened, ProgramError if it is not text."""
    try:
        with Path(path).open("rb") as file:
            return read_source(path, file)
    except (OSError, ValueError) as reason:
        said = reason.strerror if isinstance(reason, OSError) and reason.strerror else str(reason)
        raise SetupError(f"`{path}` cannot be read: {said.lower()}") from None


def read_source(name: str, file: IO[bytes]) -> Source:
    """The text of an open file, which may be a device that never ends: SetupError if it is too long."""
    data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise SetupError(f"`{name}` cannot be read: it is longer than {MOST_BYTES:,} bytes")
    return decode(name, data)


def decode(name: str, data: bytes) -> Source:
    """The source `name` whose bytes are UTF-8 text; ProgramError at the first byte that is not."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as reason:
        before = Source(name, data[: reason.start].decode("utf-8-sig", "replace"))
        end = len(before.text)
        byte = data[reason.start]
        finding = error(
            "K005", f"`{name}` is not UTF-8 text: byte {reason.start} is {byte:#04x}", Span(before, end, end)
        )
        raise ProgramError(finding) from None
    return Source(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def read(source: Source) -> Module:
    """The surface tree of a file; ProgramError where the text is no Kina file."""
    from kina.frontend.surface import module

    if control := _CONTROL.search(source.text):
        message = f"`{source.name}` is not text: it holds the control character U+{ord(control.group()):04X}"
        fail(source, "K005", message, control.start(), control.end())
    return module(source, read_nodes(source))


def read_nodes(source: Source) -> tuple[Node, ...]:
    """The top-level nodes of a text; ProgramError at brackets, strings or words that are malformed."""
    return tuple(SpanParser(source).parse())


class SpanParser(sexpdata.Parser):  # type: ignore[misc]
    """sexpdata's parser with places: every node knows the characters that it was read from."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.text, nil=None, true=None, false=None)
        self.source = source
        self.brackets = {"(": ")", "[": "]"}
        self.closing_brackets = {")", "]"}

    def parse(self) -> list[Node]:
        """The nodes of the whole text."""
        items: list[Node] = []
        open_groups: list[tuple[int, list[Node]]] = []
        text, end, i = self.string, len(self.string), 0
        skip, word = SKIP.match, WORD.match
        while True:
            if blank := skip(text, i):
                i = blank.end()
            if i >= end:
                break
            char = text[i]
            if char in self.brackets:
                if len(open_groups) == NESTING_LIMIT:
                    fail(self.source, "K004", f"brackets nest more than {NESTING_LIMIT} deep", i, i + 1)
                open_groups.append((i, items))
                items = []
                i += 1
            elif char in self.closing_brackets:
                items = self.close(i, items, open_groups)
                i += 1
            elif match := word(text, i):
                node = self.parse_word(i, match.end())
                items.append(node)
                i = node.span.end
            elif char in '"|':
                start = i
                i, value = quoted(self.source, start)
                items.append(Atom("text" if char == '"' else "name", value, Span(self.source, start, i)))
            else:
                fail(self.source, "K007", f"`{char}` has no meaning here", i, i + 1)
        if open_groups:
            raise ProgramError(self.unclosed(open_groups[-1][0]))
        return items

    def unclosed(self, start: int) -> Finding:
        """The finding that the bracket at `start` is open at the end of the text."""
        labels: tuple[Label, ...] = ()
        if next_form := _NEXT_FORM.search(self.string, start + 1):
            place = Span(self.source, next_form.start(), next_form.end())
            labels = (Label(place, "still inside it, though it looks like a form of its own"),)
        message = f"this `{self.string[start]}` is never closed"
        return error("K001", message, Span(self.source, start, start + 1), labels=labels)

    def close(self, i: int, items: list[Node], open_groups: list[tuple[int, list[Node]]]) -> list[Node]:
        """Ends the innermost group at the closing bracket at `i` and gives the list that goes on."""
        char = self.string[i]
        if not open_groups:
            fail(self.source, "K002", f"this `{char}` closes nothing", i, i + 1)
        start, outer = open_groups.pop()
        bracket = self.string[start]
        if self.brackets[bracket] != char:
            label = Label(Span(self.source, start, start + 1), f"`{bracket}` opens here")
            message = f"this `{char}` does not close the `{bracket}` that is open"
            raise ProgramError(error("K002", message, Span(self.source, i, i + 1), labels=(label,)))
        outer.append(Group(bracket, tuple(items), Span(self.source, start, i + 1)))
        return outer

    def parse_word(self, start: int, end: int) -> Atom | AnnotationForm:
        """The atom, or the annotation with its arguments, whose first word is `start` to `end`."""
        text = self.string[start:end]
        if text[0] == "@" and len(text) > 1:
            return read_annotation(self.source, start, end)
        span = Span(self.source, start, end)
        if text[0] == ":":
            if len(text) == 1:
                fail(self.source, "K007", "a keyword's name touches its colon", start, end)
            return Atom("keyword", text[1:], span)
        value = number(text, span)
        return Atom("name", text, span) if value is None else Atom("number", value, span)
