"""Declared ops as private functions of the module, which hold their bodies at the shapes of one device.

A function is named after its op and called wherever ops of that kind have the same shapes and attributes on a
device, so that the text says which op of the program a computation is. Positions that a device adds the
beginning of its shard to are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kina.frontend.ir import Attribute, Program, TensorType
from kina.mlir.emit_lines import Line, Lines, Tensor
from kina.mlir.emit_moves import Mover
from kina.mlir.emit_own import EMIT
from kina.mlir.emit_site import Emitted, Site, binding, several
from kina.mlir.emit_text import ELEMENTS, identifier, number, string
from kina.mlir.grid import Grid
from kina.mlir.local_op import LocalOp, local_op
from kina.mlir.render import render_lines
from kina.plan.decisions import Decisions

_Key = tuple[str, tuple[TensorType, ...], tuple[tuple[str, Attribute], ...]]


@dataclass(frozen=True, slots=True)
class FunctionText:
    """A private function: its name without `@`, and what stands in its text."""

    name: str
    op: str
    attributes: str
    positions: str
    arguments: tuple[tuple[str, str], ...]
    results: tuple[str, ...]
    lines: tuple[str, ...]
    returned: str


@dataclass(slots=True)
class Declared:
    """The functions of the declared ops of one program, made at their first call."""

    program: Program
    decisions: Decisions
    grid: Grid
    functions: list[FunctionText] = field(default_factory=list)
    _known: dict[_Key, FunctionText] = field(default_factory=dict)

    def call(self, site: Site) -> Emitted:
        """The results of a call of the op's function on this device."""
        op = site.op
        local = local_op(self.program, self.decisions, self.grid, op)
        assert self.program.declared is not None
        fixed = self.program.declared.fixed(op.kind, local.attributes)
        key = (op.kind, local.operands, fixed)
        known = self._known.get(key)
        if known is None:
            positions = self.program.declared.positions(op.kind)
            known = self._known[key] = _function(local, self._name(op.kind), fixed, positions)
            self.functions.append(known)
        operands = [*site.operands, *self._positions(site, local)]
        results = several(
            site.lines,
            [
                site.lines.tensor("", element, shape)
                for element, shape in zip(site.elements, site.shapes, strict=True)
            ],
            site.names,
        )
        fields: dict[str, object] = {
            "results": binding(results),
            "callee": known.name,
            "operands": ", ".join(each.name for each in operands),
            "inputs": ", ".join(each.text for each in operands),
            "types": ", ".join(each.text for each in results),
        }
        site.lines.lines.append(Line("call", fields))
        return results

    def _name(self, kind: str) -> str:
        plain = identifier(kind)
        taken = {"main", *(each.name for each in self.functions)}
        name, count = plain, 1
        while name in taken:
            count += 1
            name = f"{plain}_{count}"
        return name

    def _positions(self, site: Site, local: LocalOp) -> list[Tensor]:
        """The positions of the op on this device."""
        assert self.program.declared is not None
        found = []
        for name in self.program.declared.positions(site.op.kind):
            value = site.lines.scalar(str(site.number(name)), "i32")
            axes, size = local.offsets.get(name, ((), 0))
            if axes:
                value = site.lines.alike("add", (value, site.mover.offset(axes, size)))
            found.append(value)
        return found


def _attributes(attributes: Iterable[tuple[str, Attribute]]) -> str:
    """The attributes as a list of names and values: names of the language need not be names of MLIR."""
    rows = []
    for name, value in attributes:
        match value:
            case bool():
                shown = "true" if value else "false"
            case int():
                shown = f"{value} : i64"
            case float():
                finite = math.isfinite(value)
                shown = f"{number(repr(value), 'f64')} : f64" if finite else string(repr(value))
            case str():
                shown = string(value)
            case tuple():
                shown = f"[{', '.join(f'{each} : i64' for each in value)}]"
        rows.append(f"[{string(name)}, {shown}]")
    return f"[{', '.join(rows)}]"


def _function(
    local: LocalOp, name: str, attributes: tuple[tuple[str, Attribute], ...], positions: Sequence[str]
) -> FunctionText:
    """The body as a function, every op on whole tensors: those of one device."""
    body, lines = local.body, Lines()
    grid = Grid(body.mesh)
    mover = Mover(grid, lines)
    held: dict[int, Tensor] = {}
    for value in body.parameters:
        type_ = body.type_of(value)
        held[value] = lines.tensor(lines.name(body.values[value].name), ELEMENTS[type_.dtype], type_.shape)
    arguments = tuple([(held[value].name, held[value].text) for value in body.parameters])
    for op in body.ops:
        types = [body.type_of(value) for value in op.results]
        site = Site(
            op,
            tuple([held[value] for value in op.operands]),
            tuple([body.type_of(value).shape for value in op.operands]),
            tuple([ELEMENTS[type_.dtype] for type_ in types]),
            tuple([type_.shape for type_ in types]),
            tuple([((),) * type_.rank for type_ in types]),
            tuple([body.values[value].name for value in op.results]),
            lines,
            mover,
            grid,
        )
        held.update(zip(op.results, EMIT[op.kind](site), strict=True))
    returned = [held[value] for value in body.results]
    return FunctionText(
        name,
        string(local.kind),
        _attributes(attributes),
        f"[{', '.join(map(string, positions))}]",
        arguments,
        tuple([each.text for each in returned]),
        tuple(render_lines(lines.lines)),
        f"{', '.join(each.name for each in returned)} : {', '.join(each.text for each in returned)}",
    )
