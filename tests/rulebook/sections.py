"""The tests beside the rules: `rules/*.test.md`, taken apart.

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

from kina.paths import rules_path

Term = str | int | None

_BLOCK = re.compile(r"^```(\w+)([ \w]*)\n(.*?)^```$", re.S | re.M)
_EXPECTED = re.compile(r"(!?)([\w.]+)\((.*)\)")
_TERM = re.compile(r'\s*(?:"([^"]*)"|(\d+)|(_))\s*(?:,|$)')

PURPOSES = ("", "near miss", "repair")


@dataclass(frozen=True, slots=True)
class Expected:
    """A tuple that must be there, or with `absent` must not; None stands for any value."""

    text: str
    relation: str
    terms: tuple[Term, ...]
    absent: bool

    def holds(self, rows: list[tuple[str | int, ...]]) -> bool:
        return self.absent != any(self._matches(row) for row in rows)

    @property
    def fact(self) -> tuple[str, tuple[str | int, ...]]:
        """The relation and the columns, all of which are given."""
        columns = tuple(term for term in self.terms if term is not None)
        assert len(columns) == len(self.terms), f"{self.text} leaves a column open"
        return self.relation, columns

    def _matches(self, row: tuple[str | int, ...]) -> bool:
        return all(term is None or term == value for term, value in zip(self.terms, row, strict=True))


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


@dataclass(frozen=True, slots=True)
class Section:
    """The test of some rules."""

    file: Path
    rules: tuple[str, ...]
    prose: str
    trials: tuple[Trial, ...]

    @property
    def name(self) -> str:
        return f"{self.file.name}: {self.rules[0]}"


def files() -> list[Path]:
    """All files of tests beside rules, by name."""
    return sorted(rules_path().glob("*.test.md"))


def sections() -> Iterator[Section]:
    """The sections of all files."""
    for file in files():
        yield from sections_of(file)


def sections_of(file: Path) -> Iterator[Section]:
    """The sections of one file. ValueError if a block is none that is known."""
    text = file.read_text(encoding="utf-8")
    headings = list(re.finditer(r"^## (.+)$", text, re.M))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        blocks = list(_BLOCK.finditer(text, heading.end(), end))
        prose = text[heading.end() : blocks[0].start() if blocks else end].strip()
        rules = tuple(re.findall(r"[\w.-]+", heading[1]))
        yield Section(file, rules, prose, tuple(_trials(blocks)))


def _trials(blocks: list[re.Match[str]]) -> Iterator[Trial]:
    for number, block in enumerate(blocks):
        if block[1] != "kina":
            continue
        expected: list[Expected] = []
        message: Message | None = None
        rules = ""
        facts: list[Expected] = []
        for after in blocks[number + 1 :]:
            match after[1]:
                case "kina":
                    break
                case "expect":
                    expected += _tuples(after[3])
                case "facts":
                    facts += _tuples(after[3])
                case "prolog":
                    rules = after[3]
                case "message":
                    message = Message(after[3], after.start(3), after.end(3))
                case other:
                    raise ValueError(f"no block is called `{other}`")
        yield Trial(block[2].strip(), block[3], rules, tuple(facts), tuple(expected), message)


def _tuples(block: str) -> list[Expected]:
    return [_expected(line) for line in block.splitlines() if line.strip()]


def _expected(line: str) -> Expected:
    match = _EXPECTED.fullmatch(line.strip())
    if match is None:
        raise ValueError(f"no tuple: {line}")
    terms: list[Term] = []
    rest = match[3]
    while rest.strip():
        term = _TERM.match(rest)
        if term is None:
            raise ValueError(f"no column: {rest}")
        terms.append(int(term[2]) if term[2] else None if term[3] else term[1])
        rest = rest[term.end() :]
    return Expected(line.strip(), match[2], tuple(terms), bool(match[1]))
