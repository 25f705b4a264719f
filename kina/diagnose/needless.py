"""Annotations that change nothing: redundant ones (K503) and ones without effect (K502).

Candidates are found in what the rules derived; a warning is given only if the program was checked again
without them and every layout and collective is the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from kina.diagnose.case import LARGE, Case, plural
from kina.diagnose.edits import apply_edits, without_annotations
from kina.diagnose.steps import STEP_RELATIONS, Place, Way, steps
from kina.diagnostics.finding import Finding, Help, Label, ProgramError
from kina.facts.axes import axes_word
from kina.facts.names import encode
from kina.frontend.ir import Annotation
from kina.plan.decisions import Decisions
from kina.reach import reached
from kina.source import Source, Span

#: Decides a changed source.
Redecide = Callable[[Source], Decisions]

#: The relations that candidates are found in.
OUTPUTS = ("granted", *STEP_RELATIONS)

#: A place and a list on it.
_Node = tuple[str, int, str]


def needless(case: Case, decisions: Decisions, redecide: Redecide) -> Iterator[Finding]:
    """A warning for the redundant annotations and one for those without effect, each checked."""
    if len(case.program.ops) > LARGE or not case.program.annotations:
        return
    groups = _by_span(_questionable(case))
    if not groups:
        return
    ways = list(steps(case.rows))
    for code, spans in (("K502", _idle(case, groups, ways)), ("K503", _redundant(case, groups, ways))):
        if spans and _same_without(case, decisions, spans, redecide):
            yield _finding(code, case, groups, spans)


def _questionable(case: Case) -> Iterator[Annotation]:
    """The annotations inside: those on parameters and results say how the program meets its surroundings.

    One with a priority of its own ranks its layout, and says so at each place where that matters.
    """
    outside = {*case.program.parameters, *case.program.results}
    notes = case.program.annotations
    return (note for note in notes if note.value not in outside and note.priority == 0)


def _by_span(notes: Iterable[Annotation]) -> dict[Span, list[Annotation]]:
    """Annotations of repeated layers share a place, and stand or fall together."""
    groups: dict[Span, list[Annotation]] = {}
    for note in notes:
        if note.span.text.startswith("@"):
            groups.setdefault(note.span, []).append(note)
    return groups


def _idle(case: Case, groups: Mapping[Span, list[Annotation]], ways: list[Way]) -> list[Span]:
    """`@replicated` where no neighbour has an axis that could come."""
    into: defaultdict[str, set[str]] = defaultdict(set)
    held: defaultdict[Place, set[str]] = defaultdict(set)
    for name, dim, word, _ in case.rows("granted"):
        held[str(name), int(dim)].update(case.axis_list(word))
    for way in ways:
        into[way.target[0]] |= held.get(way.source, set())

    def idle(note: Annotation) -> bool:
        name = encode(case.program.values[note.value].name)
        return note.kind == "replicated" and not into[name].intersection(note.axes)

    return [span for span, notes in groups.items() if all(idle(note) for note in notes)]


def _redundant(case: Case, groups: Mapping[Span, list[Annotation]], ways: list[Way]) -> list[Span]:
    """The splits that arrive from other annotations too: taken away one after another while that is so.

    What comes with a later priority is no support: it would rank the axis otherwise.
    """
    splits = [note for note in case.program.annotations if note.kind == "sharded"]
    left = {span: _seeds(case, notes) for span, notes in _by_span(splits).items()}
    seeds = {span: nodes for span, nodes in left.items() if span in groups}
    if not seeds or len(left) < 2:
        return []
    ranks = {note.span: note.priority for note in splits}
    leads = _leads(case, ways)
    found: list[Span] = []
    for span in sorted(seeds, key=lambda span: (-span.start, span.file)):
        rank = groups[span][0].priority
        others = [other for other in left if other != span and ranks[other] <= rank]
        rest = [node for other in others for node in left[other]]
        if set(seeds[span]) <= reached(rest, leads):
            del left[span]
            found.append(span)
    return found[::-1]


def _seeds(case: Case, notes: Iterable[Annotation]) -> list[_Node]:
    sizes = {axis.name: axis.size for axis in case.program.mesh.axes}
    return [
        (encode(case.program.values[note.value].name), note.dim or 0, axes_word(axes[:count]))
        for note in notes
        for axes in [tuple(axis for axis in note.axes if sizes[axis] > 1)]
        for count in range(1, len(axes) + 1)
    ]


def _leads(case: Case, ways: list[Way]) -> Mapping[_Node, list[_Node]]:
    """From each list that holds to those it leads to at its neighbours."""
    words: defaultdict[Place, set[str]] = defaultdict(set)
    for name, dim, word, _ in case.rows("granted"):
        words[str(name), int(dim)].add(str(word))
    leads: defaultdict[_Node, list[_Node]] = defaultdict(list)
    for way in ways:
        for source in words.get(way.source, ()):
            leads[*way.source, source].extend(
                (*way.target, target) for target in words.get(way.target, ()) if _follows(way, source, target)
            )
    return leads


def _follows(way: Way, source: str, target: str) -> bool:
    match way.kind:
        case "same":
            return source == target
        case "cut":
            return source.endswith(f",{target}")
        case _:
            return target.endswith(f",{source}")


def _same_without(case: Case, decisions: Decisions, spans: list[Span], redecide: Redecide) -> bool:
    sources = {span.source for span in spans}
    if len(sources) != 1:
        return False
    try:
        changed = redecide(apply_edits(sources.pop(), without_annotations(spans)))
    except ProgramError:
        return False
    return (changed.layouts, changed.pending, changed.cost_bytes) == (
        decisions.layouts,
        decisions.pending,
        decisions.cost_bytes,
    )


def _finding(code: str, case: Case, groups: Mapping[Span, list[Annotation]], spans: list[Span]) -> Finding:
    values = [case.program.values[groups[span][0].value] for span in spans]
    names = ", ".join(f"`{case.short(value)}`" for value in values[:4]) + (", …" if len(values) > 4 else "")
    many = len(spans) > 1
    has = f"{plural(len(spans), 'annotation')} {'have' if many else 'has'} no effect: {names}"
    is_ = f"{plural(len(spans), 'annotation')} {'say' if many else 'says'} what follows without: {names}"
    size = sum(value.type.bytes for value in values)
    below = "keeps off what does not come" if code == "K502" else "arrives here from other annotations"
    word = "take them away" if many else "take it away"
    return Finding(
        code,
        "warning",
        has if code == "K502" else is_,
        spans[0],
        below,
        labels=tuple(Label(span, "likewise") for span in spans[1:4]),
        notes=(
            f"checked without: every layout and collective is the same; {plural(size, 'byte')} are annotated",
        ),
        helps=(Help(word, without_annotations(spans), verified=True),),
        more=(f"`kina explain {code}`",),
    )


def fact_outputs(ops: int) -> tuple[str, ...]:
    """The relations to ask the engine for in a program of so many ops."""
    return OUTPUTS if ops <= LARGE else ()
