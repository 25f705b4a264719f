"""The tests beside rules: `layout.test.md` beside `layout.dl`, taken apart.

A section begins with a `##` heading that names one or more rules. Each `kina` block is a program; the info
string says what it is for: `kina` (every rule of the heading fires in one of these), `kina near miss` (the
first rule of the heading does not fire) or `kina repair` (no rule of the heading that objects fires, and
nothing is an error). The `expect` and `message` blocks after a program belong to it. So do a `prolog` block,
rules that are added to the rule base for it, and a `facts` block, tuples of input relations that are added.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kina.diagnostics.finding import ProgramError, error
from kina.source import Source, Span

Term = str | int | None

_BLOCK = re.compile(r"^(```|~~~)(\w+)([ \w]*)\n(.*?)^\1$", re.S | re.M)
_EXPECTED = re.compile(r"(!?)([\w.]+)\((.*)\)")
_TERM = re.compile(r'\s*(?:"([^"]*)"|(\d{1,10})|(_))\s*(?:,|$)')

PURPOSES = ("", "near miss", "repair")


@dataclass(frozen=True, slots=True)
class Expected:
    """A tuple that must be there, or with `absent` must not; None stands for any value."""

    text: str
    relation: str
    terms: tuple[Term, ...]
    absent: bool
    span: Span

    def holds(self, rows: list[tuple[str | int, ...]]) -> bool:
        return self.absent != any(self._matches(row) for row in rows)

    @property
    def fact(self) -> tuple[str, tuple[str | int, ...]]:
        """The relation and the columns that are given."""
        return self.relation, tuple(term for term in self.terms if term is not None)

    def _matches(self, row: tuple[str | int, ...]) -> bool:
        return len(row) == len(self.terms) and all(
            term is None or term == value for term, value in zip(self.terms, row, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Message:
    """A message as it must be printed, and where it stands in the file."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A program of a section with what is expected of it."""

    purpose: str
    text: str
    rules: str
    facts: tuple[Expected, ...]
    expected: tuple[Expected, ...]
    message: Message | None
    span: Span


@dataclass(frozen=True, slots=True)
class Section:
    """The test of some rules; `span` is its heading."""

    rules: tuple[str, ...]
    prose: str
    trials: tuple[Trial, ...]
    span: Span

    @property
    def file(self) -> Path:
        return Path(self.span.file)

    @property
    def name(self) -> str:
        return f"{self.file.name}: {self.rules[0]}"


def files(folder: Path) -> list[Path]:
    """All files of tests beside the rules of a folder, by name."""
    return sorted(folder.glob("*.test.md"))


def sections(folder: Path) -> Iterator[Section]:
    """The sections of all files of a folder."""
    for file in files(folder):
        yield from sections_of(Source(str(file), file.read_text(encoding="utf-8")))


def sections_of(source: Source) -> Iterator[Section]:
    """The sections of one file. ProgramError (K857) if a block is none that is known."""
    text = source.text
    headings = list(re.finditer(r"^## (.+)$", text, re.M))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        span = Span(source, heading.start(), heading.end())
        blocks = list(_BLOCK.finditer(text, heading.end(), end))
        prose = text[heading.end() : blocks[0].start() if blocks else end].strip()
        rules = tuple(re.findall(r"[\w.-]+", heading[1]))
        if not rules:
            raise _fault("a heading names the rules that are tested", span)
        yield Section(rules, prose, tuple(_trials(source, blocks)), span)


def _trials(source: Source, blocks: list[re.Match[str]]) -> Iterator[Trial]:
    for number, block in enumerate(blocks):
        if block[2] == "kina":
            purpose = block[3].strip()
            span = Span(source, block.start(), block.start(4) - 1)
            if purpose not in PURPOSES:
                raise _fault(f"a program is `kina`, `kina near miss` or `kina repair`, not `{purpose}`", span)
            yield _trial(source, purpose, block[4], blocks[number + 1 :], span)


def _trial(source: Source, purpose: str, text: str, after: list[re.Match[str]], span: Span) -> Trial:
    """The program `text` with the blocks that follow it, up to the next program."""
    facts: list[Expected] = []
    expected: list[Expected] = []
    message: Message | None = None
    rules = ""
    for block in after:
        match block[2]:
            case "kina":
                break
            case "expect":
                expected += _tuples(source, block)
            case "facts":
                facts += map(_closed, _tuples(source, block))
            case "prolog":
                rules = block[4]
            case "message":
                message = Message(block[4], block.start(4), block.end(4))
            case other:
                raise _fault(f"no block is called `{other}`", Span(source, block.start(), block.start(4) - 1))
    return Trial(purpose, text, rules, tuple(facts), tuple(expected), message, span)


def _tuples(source: Source, block: re.Match[str]) -> Iterator[Expected]:
    start = block.start(4)
    for line in block[4].splitlines(keepends=True):
        if line.strip():
            yield _expected(line.strip(), Span(source, start, start + len(line.rstrip())))
        start += len(line)


def _closed(fact: Expected) -> Expected:
    if None in fact.terms:
        raise _fault("a fact leaves no column open", fact.span)
    return fact


def _expected(line: str, span: Span) -> Expected:
    match = _EXPECTED.fullmatch(line)
    if match is None:
        raise _fault(f"`{line}` is no tuple", span)
    terms: list[Term] = []
    rest = match[3]
    while rest.strip():
        term = _TERM.match(rest)
        if term is None:
            raise _fault(f"`{rest.strip()}` is no column of a tuple", span)
        terms.append(int(term[2]) if term[2] else None if term[3] else term[1])
        rest = rest[term.end() :]
    return Expected(line, match[2], tuple(terms), bool(match[1]), span)


def _fault(message: str, span: Span) -> ProgramError:
    return ProgramError(error("K857", message, span))
