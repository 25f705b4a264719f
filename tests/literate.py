"""Literate snapshots: Markdown files with a program or the name of a sample, and the message as printed.

A section begins with a `##` heading. Its `kina` block is the program, `case.kina`. Without one, the
heading is an error code, of whose page the wrong program is taken, or it names a finding of
`tests.diagnostics.samples`. Every other block is an expected text; its info string names the format
and, for text, the width: `text 80`, `concise`, `github`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kina.diagnostics.concise import render_concise
from kina.diagnostics.finding import Finding
from kina.diagnostics.github import render_github
from kina.diagnostics.pages import all_pages, page
from kina.diagnostics.style import Style
from kina.diagnostics.text import render_text
from kina.pipeline import Options, check
from kina.source import Source
from tests.diagnostics.page_programs import findings_of
from tests.diagnostics.samples import SAMPLES

_BLOCK = re.compile(r"^````?`?(\w+)( [\w ]+)?\n(.*?)^````?`?$", re.S | re.M)
_FOLDER = Path(__file__).parent / "diagnostics"
_MESSAGES = _FOLDER / "messages.md"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One expected block: where its text stands in the file, and what makes it anew."""

    file: Path
    heading: str
    form: str
    start: int
    end: int
    program: str | None

    @property
    def expected(self) -> str:
        return self.file.read_text(encoding="utf-8")[self.start : self.end]

    def actual(self) -> str:
        """What is printed now."""
        return render(self.form, self._findings())

    def _findings(self) -> Sequence[Finding]:
        if self.program is not None:
            return check(Source("case.kina", self.program), Options(solver="clingo")).findings
        if self.heading in SAMPLES:
            return SAMPLES[self.heading]()
        known = page(self.heading)
        return findings_of(known, known.wrong)


def render(form: str, findings: Sequence[Finding]) -> str:
    """Findings in the format that an info string names."""
    name, *rest = form.split()
    match name:
        case "text":
            proof = "full" if "full" in rest else "short"
            widths = [int(word) for word in rest if word.isdecimal()]
            return render_text(findings, Style(widths[0] if widths else 100, False, proof))
        case "concise":
            return render_concise(findings)
        case "github":
            return render_github(findings)
        case _:
            raise ValueError(f"no format {name}")


def snapshots() -> Iterator[Snapshot]:
    """All expected blocks of all literate files."""
    for file in sorted(_FOLDER.glob("*.md")):
        yield from _of_file(file)


def _of_file(file: Path) -> Iterator[Snapshot]:
    text = file.read_text(encoding="utf-8")
    headings = list(re.finditer(r"^## (.+)$", text, re.M))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    for heading, end in zip(headings, ends, strict=False):
        program = None
        for block in _BLOCK.finditer(text, heading.end(), end):
            if block[1] == "kina":
                program = block[3]
                continue
            form = block[1] + (block[2] or "")
            yield Snapshot(file, heading[1].strip(), form, block.start(3), block.end(3), program)


def codes_without_message() -> list[str]:
    """The codes with programs whose message is not recorded."""
    recorded = {snapshot.heading for snapshot in snapshots()}
    pages = (known for known in all_pages() if known.wrong)
    return [known.code for known in pages if known.code not in recorded]


def _add_new_codes() -> list[str]:
    """Give each new code a section with an empty message, in order of the codes."""
    new = codes_without_message()
    if not new:
        return []
    text = _MESSAGES.read_text(encoding="utf-8")
    head, *sections = re.split(r"^(?=## K)", text, flags=re.M)
    sections += [f"## {code}\n\n```text\n```\n\n" for code in new]
    sections = [section.rstrip() + "\n\n" for section in sorted(sections)]
    _MESSAGES.write_text(head + "".join(sections).rstrip() + "\n", encoding="utf-8")
    return [f"{_MESSAGES.name}: {code} is new" for code in new]


def accept() -> list[str]:
    """Write what is printed now into the files; the places that changed. Never in CI."""
    if os.environ.get("CI"):
        raise SystemExit("snapshots are not accepted in CI")
    changed = _add_new_codes()
    for snapshot in reversed(list(snapshots())):
        new = snapshot.actual()
        if new == snapshot.expected:
            continue
        text = snapshot.file.read_text(encoding="utf-8")
        snapshot.file.write_text(text[: snapshot.start] + new + text[snapshot.end :], encoding="utf-8")
        changed.append(f"{snapshot.file.name}: {snapshot.heading} ({snapshot.form})")
    return changed
