"""Edits of program text: annotations that are added to forms or changed in place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from itertools import pairwise

from kina.diagnostics.diff import apply_edits as edited
from kina.diagnostics.finding import Edit
from kina.frontend.ast import Annotated
from kina.frontend.ir import Annotation, Mesh
from kina.frontend.reader import read
from kina.source import Source, Span

_PLAIN = re.compile(r"[^\s()\[\]\"|;,@:=]+")


def axis_word(axis: str) -> str:
    """A mesh axis as it is written in a program, between bars if it has unusual characters."""
    if _PLAIN.fullmatch(axis):
        return axis
    return "|" + axis.replace("\\", "\\\\").replace("|", "\\|") + "|"


def sharded_text(mesh: Mesh, dim: int, axes: tuple[str, ...], priority: int = 0) -> str:
    """The annotation that splits `dim` over `axes`; `mesh=` is left out where the mesh has one axis only."""
    parts = [f"axis={dim}"]
    if len(mesh.axes) > 1 or len(axes) > 1:
        words = ",".join(map(axis_word, axes))
        parts.append(f"mesh={words}" if len(axes) == 1 else f"mesh=({words})")
    if priority:
        parts.append(f"priority={priority}")
    return f"@sharded({', '.join(parts)})"


def with_priority(note: Annotation, priority: int) -> Edit:
    """The edit that gives an annotation another priority and leaves the rest of it as it is written."""
    text = re.sub(r",?\s*priority\s*=\s*\d+", "", note.span.text)
    return Edit(note.span, f"{text.removesuffix(')')}, priority={priority})")


def with_axes(note: Annotation, axes: tuple[str, ...], mesh: Mesh) -> Edit:
    """The edit that lets an annotation split its dim over other axes."""
    assert note.dim is not None
    return Edit(note.span, sharded_text(mesh, note.dim, axes, note.priority))


def with_dim(note: Annotation, dim: int) -> Edit:
    """The edit that lets an annotation split another dim and leaves the rest of it as it is written."""
    return Edit(note.span, re.sub(r"(\baxis\s*=\s*)\d+", rf"\g<1>{dim}", note.span.text, count=1))


def annotated_form(span: Span, annotation: str) -> Edit:
    """The edit that puts an annotation on the expression at `span`."""
    return Edit(span, f"(@ {span.text} {annotation})")


def without_annotations(spans: Sequence[Span]) -> tuple[Edit, ...]:
    """The edits that take annotations of one file away, and the `(@ …)` of those that then have none."""
    gone = {(span.start, span.end) for span in spans}
    edits = [Edit(_with_space(span), "") for span in spans]
    for form in _annotated_forms(spans[0].source):
        own = {(note.span.start, note.span.end) for note in form.annotations}
        if own <= gone:
            edits = [edit for edit in edits if not form.span.start <= edit.span.start < form.span.end]
            edits.append(Edit(form.span, form.value.span.text))
    return tuple(sorted(edits, key=lambda edit: edit.span.start))


def _with_space(span: Span) -> Span:
    """The place with the space before it."""
    start = span.start
    while start and span.source.text[start - 1].isspace():
        start -= 1
    return Span(span.source, start, span.end)


def _annotated_forms(source: Source) -> Iterator[Annotated]:
    """The forms `(@ value @annotation …)` of a file, outer ones first."""
    queue: list[object] = [read(source)]
    for node in queue:
        if isinstance(node, Annotated):
            yield node
        if isinstance(node, (tuple, list)):
            queue.extend(node)
        elif is_dataclass(node) and not isinstance(node, (Span, Source)):
            queue.extend(getattr(node, each.name) for each in fields(node))


def apply_edits(source: Source, edits: Iterable[Edit]) -> Source:
    """The source with the edits made, each once; all of them must lie in it and must not overlap."""
    return Source(source.name, edited(source.text, set(edits)))


def overlap(edits: Iterable[Edit]) -> bool:
    """Whether two edits of one file change the same characters, or put something in at one place."""
    places = sorted((edit.span.start, edit.span.end) for edit in set(edits))
    return any(
        start < end or (start, stop) == (before, end) for (before, end), (start, stop) in pairwise(places)
    )
