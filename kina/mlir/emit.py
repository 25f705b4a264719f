"""Writes the per-device program of a checked program as one StableHLO module.

The text runs unchanged in XLA, in the StableHLO interpreter and in Kina's simulator: local shapes, every
argument and result marked manual, a channel of its own for each collective. What is whole and how it is
split stands in `kina.layout` of each argument and result, the mesh in `kina.mesh`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from kina.frontend.ir import Op, Program
from kina.mlir.emit_declared import Declared
from kina.mlir.emit_lines import Lines, Tensor
from kina.mlir.emit_moves import Mover
from kina.mlir.emit_own import EMIT
from kina.mlir.emit_ports import Port, draws, layout_text
from kina.mlir.emit_site import Site
from kina.mlir.emit_text import ELEMENTS, string
from kina.mlir.grid import Grid
from kina.mlir.render import render_lines, render_module
from kina.plan.decisions import Coercion, Decisions, Layout, Pending, Step
from kina.plan.reasons import reason


class PlanError(AssertionError):
    """The plan does not give an op the layout that it needs: a fault of Kina, never of its user."""


@dataclass(frozen=True, slots=True)
class _Held:
    """A value as the devices hold it."""

    tensor: Tensor
    layout: Layout


def emit(program: Program, decisions: Decisions) -> str:
    """The text of the module. PlanError if the decisions contradict each other."""
    emitter = _Emitter(program, decisions)
    emitter.parameters()
    for op in program.ops:
        emitter.op(op)
    return emitter.module()


@dataclass(slots=True)
class _Emitter:
    program: Program
    decisions: Decisions
    grid: Grid = field(init=False)
    lines: Lines = field(init=False, default_factory=Lines)
    mover: Mover = field(init=False)
    declared: Declared = field(init=False)
    #: value id -> how it is stored
    held: dict[int, _Held] = field(init=False, default_factory=dict)
    arguments: list[Tensor] = field(init=False, default_factory=list)
    #: coercion -> its copy, made at the first use
    copies: dict[int, _Held] = field(init=False, default_factory=dict)
    #: (op, position) -> the coercion of that operand, and of that result
    at_operand: dict[tuple[int, int], int] = field(init=False, default_factory=dict)
    at_result: dict[tuple[int, int], Coercion] = field(init=False, default_factory=dict)
    at_parameter: dict[int, list[Coercion]] = field(init=False, default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self.grid = Grid(self.program.mesh)
        self.mover = Mover(self.grid, self.lines)
        self.declared = Declared(self.program, self.decisions, self.grid)
        for number, coercion in enumerate(self.decisions.coercions):
            match coercion.side:
                case "operand":
                    self.at_operand.update(dict.fromkeys(coercion.uses, number))
                case "result":
                    self.at_result.update(dict.fromkeys(coercion.uses, coercion))
                case _:
                    self.at_parameter[coercion.value].append(coercion)

    def parameters(self) -> None:
        """The arguments, and what is completed of them before anything else."""
        for value in self.program.parameters:
            type_ = self.program.type_of(value)
            layout = self.grid.real(self.decisions.layouts[value])
            tensor = self.lines.tensor(
                self.lines.name(self.program.values[value].name),
                ELEMENTS[type_.dtype],
                self.grid.local(type_.shape, layout),
            )
            self.arguments.append(tensor)
            self.held[value] = _Held(tensor, layout)
        for value, coercions in self.at_parameter.items():
            for coercion in coercions:
                self.held[value] = self._coerced(self.held[value], coercion)

    def op(self, op: Op) -> None:
        """The conversions of its operands, the op itself, the conversions of its results."""
        program, plan = self.program, self.decisions.plans[op.id]
        operands = tuple(
            [self._operand(op, pos, value, plan.operands[pos]) for pos, value in enumerate(op.operands)]
        )
        layouts = tuple([self.grid.real(layout) for layout in plan.results])
        types = [program.type_of(value) for value in op.results]
        shapes = [self.grid.local(type_.shape, layout) for type_, layout in zip(types, layouts, strict=True)]
        site = Site(
            op,
            operands,
            tuple([program.type_of(value).shape for value in op.operands]),
            tuple([ELEMENTS[type_.dtype] for type_ in types]),
            tuple(shapes),
            layouts,
            tuple([program.values[value].name for value in op.results]),
            self.lines,
            self.mover,
            self.grid,
        )
        made = self.declared.call(site) if op.kind not in EMIT else EMIT[op.kind](site)
        for pos, (value, tensor, shape) in enumerate(zip(op.results, made, shapes, strict=True)):
            if tensor.shape != shape:
                raise PlanError(
                    f"`{program.values[value].name}` has the local shape {tensor.shape}, not {shape}"
                )
            held = _Held(tensor, layouts[pos])
            coercion = self.at_result.get((op.id, pos))
            self.held[value] = held if coercion is None else self._coerced(held, coercion)

    def _operand(self, op: Op, pos: int, value: int, layout: Layout) -> Tensor:
        held = self.held[value]
        number = self.at_operand.get((op.id, pos))
        if number is not None:
            if number not in self.copies:
                self.copies[number] = self._coerced(held, self.decisions.coercions[number])
            held = self.copies[number]
        if held.layout != layout and held.layout != self.grid.real(layout):
            raise PlanError(
                f"operand {pos} of `{op.kind}` (`{self.program.values[op.results[0]].name}`), "
                f"`{self.program.values[value].name}`, is held as {held.layout} and needed as {layout}"
            )
        return held.tensor

    def _coerced(self, held: _Held, coercion: Coercion) -> _Held:
        """The value after all moves of the coercion; each move says in the text why it is there."""
        before, after = self.grid.real(coercion.before), self.grid.real(coercion.after)
        name = self.program.values[coercion.value].name
        if held.layout != before:
            raise PlanError(f"`{name}` is converted from {before}, but it is held as {held.layout}")
        tensor, layout = held.tensor, held.layout
        for step in coercion.steps:
            tensor, layout = self.mover.move(tensor, step, layout, after, self._cause(coercion, step))
        if layout != after:
            raise PlanError(f"the moves of `{name}` lead to {layout}, not to {after}")
        return _Held(tensor, layout)

    def _cause(self, coercion: Coercion, step: Step) -> str:
        if step.kind in ("slice", "mask"):
            return ""
        op = self.program.ops[coercion.uses[0][0]] if coercion.uses else None
        span = op.span if op is not None else self.program.values[coercion.value].span
        return f"{span.file}:{span.line}: {reason(self.program, coercion, step)}"

    def module(self) -> str:
        program = self.program
        results = [self.held[value] for value in program.results]
        mesh = ", ".join(f"[{string(axis.name)}, {axis.size} : i64]" for axis in program.mesh.axes)
        carries = ", ".join(f"[{result} : i64, {parameter} : i64]" for result, parameter in program.carries)
        return render_module(
            carries=f"[{carries}]",
            entry=string(program.entry),
            mesh=f"[{mesh}]",
            devices=program.mesh.devices,
            arguments=self._arguments(),
            results=[
                self._port(value, held.tensor, self._returned_pending(value), "")
                for value, held in zip(program.results, results, strict=True)
            ],
            lines=render_lines(self.lines.lines),
            functions=self.declared.functions,
            returned=", ".join(held.tensor.name for held in results),
            result_types=", ".join(held.tensor.text for held in results),
        )

    def _arguments(self) -> list[Port]:
        hints = draws(self.program)
        given: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
        for note in self.program.annotations:
            if note.kind == "pending":
                given[note.value].extend((axis, note.reduction or "sum") for axis in note.axes)
        return [
            self._port(value, tensor, tuple(given[value]), hints.get(value, ""))
            for value, tensor in zip(self.program.parameters, self.arguments, strict=True)
        ]

    def _port(self, value: int, tensor: Tensor, pending: Pending, draw: str) -> Port:
        known = self.program.values[value]
        layout = self.decisions.layouts[value]
        return Port(tensor.name, tensor.text, layout_text(known.name, known.type, layout, pending, draw))

    def _returned_pending(self, value: int) -> Pending:
        """The axes over which a returned value is left pending."""
        completed = {
            pair for coercion in self.at_parameter.get(value, ()) for pair in coercion.pending_before
        } - {pair for coercion in self.at_parameter.get(value, ()) for pair in coercion.pending_after}
        left = self.decisions.pending.get(value, ())
        return tuple(pair for pair in left if pair not in completed and self.grid.sizes[pair[0]] > 1)
