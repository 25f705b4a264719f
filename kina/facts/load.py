"""From the derived relations back to data about the program: layouts, plan, coercions, collectives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kina.facts.dump import PARAMETER, RESULT, operand_port, result_port
from kina.facts.names import encode
from kina.frontend.ir import Program
from kina.frontend.ops import OPS
from kina.plan.decisions import (
    Coercion,
    Collective,
    Decisions,
    Layout,
    Localised,
    OpPlan,
    Pending,
    Step,
)
from kina.plan.memory import peak_bytes
from kina.plan.reasons import reason
from kina.plan.schedule import schedule

Key = TypeVar("Key", str, int)

Relations = Mapping[str, Sequence[tuple[str | int, ...]]]

#: The relations that `load` reads.
OUTPUTS = (
    "stored",
    "at_port",
    "split",
    "left_pending",
    "all_gather",
    "all_reduce",
    "all_to_all",
    "reduce_scatter",
    "slice",
    "masks",
    "permutes",
)

#: Those that it reads besides if the program declares ops.
DECLARED_OUTPUTS = ("attribute_follows",)


class _Place(NamedTuple):
    """What a port id stands for: `side` is "operand", "result" or "parameter"; `op` is -1 for a parameter."""

    side: str
    op: int
    pos: int
    value: int


def load(program: Program, relations: Relations, solver: tuple[str, str]) -> Decisions:
    """The decisions in the derived relations of a program; `solver` is the name and version of the engine."""
    reader = _Reader(program)
    stored = reader.layouts(relations["stored"])
    pending = reader.pending(relations["left_pending"])
    at_port = reader.port_layouts(relations["at_port"])
    plans = reader.plans(at_port, relations["split"])
    coercions = reader.coercions(relations, stored, plans, pending)
    collectives = tuple(reader.report(coercions))
    return Decisions(
        layouts=reader.with_unit_axes(stored),
        pending=pending,
        priorities=reader.priorities(relations.get("granted", ())),
        plans=plans,
        coercions=coercions,
        collectives=collectives,
        findings=(),
        cost_bytes=sum(collective.bytes for collective in collectives),
        peak_bytes=peak_bytes(program, stored, coercions),
        solver_name=solver[0],
        solver_version=solver[1],
        localised=reader.localised(relations.get("attribute_follows", ())),
    )


class _Reader:
    """The names of one program's facts, decoded."""

    def __init__(self, program: Program) -> None:
        self.program = program
        names = [encode(value.name) for value in program.values]
        self.values = {name: value.id for name, value in zip(names, program.values, strict=True)}
        self.ops = {names[op.results[0]]: op.id for op in program.ops}
        self.axes = {encode(axis.name): axis.name for axis in program.mesh.axes}
        self.sizes = {axis.name: axis.size for axis in program.mesh.axes}
        self._lists: dict[str | int, tuple[str, ...]] = {}

    def place(self, port: str) -> _Place:
        """What a port id stands for; KeyError, ValueError or IndexError if there is no such port."""
        name, _, end = port.rpartition("/")
        if end == PARAMETER:
            value = self.values[name]
            return _Place("parameter", -1, self.program.parameters.index(value), value)
        op = self.program.ops[self.ops[name]]
        if end.startswith(RESULT):
            pos = int(end.removeprefix(RESULT))
            return _Place("result", op.id, pos, op.results[pos])
        return _Place("operand", op.id, int(end), op.operands[int(end)])

    def axis_list(self, word: str | int) -> tuple[str, ...]:
        """The axes of a list as it stands in facts."""
        if word not in self._lists:
            self._lists[word] = tuple(self.axes[axis] for axis in str(word).split(","))
        return self._lists[word]

    def layouts(self, rows: Iterable[tuple[str | int, ...]]) -> tuple[Layout, ...]:
        """The longest list of each dim of each value."""
        longest = self._longest((self.values[str(name)], dim, word) for name, dim, word in rows)
        return tuple(_layout(longest.get(value.id), value.type.rank) for value in self.program.values)

    def _longest(
        self, rows: Iterable[tuple[Key, str | int, str | int]]
    ) -> dict[Key, dict[int, tuple[str, ...]]]:
        """Of (key, number, list) the longest list of each number of each key: rows hold its prefixes too."""
        longest: defaultdict[Key, dict[int, tuple[str, ...]]] = defaultdict(dict)
        for key, number, word in rows:
            # A hundred thousand rows hold a few dozen lists: mostly nothing is called.
            axes = self._lists.get(word) or self.axis_list(word)
            known, place = longest[key], int(number)
            if place not in known or len(axes) > len(known[place]):
                known[place] = axes
        return longest

    def with_unit_axes(self, layouts: tuple[Layout, ...]) -> tuple[Layout, ...]:
        """The layouts with annotated axes of size 1, which the rules do not know, in their places."""
        whole = list(layouts)
        for note in self.program.annotations:
            if note.kind != "sharded" or all(self.sizes[axis] > 1 for axis in note.axes):
                continue
            dims = list(whole[note.value])
            assert note.dim is not None
            dims[note.dim] = note.axes
            whole[note.value] = tuple(dims)
        return tuple(whole)

    def pending(self, rows: Iterable[tuple[str | int, ...]]) -> dict[int, Pending]:
        """Over which axes values are left pending, or given so, and by which reduction."""
        found: defaultdict[int, set[tuple[str, str]]] = defaultdict(set)
        for name, axis, reduction in rows:
            found[self.values[str(name)]].add((self.axes[str(axis)], str(reduction)))
        for note in self.program.annotations:
            if note.kind == "pending":
                found[note.value].update((axis, note.reduction or "sum") for axis in note.axes)
        order = {axis: number for number, axis in enumerate(self.sizes)}
        return {
            value: tuple(sorted(pairs, key=lambda pair: order[pair[0]])) for value, pairs in found.items()
        }

    def priorities(self, rows: Iterable[tuple[str | int, ...]]) -> dict[tuple[int, int], int]:
        """The last priority that the layout of a dim needed, where that is not 0."""
        last: dict[tuple[int, int], int] = {}
        for name, dim, _, priority in rows:
            if priority:
                key = (self.values[str(name)], int(dim))
                last[key] = max(int(priority), last.get(key, 0))
        return last

    def port_layouts(self, rows: Iterable[tuple[str | int, ...]]) -> dict[str, dict[int, tuple[str, ...]]]:
        """The longest list of each dim of each port, of those that are split."""
        return self._longest((str(port), dim, word) for _, port, dim, word in rows)

    def plans(
        self, at_port: Mapping[str, Mapping[int, tuple[str, ...]]], rows: Iterable[tuple[str | int, ...]]
    ) -> tuple[OpPlan, ...]:
        """The plan of each op."""
        factors = self._longest((self.ops[str(name)], factor, word) for name, factor, word in rows)
        ranks = [len(value.type.shape) for value in self.program.values]
        plans = []
        for name, op in zip(self.ops, self.program.ops, strict=True):
            operands = [
                _layout(at_port.get(operand_port(name, pos)), ranks[value])
                for pos, value in enumerate(op.operands)
            ]
            results = [
                _layout(at_port.get(result_port(name, pos)), ranks[value])
                for pos, value in enumerate(op.results)
            ]
            split = tuple(sorted(factors[op.id].items())) if op.id in factors else ()
            plans.append(OpPlan(op.id, tuple(operands), tuple(results), split))
        return tuple(plans)

    def localised(self, rows: Iterable[tuple[str | int, ...]]) -> dict[int, tuple[Localised, ...]]:
        """The attributes of each declared op that follow dims, in the order of the facts."""
        found: defaultdict[int, list[Localised]] = defaultdict(list)
        for op, name, index, port, dim in rows:
            try:
                place = self.place(str(port))
            except (KeyError, ValueError, IndexError):
                continue  # an added rule speaks of a port that there is not
            if place.op != self.ops.get(str(op)) or self.program.ops[place.op].kind in OPS:
                continue
            found[place.op].append(Localised(str(name), int(index), place.side, place.pos, int(dim)))
        return {op: tuple(each) for op, each in found.items()}

    def coercions(
        self,
        relations: Relations,
        stored: tuple[Layout, ...],
        plans: tuple[OpPlan, ...],
        pending: Mapping[int, Pending],
    ) -> tuple[Coercion, ...]:
        """The coercions in the order of the program; operands that need the same conversion share one."""
        shared: dict[tuple[object, ...], Coercion] = {}
        moves = self._moves(relations)
        places = {port: self.place(port) for port in moves}
        for port, place in sorted(places.items(), key=lambda each: self._order(each[1])):
            coercion = self._coercion(place, tuple(moves[port]), stored, plans, pending)
            key = (place.side, place.value, coercion.after, coercion.pending_after)
            if place.side == "operand" and key in shared:
                known = shared[key]
                shared[key] = _with_use(known, coercion.uses)
                continue
            shared[key if place.side == "operand" else (port,)] = coercion
        return tuple(shared.values())

    @staticmethod
    def _order(place: _Place) -> tuple[int, int, int]:
        return place.op, 1 if place.side == "result" else 0, place.pos

    def _moves(self, relations: Relations) -> dict[str, list[Step]]:
        """The moves at each port, one axis each."""
        moves: defaultdict[str, list[Step]] = defaultdict(list)
        for port, axis, dim in relations["all_gather"]:
            moves[str(port)].append(Step("all_gather", self.axis_list(axis), int(dim)))
        for port, axis, dim, place in relations["all_to_all"]:
            moves[str(port)].append(Step("all_to_all", self.axis_list(axis), int(dim), int(place)))
        for port, axis, dim in relations["slice"]:
            moves[str(port)].append(Step("slice", self.axis_list(axis), int(dim)))
        for port, axis, kind, dim in relations["reduce_scatter"]:
            moves[str(port)].append(
                Step("reduce_scatter", self.axis_list(axis), int(dim), reduction=str(kind))
            )
        for port, axis, kind in relations["all_reduce"]:
            moves[str(port)].append(Step("all_reduce", self.axis_list(axis), reduction=str(kind)))
        for port, axis, kind in relations["masks"]:
            moves[str(port)].append(Step("mask", self.axis_list(axis), reduction=str(kind)))
        for (port,) in relations["permutes"]:
            moves[str(port)].append(Step("collective_permute", ()))
        return moves

    def _coercion(
        self,
        place: _Place,
        moves: tuple[Step, ...],
        stored: tuple[Layout, ...],
        plans: tuple[OpPlan, ...],
        pending: Mapping[int, Pending],
    ) -> Coercion:
        value = place.value
        match place.side:
            case "operand":
                before, after = stored[value], plans[place.op].operands[place.pos]
            case "result":
                before, after = plans[place.op].results[place.pos], stored[value]
            case _:
                before = after = stored[value]
        steps = schedule(
            tuple(self._permute_axes(step, before, after) for step in moves),
            before,
            after,
            self.sizes,
            self.program.type_of(value).bytes,
        )
        completed = tuple(
            (axis, str(step.reduction))
            for step in steps
            if step.kind in ("all_reduce", "reduce_scatter")
            for axis in step.axes
        )
        masked = tuple((step.axes[0], str(step.reduction)) for step in steps if step.kind == "mask")
        kept = pending.get(value, ())
        if place.side == "operand":
            known = tuple(pair for pair in kept if pair not in completed)
            pending_before, pending_after = kept, (*known, *masked)
        else:
            known = tuple(pair for pair in kept if pair not in masked and pair not in completed)
            pending_before, pending_after = (*known, *completed), (*known, *masked)
        uses = ((place.op, place.pos),) if place.op >= 0 else ()
        return Coercion(value, place.side, uses, before, after, pending_before, pending_after, steps)

    def _permute_axes(self, step: Step, before: Layout, after: Layout) -> Step:
        """A permute with the axes that change their places, in the order of the mesh."""
        if step.kind != "collective_permute":
            return step
        changed = {
            axis for one, two in zip(before, after, strict=True) if one != two for axis in (*one, *two)
        }
        return Step(step.kind, tuple(axis for axis in self.sizes if axis in changed))

    def report(self, coercions: Iterable[Coercion]) -> Iterable[Collective]:
        """The steps that move data, as they are shown."""
        for coercion in coercions:
            for step in coercion.steps:
                if step.kind in ("slice", "mask"):
                    continue
                op = self.program.ops[coercion.uses[0][0]] if coercion.uses else None
                value = self.program.values[coercion.value]
                yield Collective(
                    step.kind,
                    step.axes,
                    coercion.value,
                    self.program.values[op.results[0]].name if op else value.name,
                    op.span if op else value.span,
                    step.bytes,
                    reason(self.program, coercion, step),
                )


def _layout(dims: Mapping[int, tuple[str, ...]] | None, rank: int) -> Layout:
    """The axes of each of `rank` dims; `dims` has those that are split."""
    if not dims:
        return ((),) * rank
    layout: list[tuple[str, ...]] = [()] * rank
    for dim, axes in dims.items():
        layout[dim] = axes
    return tuple(layout)


def _with_use(coercion: Coercion, uses: tuple[tuple[int, int], ...]) -> Coercion:
    return Coercion(
        coercion.value,
        coercion.side,
        (*coercion.uses, *uses),
        coercion.before,
        coercion.after,
        coercion.pending_before,
        coercion.pending_after,
        coercion.steps,
    )
