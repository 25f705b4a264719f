"""Tokens of MLIR text and a cursor over them, with located errors."""

from __future__ import annotations

import re
from typing import NoReturn

from kina.diagnostics.finding import Help, Label, ProgramError, error
from kina.mlir.syntax import ELEMENT_BYTES, TensorType
from kina.source import Source, Span

#: Regions, attributes and lists may nest this deep; modules need about ten.
DEPTH_LIMIT = 64

#: A dense constant, an array and a tensor type are one token each: their insides are read on demand.
_TOKEN = re.compile(
    r"""(?:\s|//[^\n]*+)*+(
      "(?:[^"\\\n]|\\.)*+" | dense<(?:"[^"\n]*+"|[^<>"])*+> | array<[^<>]*+> | tensor<[^<>"]*+>
    | [%^][\w$.\-]++(?:\#\d++)?+ | @(?:[\w$.\-]++|"(?:[^"\\\n]|\\.)*+") | -> | ::
    | 0x[0-9a-fA-F]++ | -?\d++(?:\.\d*+(?:[eE][+-]?\d++)?+)?+
    | \#?[A-Za-z_][\w$.]*+ | \S )""",
    re.VERBOSE,
)

_TENSOR = re.compile(r"tensor<((?:\d+x)*)([a-z][a-z0-9]*)>")
_ESCAPE = re.compile(r'\\(?:([0-9a-fA-F]{2})|(["\\nt]))')


class Cursor:
    """A place in the token list. The last token is empty and stands for the end of the text."""

    __slots__ = ("_types", "depth", "pos", "source", "starts", "texts")

    def __init__(self, source: Source) -> None:
        self.source = source
        found = list(_TOKEN.finditer(source.text))
        self.texts = [match[1] for match in found]
        self.starts = [match.start(1) for match in found]
        self.texts.append("")
        self.starts.append(len(source.text.rstrip()))
        self.pos = 0
        self.depth = 0
        self._types: dict[str, TensorType] = {}

    def span(self, index: int, last: int | None = None) -> Span:
        """The characters of token `index`, or of the tokens `index` to `last`."""
        last = index if last is None else last
        return Span(self.source, self.starts[index], self.starts[last] + len(self.texts[last]))

    def fail(
        self, code: str, message: str, index: int | None = None, at: str = "", help_: str = ""
    ) -> NoReturn:
        """Stop reading with a finding at token `index`, by default the next one."""
        where = self.span(self.pos if index is None else index)
        self.fail_at(code, message, where, at, help_)

    def fail_at(
        self, code: str, message: str, span: Span, at: str = "", help_: str = "", *labels: Label
    ) -> NoReturn:
        helps = (Help(help_),) if help_ else ()
        raise ProgramError(error(code, message, span, at, helps=helps, labels=labels))

    def describe(self, index: int | None = None) -> str:
        text = self.texts[self.pos if index is None else index]
        if not text:
            return "the end of the text"
        return f"`{text}`" if len(text) <= 40 else f"`{text[:37]}...`"

    def expect(self, text: str, what: str = "") -> None:
        """Step over the token `text`, or say that it is missing."""
        if self.texts[self.pos] != text:
            self.missing(f"`{text}`" + (f" {what}" if what else ""))
        self.pos += 1

    def missing(self, wanted: str) -> NoReturn:
        if self.texts[self.pos] == '"':
            self.fail("K601", "a string is not closed on its line")
        if not self.texts[self.pos]:
            self.fail("K601", f"the text ends where {wanted} is due")
        self.fail("K601", f"{self.describe()} stands where {wanted} is due")

    def accept(self, text: str) -> bool:
        """Step over the token `text` if it is next."""
        if self.texts[self.pos] != text:
            return False
        self.pos += 1
        return True

    def enter(self) -> None:
        """Go one level deeper, up to `DEPTH_LIMIT`."""
        self.depth += 1
        if self.depth > DEPTH_LIMIT:
            self.fail("K608", f"regions, attributes or lists nest more than {DEPTH_LIMIT} deep")

    def leave(self) -> None:
        self.depth -= 1

    def integer(self) -> int:
        """The whole number that is next."""
        text = self.texts[self.pos]
        try:
            value = int(text)
        except ValueError:
            self.missing("a whole number")
        self.pos += 1
        return value

    def integers(self) -> tuple[int, ...]:
        """A list of whole numbers in square brackets."""
        self.expect("[", "of a list of numbers")
        if self.accept("]"):
            return ()
        items = [self.integer()]
        while self.accept(","):
            items.append(self.integer())
        self.expect("]", "of a list of numbers")
        return tuple(items)

    def string(self) -> str:
        """The contents of the string that is next."""
        text = self.texts[self.pos]
        if len(text) < 2 or text[0] != '"':
            self.missing("a string")
        self.pos += 1
        return unquote(text)

    def symbol(self) -> str:
        """The name after the `@` that is next."""
        text = self.texts[self.pos]
        if text[:1] != "@" or len(text) < 2:
            self.missing("a name that begins with `@`")
        self.pos += 1
        return unquote(text[1:]) if text[1] == '"' else text[1:]

    def type(self) -> TensorType:
        """The tensor type that is next."""
        text = self.texts[self.pos]
        found = self._types.get(text)
        if found is None:
            found = self._types[text] = self._read_type(text)
        self.pos += 1
        return found

    def _read_type(self, text: str) -> TensorType:
        if not text.startswith("tensor<"):
            self.missing("a tensor type")
        match = _TENSOR.fullmatch(text.replace(" ", ""))
        if match is None:
            self.fail("K607", f"`{text}` is not a tensor of known sizes", help_="write `tensor<2x3xf32>`")
        if match[2] not in ELEMENT_BYTES:
            known = ", ".join(ELEMENT_BYTES)
            self.fail("K607", f"the element type `{match[2]}` is not known", help_=f"known are {known}")
        sizes = tuple(int(size) for size in match[1].split("x")[:-1])
        if any(size > 2**31 - 1 for size in sizes) or len(sizes) > 64:
            self.fail("K607", f"`{text}` has a dim above 2147483647 or more than 64 dims")
        return TensorType(match[2], sizes)

    def types(self) -> tuple[TensorType, ...]:
        """A list of tensor types in round brackets, or one type without them."""
        if not self.accept("("):
            return (self.type(),)
        if self.accept(")"):
            return ()
        items = [self.type()]
        while self.accept(","):
            items.append(self.type())
        self.expect(")", "of a list of types")
        return tuple(items)

    def location(self) -> str:
        """The text of a trailing `loc(…)`, empty if there is none."""
        if self.texts[self.pos] != "loc" or self.texts[self.pos + 1] != "(":
            return ""
        first = self.pos + 2
        self.skip_brackets(self.pos + 1)
        if self.pos - first == 2 and self.texts[first][0] == '"':
            return unquote(self.texts[first])
        return self.source.text[self.starts[first] : self.starts[self.pos - 1]]

    def skip_brackets(self, opening: int) -> None:
        """Go behind the round bracket that closes the one at `opening`."""
        depth = 0
        self.pos = opening
        while self.texts[self.pos]:
            depth += {"(": 1, ")": -1}.get(self.texts[self.pos], 0)
            self.pos += 1
            if not depth:
                return
        self.fail("K601", "a round bracket is not closed", opening)


def unquote(text: str) -> str:
    """The contents of a quoted string, escapes resolved."""

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return {"n": "\n", "t": "\t"}.get(match[2], match[2])

    return _ESCAPE.sub(replace, text[1:-1]) if "\\" in text else text[1:-1]
