"""Passes over a formed program: ops nobody uses are dropped, constants are copied for each use.

A value that depends on no parameter can take any layout for free, so it must not carry a layout
from one of its uses to another (design: a constant takes layouts and never passes one on).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kina.frontend.ir import Op, Program, Value
from kina.frontend.names import Names
from kina.frontend.renumber import renumbered_op, renumbered_value

#: Copies of constant ops, at most: this many, or twice the ops of the program.
_COPIES_ALLOWED = 20_000


def drop_unused(program: Program) -> Program:
    """The program without ops whose results nobody uses, unless an annotation stands on one."""
    return _renumber(program, program.values, _used(program), ())


def separate_constants(program: Program) -> Program:
    """The same, with each cone of constants copied for each op that uses it from outside.

    A cone is the ops that a constant value depends on; inside one copy, sharing is kept. If copies
    would make the program too large, the rest of the cones stay shared.
    """
    used = _used(program)
    cones, constants = _constant_ops(program, used)
    if not cones:
        return _renumber(program, program.values, used, ())
    copier = _Copier(program, used, cones)
    copier.keep(program.results)
    for op in used:
        if op.id not in cones:
            copier.outside(op)
    copies = [value.id for value in copier.values[len(program.values) :]]
    return _renumber(program, copier.values, copier.ops, (*constants, *copies))


def _used(program: Program) -> Sequence[Op]:
    """The ops that a result or an annotated value depends on."""
    needed = {*program.results, *[annotation.value for annotation in program.annotations]}
    kept: list[Op] = []
    for op in reversed(program.ops):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands)
            kept.append(op)
    kept.reverse()
    return kept


def _constant_ops(program: Program, used: Iterable[Op]) -> tuple[dict[int, Op], set[int]]:
    """The `used` ops, by id, and values that depend on no parameter and carry no annotation."""
    annotated = {annotation.value for annotation in program.annotations}
    ops: dict[int, Op] = {}
    values: set[int] = set()
    for op in used:
        if values.issuperset(op.operands) and annotated.isdisjoint(op.results):
            ops[op.id] = op
            values.update(op.results)
    return ops, values


@dataclass(slots=True)
class _Copier:
    """Lays out ops anew: each op outside the cones, after a copy of the cone that it uses."""

    program: Program
    used: Sequence[Op]
    cones: Mapping[int, Op]
    values: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    names: Names = field(default_factory=Names)
    producer: dict[int, Op] = field(default_factory=dict)
    placed: set[int] = field(default_factory=set)
    allowed: int = 0

    def __post_init__(self) -> None:
        values = self.program.values
        self.values.extend(values)
        self.names.taken.update([values[value].name for value in self.program.parameters])
        self.names.taken.update([values[result].name for op in self.used for result in op.results])
        self.allowed = max(_COPIES_ALLOWED, 2 * len(self.used))
        for op in self.cones.values():
            self.producer.update(dict.fromkeys(op.results, op))

    def outside(self, op: Op) -> None:
        """Places an op that is no constant, with a cone of its own."""
        roots = [operand for operand in op.operands if operand in self.producer]
        if not roots:
            self.ops.append(op)
            return
        cone = self._cone(roots)
        copied = [part for part in cone if part.id in self.placed]
        if len(copied) > self.allowed:
            # From the first cone that does not fit on, all are shared: one look at each is too much.
            self.allowed = -1
        if self.allowed < 0:
            self._place([part for part in cone if part.id not in self.placed])
            self.ops.append(op)
            return
        self.allowed -= len(copied)
        renamed = self._copy(cone)
        self.ops.append(_op(op, _substituted(op.operands, renamed), op.results))

    def keep(self, results: Iterable[int]) -> None:
        """Places the constants that are results of the program, under their own names."""
        roots = [result for result in results if result in self.producer]
        self._place([part for part in self._cone(roots) if part.id not in self.placed])

    def _cone(self, roots: Sequence[int]) -> list[Op]:
        """The ops that `roots` depend on, operands first; only those not yet placed once sharing began."""
        found: dict[int, Op] = {}
        waiting = list(roots)
        while waiting:
            op = self.producer[waiting.pop()]
            if op.id in found or (self.allowed < 0 and op.id in self.placed):
                continue
            found[op.id] = op
            waiting.extend(op.operands)
        return [found[op_id] for op_id in sorted(found)]

    def _place(self, cone: Iterable[Op]) -> None:
        for op in cone:
            self.placed.add(op.id)
            self.ops.append(op)

    def _copy(self, cone: Iterable[Op]) -> dict[int, int]:
        """Places a cone, ops placed before as copies with new results; old value -> new value."""
        renamed: dict[int, int] = {}
        for op in cone:
            if op.id not in self.placed and not renamed:
                self._place((op,))
                continue
            operands = _substituted(op.operands, renamed)
            results = op.results
            if op.id in self.placed:
                results = tuple([self._new_value(result) for result in op.results])
                renamed.update(zip(op.results, results, strict=True))
            self.placed.add(op.id)
            self.ops.append(_op(op, operands, results))
        return renamed

    def _new_value(self, value: int) -> int:
        old = self.values[value]
        new = replace(old, id=len(self.values), name=self.names.fresh(old.name))
        self.values.append(new)
        return new.id


def _substituted(operands: tuple[int, ...], renamed: dict[int, int]) -> tuple[int, ...]:
    return tuple([renamed.get(operand, operand) for operand in operands]) if renamed else operands


def _renumber(
    program: Program, values: Sequence[Value], ops: Sequence[Op], constants: Iterable[int]
) -> Program:
    """The program of `ops` with values numbered anew: parameters first, then results in op order."""
    order = [*program.parameters, *[result for op in ops for result in op.results]]
    number = {old: new for new, old in enumerate(order)}
    if len(values) == len(order) and all(old == new for new, old in enumerate(order)):
        numbered = tuple(values)
    else:
        numbered = tuple(
            [renumbered_value(values[old], new, values[old].name) for new, old in enumerate(order)]
        )
    return replace(
        program,
        values=numbered,
        ops=tuple([renumbered_op(op, index, number) for index, op in enumerate(ops)]),
        parameters=tuple([number[value] for value in program.parameters]),
        results=tuple([number[value] for value in program.results]),
        annotations=tuple(
            [replace(annotation, value=number[annotation.value]) for annotation in program.annotations]
        ),
        constants=frozenset([number[value] for value in constants if value in number]),
        cotangents=tuple(
            [(number[a], number[b]) for a, b in program.cotangents if a in number and b in number]
        ),
    )


def _op(op: Op, operands: tuple[int, ...], results: tuple[int, ...]) -> Op:
    return Op(op.id, op.kind, operands, results, op.attributes, op.span, op.origin)
