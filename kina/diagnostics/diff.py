"""The edits of a help as the lines they take away and put in."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from itertools import takewhile

from kina.diagnostics.cells import cells, cut, printable
from kina.diagnostics.finding import Edit
from kina.diagnostics.style import Style
from kina.source import Source


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """`text` with all `edits` of it made, which must not overlap."""
    for edit in sorted(edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.replacement + text[edit.span.end :]
    return text


def diff_lines(edits: Sequence[Edit], home: Source | None, width: int, style: Style) -> list[str]:
    """The changed lines, `-` before `+`, without indentation; a line says where if it is not in `home`."""
    out: list[str] = []
    for source, hunk in _hunks(edits):
        removed, added = _changed(source, hunk)
        if source is not home:
            out.append(style.paint(f"{printable(source.name)}:{hunk[0].span.line}", "dim"))
        removed, added = _tidy(removed, added)
        shift = _first_column(removed, added, width - 2)
        out += [style.paint("- " + _fit(line, shift, width - 2), "removed") for line in removed]
        out += [style.paint("+ " + _fit(line, shift, width - 2), "added") for line in added]
    return out


def _hunks(edits: Sequence[Edit]) -> list[tuple[Source, list[Edit]]]:
    """The edits grouped by file and by touching lines, in order."""
    out: list[tuple[Source, list[Edit]]] = []
    order = {edit.span.source.name: index for index, edit in reversed(list(enumerate(edits)))}
    for edit in sorted(edits, key=lambda edit: (order[edit.span.source.name], edit.span.start)):
        if out and out[-1][0] is edit.span.source and out[-1][1][-1].span.end_line >= edit.span.line:
            out[-1][1].append(edit)
        else:
            out.append((edit.span.source, [edit]))
    return out


def _changed(source: Source, hunk: Sequence[Edit]) -> tuple[list[str], list[str]]:
    first = source.line_starts[hunk[0].span.line - 1]
    last = max(edit.span.end_line for edit in hunk)
    end = (
        first
        + sum(len(part) + 1 for part in source.text[first:].split("\n")[: last - hunk[0].span.line + 1])
        - 1
    )
    after = apply_edits(source.text[:end], hunk)[first:]
    old, new = source.text[first:end].split("\n"), after.split("\n")
    removed: list[str] = []
    added: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += old[a:b]
            added += new[c:d]
    return removed, added


def _tidy(removed: list[str], added: list[str]) -> tuple[list[str], list[str]]:
    """Common indentation, and brackets at the end that close forms begun elsewhere, tell nothing here."""
    both = [printable(line.rstrip()) for line in (*removed, *added)]
    filled = [line for line in both if line.strip()]
    indent = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    both = [line[indent:] for line in both]
    if len(removed) == 1 and len(added) == 1:
        extra = both[0].count(")") - both[0].count("(")
        while extra > 0 and all(line.endswith(")") for line in both):
            both = [line[:-1] for line in both]
            extra -= 1
    return both[: len(removed)], both[len(removed) :]


def _first_column(removed: Sequence[str], added: Sequence[str], width: int) -> int:
    """Where long lines are shown from, so that the change is in view."""
    longest = max((cells(line) for line in (*removed, *added)), default=0)
    if longest <= width or not removed or not added:
        return 0
    pairs = zip(removed[0], added[0], strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return max(0, min(same - width // 3, longest - width))


def _fit(line: str, shift: int, width: int) -> str:
    width = max(width, 20)
    if shift:
        line = "…" + cut(line, shift + 1, cells(line))
    return line if cells(line) <= width else cut(line, 0, width - 1) + "…"
