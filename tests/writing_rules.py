"""What `docs/writing-rules.md` shows: its files are written and its commands run, in order, in one folder."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.command import ROOT, printed_by

FILE = ROOT / "docs" / "writing-rules.md"
_BLOCK = re.compile(r"^(```+)(\w+)(?: (\S+))?\n(.*?)^\1$", re.S | re.M)
#: Commands that take several seconds each; the others are run by every test run.
SLOW = ("kina rules audit", "kina rules lint")


@dataclass(frozen=True, slots=True)
class Step:
    """A file to write, or a command with what it prints, and where that stands."""

    name: str
    text: str
    command: bool
    start: int
    end: int

    @property
    def slow(self) -> bool:
        return self.name.startswith(SLOW)


def steps() -> Iterator[Step]:
    """The files and commands of the document, in their order."""
    for block in _BLOCK.finditer(FILE.read_text(encoding="utf-8")):
        if block[2] == "console":
            command, _, text = block[4].partition("\n")
            start = block.start(4) + len(command) + 1
            yield Step(command.removeprefix("$ "), text, True, start, block.end(4))
        elif block[3]:
            yield Step(block[3], block[4], False, block.start(4), block.end(4))


def carried_out(folder: Path, wanted: Callable[[Step], bool]) -> Iterator[tuple[Step, str]]:
    """Each wanted command with what it prints now; all files are written when their turn comes."""
    for step in steps():
        if not step.command:
            (folder / step.name).write_text(step.text, encoding="utf-8")
        elif wanted(step):
            yield step, printed_by(step.name, folder)


def accept(slow: bool = False) -> list[str]:
    """Write what is printed now into the document; the commands that print something else.

    Slow commands take a minute together: `python -m tests.writing_rules` runs them too.
    """
    with tempfile.TemporaryDirectory() as folder:
        found = carried_out(Path(folder), lambda step: slow or not step.slow)
        changed = [(step, text) for step, text in found if text != step.text]
    text = FILE.read_text(encoding="utf-8")
    for step, new in reversed(changed):
        text = text[: step.start] + new + text[step.end :]
    FILE.write_text(text, encoding="utf-8")
    return [f"docs/writing-rules.md: {step.name}" for step, _ in changed]


if __name__ == "__main__":
    print("\n".join(accept(slow=True)))
