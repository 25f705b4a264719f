"""The pages of the error codes, which `kina explain` shows and `docs/errors.md` collects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kina.paths import codes_path

_TITLE = re.compile(r"# (K\d{3}): (.+)")
_BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)

FAMILIES = {
    "0": "Reading, names and functions",
    "1": "Types and ops",
    "2": "Conflicts of propagation",
    "3": "The plan",
    "4": "Annotations",
    "5": "Warnings",
    "6": "MLIR text",
    "7": "Running",
    "8": "Rule files and engines",
    "9": "Inside Kina",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page: its language (`kina`, `prolog`, `mlir`, `lock`) and its text."""

    language: str
    text: str


@dataclass(frozen=True, slots=True)
class Page:
    """What is to be said of a code: a title, prose in Markdown, and programs with and without the mistake."""

    code: str
    title: str
    text: str
    prose: str
    wrong: tuple[Block, ...]
    right: tuple[Block, ...]


def page(code: str) -> Page:
    """The page of `code`; KeyError if there is none."""
    path = codes_path() / f"{code}.md"
    if not re.fullmatch(r"K\d{3}", code) or not path.is_file():
        raise KeyError(code)
    return parse_page(path.read_text(encoding="utf-8"))


def parse_page(text: str) -> Page:
    """Take a page apart. Raises ValueError if it has no title line `# Knnn: title`."""
    title = _TITLE.match(text)
    if title is None:
        raise ValueError("a page begins with `# Knnn: title`")
    sections = _sections(text[title.end() :])
    wrong, right = (_blocks(sections.get(name, "")) for name in ("Wrong", "Right"))
    return Page(title[1], title[2].strip(), text, sections[""].strip(), wrong, right)


def codes() -> tuple[str, ...]:
    """All codes that have a page, in order."""
    return tuple(sorted(path.stem for path in codes_path().glob("K*.md")))


def all_pages() -> Iterator[Page]:
    """All pages, in order of their codes."""
    for code in codes():
        yield page(code)


def _sections(text: str) -> dict[str, str]:
    """The parts of a page by their headings; what looks like one inside a block is none."""
    blocks = [match.span() for match in _BLOCK.finditer(text)]
    headings = [
        match
        for match in re.finditer(r"^## (.+)$", text, re.M)
        if not any(start < match.start() < end for start, end in blocks)
    ]
    ends = [*(heading.start() for heading in headings), len(text)]
    bodies = [text[heading.end() : end] for heading, end in zip(headings, ends[1:], strict=True)]
    return {
        "": text[: ends[0]],
        **{each[1].strip(): body for each, body in zip(headings, bodies, strict=True)},
    }


def _blocks(text: str) -> tuple[Block, ...]:
    return tuple(Block(language, body) for language, body in _BLOCK.findall(text))
