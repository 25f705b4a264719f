"""Repairs of conflicts: edits that are made, checked, and offered if they settle what they are for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from kina.diagnose.case import Case, Fact, axis_words, plural
from kina.diagnose.conflicts import LAYER, Conflict, Side, asked, causes, conflict_finding, conflicts
from kina.diagnose.edits import annotated_form, sharded_text, with_dim, with_priority
from kina.diagnose.steps import STEP_RELATIONS, Place, steps
from kina.diagnostics.finding import Edit, Finding, Help
from kina.frontend.ir import Annotation, Program
from kina.plan.decisions import Decisions
from kina.source import Span

#: Helps of one finding, and collectives that a help names one by one.
_MOST_HELPS, _NAMED = 5, 2

#: Causes of conflicts for which all repairs are tried; each takes half a dozen runs.
_ALL_TRIED = 3


@dataclass(frozen=True, slots=True)
class Tried:
    """What a check with edits came to: whether it passed, the conflicts that it found, its plan and bytes.

    `conflicts` is None if the program does not stand with the edits for another reason. `gathered` are the
    reshapes and tensors that are gathered for them, and `program` is the one that was checked.
    """

    passed: bool
    conflicts: frozenset[Fact] | None = None
    plan: str = ""
    bytes: int = 0
    gathered: frozenset[Fact] = frozenset()
    program: Program | None = None

    def gathers(self, fact: Fact) -> bool:
        """Whether what a tuple of `gathered_to_reshape` says is so for some dim and axis."""
        return fact[:2] in self.gathered


#: Makes edits and checks the program.
Trial = Callable[[tuple[Edit, ...]], Tried]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Edits that may settle conflicts. `moves` says whether something is stored otherwise then."""

    message: str
    edits: tuple[Edit, ...]
    moves: bool = False


def conflict_findings(case: Case, trial: Trial) -> Iterator[Finding]:
    """One finding for each cause; for each conflict of it, if no repair settles them together.

    Where there are many causes the first ones have all repairs that work, the others the first one only.
    """
    groups = causes(case, conflicts(case))
    known: dict[frozenset[Edit], Tried] = {}

    def tried(edits: tuple[Edit, ...]) -> Tried:
        key = frozenset(edits)
        if key not in known:
            known[key] = trial(edits)
        return known[key]

    firsts, together = _first_repairs(case, groups, tried) if len(groups) > 1 else ([], False)
    for number, group in enumerate(groups):
        if together and number >= _ALL_TRIED:
            yield conflict_finding(case, group, (_only_help(firsts[number], len(groups) - 1),))
            continue
        others = [each for index, each in enumerate(firsts) if index != number]
        beside = tuple(each.edits for each in others if each is not None)
        helps = repairs(case, group, tried, beside)
        if helps or len(group) == 1:
            yield conflict_finding(case, group, helps or (_advice(case, group),))
            continue
        for conflict in group:
            helps = repairs(case, [conflict], tried, beside)
            yield conflict_finding(case, [conflict], helps or (_advice(case, [conflict]),))


def _first_repairs(
    case: Case, groups: Sequence[Sequence[Conflict]], trial: Trial
) -> tuple[list[Candidate | None], bool]:
    """For each cause a repair, and whether the program passes with all of them.

    They are tried together, and each that leaves a conflict of its cause gives way to the next: often one
    run does for all. Where that does not tell them apart, each is tried alone.
    """
    own = [{_place(case, conflict.fact) for conflict in group} for group in groups]
    left = [list(_candidates(case, group)) for group in groups]
    while all(left):
        found = trial(tuple(dict.fromkeys(edit for each in left for edit in each[0].edits)))
        if found.passed:
            return [each[0] for each in left], True
        places = {_place(case, fact) for fact in found.conflicts or ()}
        failed = [number for number, each in enumerate(own) if each & places]
        if not failed or places - set().union(*own):
            break
        for number in failed:
            del left[number][0]
    firsts = [_first(case, group, trial) for group in groups]
    edits = tuple(dict.fromkeys(edit for each in firsts if each is not None for edit in each.edits))
    return firsts, None not in firsts and trial(edits).passed


def _place(case: Case, fact: Fact) -> tuple[object, ...]:
    """Where a conflict is and over what, whichever of its sides comes first; alike in repeated layers."""
    name, *asks = fact
    value = case.values.get(str(name))
    sides = frozenset([tuple(asks[:2]), tuple(asks[2:])])
    return LAYER.sub("[]", value.name) if value is not None else name, sides


def _only_help(first: Candidate | None, others: int) -> Help:
    """The first repair of a cause among many."""
    assert first is not None
    help_ = _help(first, Tried(True), others)
    return Help(f"{help_.message}; more are tried when fewer conflicts are left", help_.edits)


def _first(case: Case, group: Sequence[Conflict], trial: Trial) -> Candidate | None:
    """A repair of the group: after it there are no conflicts but those of other groups."""
    own = {_place(case, conflict.fact) for conflict in group}
    others = {_place(case, fact) for fact in case.rows("conflict")} - own
    for candidate in _candidates(case, group):
        found = trial(candidate.edits)
        left = None if found.conflicts is None else {_place(case, fact) for fact in found.conflicts}
        if found.passed or (left is not None and left <= others):
            return candidate
    return None


def repairs(
    case: Case, group: Sequence[Conflict], trial: Trial, beside: tuple[tuple[Edit, ...], ...] = ()
) -> tuple[Help, ...]:
    """What settles the conflicts, together with the edits `beside` that settle others.

    First what stores all as before, then by bytes.
    """
    tried: dict[tuple[Edit, ...], tuple[tuple[bool, int], Help] | None] = {}

    def try_all(candidates: Iterable[Candidate]) -> None:
        for candidate in candidates:
            if candidate.edits not in tried:
                found = trial(tuple(dict.fromkeys(sum(beside, candidate.edits))))
                rank = (candidate.moves, found.bytes)
                help_ = _help(candidate, found, len(beside))
                tried[candidate.edits] = (rank, help_) if found.passed else None

    try_all(_candidates(case, group))
    if not all(tried.values()):
        # more annotations than those of a shortest proof may ask for the same
        try_all(_all_giving_way(case, [_supported(case, conflict) for conflict in group]))
    ranked = sorted((each for each in tried.values() if each is not None), key=lambda pair: pair[0])
    return tuple(help_ for _, help_ in ranked[:_MOST_HELPS])


def _help(candidate: Candidate, found: Tried, others: int) -> Help:
    if not others:
        return Help(f"{candidate.message}; {found.plan}", candidate.edits, verified=True)
    which = "the other conflict" if others == 1 else "each other conflict"
    return Help(f"{candidate.message}; checked together with the first help of {which}", candidate.edits)


def _advice(case: Case, group: Sequence[Conflict]) -> Help:
    """What is said where no repair that was tried settles it."""
    names = _names(case, [note for conflict in group for note in conflict.notes])
    return Help(f"rank what {names} ask for: those with a later `priority=` give way")


def _candidates(case: Case, group: Sequence[Conflict]) -> Iterator[Candidate]:
    if len(group) == 1:
        yield from _on_result(case, group[0])
    yield from _all_giving_way(case, group)
    if len(group) == 1:
        yield from _moved(case, group[0].one, group[0].two, group[0])
        yield from _moved(case, group[0].two, group[0].one, group[0])


def _all_giving_way(case: Case, group: Sequence[Conflict]) -> Iterator[Candidate]:
    parties = _parties(group)
    for own, rivals in (parties, parties[::-1]):
        if own and rivals:
            yield _giving_way(case, own, rivals)


def _on_result(case: Case, conflict: Conflict) -> Iterator[Candidate]:
    """An annotation on the tensor, where its form is what the op makes and nothing else comes after it."""
    value = conflict.value
    inside = {operand for op in case.program.ops if op.span == value.span for operand in op.operands}
    if value.id in inside or value.id in case.program.parameters:
        return
    for side in (conflict.one, conflict.two):
        edit = annotated_form(value.span, sharded_text(case.program.mesh, side.dim, side.axes))
        yield Candidate(f"say which layout `{case.short(value)}` shall have: {asked(side)}", (edit,))


def _parties(group: Sequence[Conflict]) -> tuple[list[Annotation], list[Annotation]]:
    """The annotations of the two parties: a side goes with those that it shares most annotations with.

    One that both sides rest on is of the party that it came to first: nothing gives way to itself.
    """
    one: dict[Span, Annotation] = {}
    two: dict[Span, Annotation] = {}
    for conflict in group:
        first = {note.span: note for note in conflict.one.notes}
        second = {note.span: note for note in conflict.two.notes}
        straight = len(first.keys() & one.keys()) + len(second.keys() & two.keys())
        if len(first.keys() & two.keys()) + len(second.keys() & one.keys()) > straight:
            first, second = second, first
        for own, rivals, side in ((one, two, first), (two, one, second)):
            own.update({span: note for span, note in side.items() if span not in rivals})
    return _ordered(one.values()), _ordered(two.values())


def _supported(case: Case, conflict: Conflict) -> Conflict:
    """The conflict with all annotations that each side can come from."""
    name = conflict.fact[0]
    sides = []
    for place, side in zip((1, 3), (conflict.one, conflict.two), strict=True):
        fact = (name, conflict.fact[place], conflict.fact[place + 1])
        sides.append(Side(side.dim, side.axes, case.supporters("root_ask", fact), side.values))
    return Conflict(conflict.fact, conflict.value, *sides)


def _ordered(notes: Iterable[Annotation]) -> list[Annotation]:
    return sorted(notes, key=lambda note: note.span.start)


def _giving_way(case: Case, own: Sequence[Annotation], rivals: Sequence[Annotation]) -> Candidate:
    """A later priority for one party."""
    later = max(note.priority for note in rivals) + 1
    edits = tuple(with_priority(note, later) for note in own)
    return Candidate(f"let {_names(case, own)} give way to {_names(case, rivals)}", edits)


def _names(case: Case, notes: Iterable[Annotation]) -> str:
    names = list(dict.fromkeys(f"`{_name(case, note)}`" for note in notes))
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]


def _name(case: Case, note: Annotation) -> str:
    """The tensor of an annotation; where it stands for one in each of many layers, `layer[…].w`."""
    name = case.short(case.program.values[note.value])
    alike = sum(each.span == note.span for each in case.program.annotations)
    return LAYER.sub("[…]", name) if alike > 1 else name


def _moved(case: Case, side: Side, rival: Side, conflict: Conflict) -> Iterator[Candidate]:
    """The only annotation of a side, put on the dim that becomes the one which the other side asks for."""
    if len(side.notes) != 1 or not all(case.relations.get(name) is not None for name in STEP_RELATIONS):
        return
    note = side.notes[0]
    dim = _counterpart(case, conflict, side, rival.dim, note)
    if dim is None or dim == note.dim:
        return
    name = case.short(case.program.values[note.value])
    words = f"split `{name}` on dim {dim} over {axis_words(note.axes)}, not on dim {note.dim}"
    yield Candidate(words, (with_dim(note, dim),), moves=True)


def _counterpart(case: Case, conflict: Conflict, side: Side, dim: int, note: Annotation) -> int | None:
    """The dim of the annotated tensor that becomes `dim` of the contested one on the way of a side."""
    names = {case.value(name).id: name for name in side.values if name in case.values}
    sources: dict[Place, list[Place]] = {}
    for way in steps(case.rows):
        if way.kind == "same" and way.source[0] in side.values:
            sources.setdefault(way.target, []).append(way.source)
    queue: list[Place] = [(str(conflict.fact[0]), dim)]
    seen = set(queue)
    for place in queue:
        if place[0] == names.get(note.value):
            return place[1]
        fresh = [each for each in sources.get(place, ()) if each not in seen]
        seen.update(fresh)
        queue += fresh
    return None


def plan_words(case: Case, decisions: Decisions) -> str:
    """What a plan moves, in words: `k` then moves by all_gather, 324 bytes."""
    moves = [
        f"`{case.short(case.program.values[each.value])}` {'then moves ' if not number else ''}by {each.kind}"
        for number, each in enumerate(decisions.collectives[: _NAMED + 1])
    ]
    if not moves:
        return "the plan then has no collective"
    if len(moves) <= _NAMED:
        return f"{' and '.join(moves)}, {plural(decisions.cost_bytes, 'byte')}"
    counts = Counter(collective.kind for collective in decisions.collectives)
    words = " + ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return f"the plan then has {words}, {plural(decisions.cost_bytes, 'byte')}"
