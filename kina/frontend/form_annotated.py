"""A program's text with the layouts that were deduced written into it as annotations."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kina.frontend.form import RecordedPlace, form_recorded
from kina.frontend.ir import Program, Value
from kina.frontend.reader import read
from kina.frontend.tokens import quote_axis
from kina.source import Source, Span

Layout = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class _Given:
    """What annotations already say of a value: the dims that they split, and whether others stay whole."""

    dims: frozenset[int]
    closed: bool
    any: bool


def annotate(
    source: Source,
    program: Program,
    layouts: Mapping[int, Layout],
    priorities: Mapping[tuple[int, int], int] | None = None,
    beside: Iterable[Source] = (),
) -> str:
    """The text of `source`, from which `program` was formed, with its values' `layouts` as annotations.

    `layouts` has for each value the axes of each dim, and `priorities` for a value and a dim the
    priority at which these came there, 0 where it has none: the plan ranks by it. The files `beside` it
    belong to its rules. Annotated are
    parameters and every op or call that is written in this file and stands for one layout, however
    often it is inlined or repeated; annotations that are there stay.
    """
    mesh = {axis.name: axis.size for axis in program.mesh.axes}
    _, places = form_recorded(read(source), program.entry, mesh, source, [read(each) for each in beside])
    by_name = {value.name: value for value in program.values}
    given = _given(program)
    settled = {annotation.value for annotation in program.annotations if annotation.settled}
    edits: dict[Span, str] = {}
    extends: dict[Span, bool] = {}
    for span, instances in _chosen(places).items():
        values = [by_name[place.value] for place in instances if place.value in by_name]
        ranks = priorities or {}
        if not settled.isdisjoint(value.id for value in values):
            ranks = {**ranks, **_latest(values, ranks)}
        texts = {_text(value, program, given, layouts, ranks) for value in values}
        if len(texts) == 1 and (text := texts.pop()):
            edits[span] = text
            extends[span] = instances[0].extends
    return _edited(source, edits, extends)


def _latest(values: Iterable[Value], priorities: Mapping[tuple[int, int], int]) -> dict[tuple[int, int], int]:
    """For each dim of values that stand at one place the latest priority of them all.

    A conflict is settled for the first of alike ones, from which the others have it by an earlier priority.
    """
    dims = [(value.id, dim) for value in values for dim in range(value.type.rank)]
    last: dict[int, int] = {}
    for value, dim in dims:
        last[dim] = max(last.get(dim, 0), priorities.get((value, dim), 0))
    return {(value, dim): last[dim] for value, dim in dims}


def _given(program: Program) -> dict[int, _Given]:
    """What stands in the text; what settles a conflict does not."""
    given: dict[int, _Given] = {}
    for annotation in (each for each in program.annotations if not each.settled):
        old = given.get(annotation.value, _Given(frozenset(), False, False))
        dims = old.dims | ({annotation.dim} if annotation.dim is not None else set())
        leaves_none = annotation.kind == "replicated" and len(annotation.axes) == len(program.mesh.axes)
        closed = old.closed or annotation.kind == "closed" or leaves_none
        given[annotation.value] = _Given(dims, closed, True)
    return given


def _chosen(places: Iterable[RecordedPlace]) -> dict[Span, list[RecordedPlace]]:
    """The places to write at, with all values that each stood for.

    A value that several forms stood for, a call and the op that its function returns, is written at
    the form that has annotations or declares a parameter, else at the outermost.
    """
    at: dict[Span, list[RecordedPlace]] = defaultdict(list)
    best: dict[str, RecordedPlace] = {}
    for place in places:
        at[place.span].append(place)
        old = best.get(place.value)
        if old is None or place.extends or not old.extends:
            best[place.value] = place
    chosen = {place.span for place in best.values()}
    return {span: instances for span, instances in at.items() if span in chosen}


def _text(
    value: Value,
    program: Program,
    given: Mapping[int, _Given],
    layouts: Mapping[int, Layout],
    priorities: Mapping[tuple[int, int], int],
) -> str:
    """The annotations that are missing on a value, empty if none is."""
    layout = layouts.get(value.id)
    if layout is None or not layout or value.id in program.constants:
        return ""
    has = given.get(value.id, _Given(frozenset(), False, False))
    if not any(layout) and not has.any:
        return "@replicated"
    parts: list[str] = []
    for dim, axes in enumerate(layout):
        if axes and dim not in has.dims:
            parts.append(_sharded(dim, axes, priorities.get((value.id, dim), 0)))
    if not has.closed and not all(layout):
        parts.append("@closed")
    return " ".join(parts)


def _sharded(dim: int, axes: tuple[str, ...], priority: int) -> str:
    names = ",".join([quote_axis(axis) for axis in axes])
    mesh = f"({names})" if len(axes) > 1 else names
    rank = f", priority={priority}" if priority else ""
    return f"@sharded(axis={dim}, mesh={mesh}{rank})"


def _edited(source: Source, edits: Mapping[Span, str], extends: Mapping[Span, bool]) -> str:
    """The text with each edit made: before the closing bracket of its form, or around the form."""
    inserts: list[tuple[int, int, str]] = []
    for span, text in edits.items():
        if extends[span]:
            inserts.append((span.end - 1, 0, f" {text}"))
            continue
        # At one place the outer form opens first and closes last.
        inserts.append((span.start, -span.end, "(@ "))
        inserts.append((span.end, -span.start, f" {text})"))
    parts: list[str] = []
    done = 0
    for offset, _, text in sorted(inserts):
        parts.append(source.text[done:offset])
        parts.append(text)
        done = offset
    parts.append(source.text[done:])
    return "".join(parts)
