"""What a declared op is on one device: its shapes, its attributes, and its body at these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn

from kina.diagnostics.finding import Finding, Label, ProgramError, error
from kina.frontend.ir import Attribute, Op, Program, TensorType
from kina.mlir.grid import Grid
from kina.plan.decisions import Decisions, Layout, Localised


@dataclass(frozen=True, slots=True)
class LocalOp:
    """A declared op on one device: its local operands and results, its attributes there, and its body.

    `offsets` have for each position that is different on each device the axes and the size of the shard whose
    beginning is added to it.
    """

    kind: str
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    offsets: Mapping[str, tuple[tuple[str, ...], int]]
    body: Program


def local_op(program: Program, decisions: Decisions, grid: Grid, op: Op) -> LocalOp:
    """A declared op as the plan splits it; ProgramError K904 if its body does not work so."""
    assert program.declared is not None
    operands = _local_types(program, op, op.operands, decisions.plans[op.id].operands, grid)
    results = _local_types(program, op, op.results, decisions.plans[op.id].results, grid)
    changed = _Localiser(program, decisions, grid, op)
    attributes, offsets = changed.attributes()
    try:
        body = program.declared.body(op.kind, operands, attributes)
    except ProgramError as fault:
        _refuse(op, operands, "its body does not work", fault.findings[0])
    found = tuple([body.type_of(value) for value in body.results])
    if found != results:
        gives, says = (", ".join(map(str, each)) for each in (found, results))
        _refuse(op, operands, f"its body gives {gives}, and the rule says {says}")
    return LocalOp(op.kind, operands, results, attributes, offsets, body)


def misfits(program: Program, decisions: Decisions) -> Iterator[Finding]:
    """A finding for each declared op whose body does not work as the plan splits it."""
    if program.declared is None or not program.declared.visible.ops:
        return
    grid = Grid(program.mesh)
    for op in program.ops:
        if op.kind in program.declared.visible.ops:
            try:
                local_op(program, decisions, grid, op)
            except ProgramError as fault:
                yield from fault.findings


def _local_types(
    program: Program, op: Op, values: tuple[int, ...], layouts: tuple[Layout, ...], grid: Grid
) -> tuple[TensorType, ...]:
    types = [program.type_of(value) for value in values]
    try:
        return tuple(
            [
                replace(type_, shape=grid.local(type_.shape, grid.real(layout)))
                for type_, layout in zip(types, layouts, strict=True)
            ]
        )
    except ValueError as wrong:
        raise ProgramError(
            error("K904", f"the rule of `{op.kind}` splits it unevenly: {wrong}", op.span)
        ) from None


def _refuse(op: Op, operands: tuple[TensorType, ...], what: str, inner: Finding | None = None) -> NoReturn:
    at = ", ".join(map(str, operands)) or "no operand"
    notes = [f"one device has {at}"]
    labels: list[Label] = []
    if inner is not None:
        notes.append(inner.message)
        labels += [Label(inner.primary, "here")] if inner.primary is not None else []
    message = f"the rule of `{op.kind}` splits it so that {what}"
    raise ProgramError(error("K904", message, op.span, notes=tuple(notes), labels=tuple(labels)))


@dataclass(frozen=True, slots=True)
class _Localiser:
    """Changes the attributes of one op as the rules say."""

    program: Program
    decisions: Decisions
    grid: Grid
    op: Op

    def attributes(self) -> tuple[tuple[tuple[str, Attribute], ...], dict[str, tuple[tuple[str, ...], int]]]:
        """The attributes on a device, and what is added to its positions."""
        assert self.program.declared is not None
        found = dict(self.op.attributes)
        offsets: dict[str, tuple[tuple[str, ...], int]] = {}
        followed: dict[tuple[str, int], int] = {}
        for each in self.decisions.localised.get(self.op.id, ()):
            axes, size = self._shard(each)
            if not axes:
                # A dim that is whole begins at 0 on every device.
                size = 0
            if each.name in self.program.declared.positions(self.op.kind):
                if offsets.setdefault(each.name, (axes, size)) != (axes, size) or each.index:
                    self._wrong(each.name, "which follows two dims that are split otherwise")
                continue
            parts = self.grid.parts(axes)
            if followed.setdefault((each.name, each.index), parts) != parts:
                self._wrong(each.name, "which follows two dims that are split otherwise")
        for (name, index), parts in followed.items():
            found[name] = self._size(name, index, found.get(name), parts)
        return tuple(sorted(found.items())), offsets

    def _shard(self, each: Localised) -> tuple[tuple[str, ...], int]:
        """The axes that split the dim, and the size of a shard."""
        plan = self.decisions.plans[self.op.id]
        operand = each.side == "operand"
        layout = (plan.operands if operand else plan.results)[each.position]
        value = (self.op.operands if operand else self.op.results)[each.position]
        axes = tuple(axis for axis in layout[each.dim] if self.grid.sizes[axis] > 1)
        return axes, self.program.type_of(value).shape[each.dim] // self.grid.parts(axes)

    def _size(self, name: str, index: int, value: Attribute | None, parts: int) -> Attribute:
        if isinstance(value, tuple) and 0 <= index < len(value):
            return (*value[:index], self._divided(name, value[index], parts), *value[index + 1 :])
        if isinstance(value, bool) or not isinstance(value, int) or index:
            self._wrong(name, f"which has no number at {index}")
        return self._divided(name, value, parts)

    def _divided(self, name: str, value: int, parts: int) -> int:
        if value % parts:
            self._wrong(name, f"which is {value}, and {parts} devices do not divide that")
        return value // parts

    def _wrong(self, name: str, what: str) -> NoReturn:
        message = f"the rule of `{self.op.kind}` lets `{name}` follow a dim, {what}"
        raise ProgramError(error("K904", message, self.op.span))
