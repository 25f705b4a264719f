"""An op on one device, as emitters get it, and how most are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from kina.frontend.ir import Op
from kina.mlir.emit_lines import Lines, Tensor
from kina.mlir.emit_moves import Mover
from kina.mlir.grid import Grid
from kina.plan.decisions import Layout


@dataclass(frozen=True, slots=True)
class Site:
    """An op with its operands as this device holds them, and the global and local shapes of its results."""

    op: Op
    operands: tuple[Tensor, ...]
    #: global shapes of the operands
    wholes: tuple[tuple[int, ...], ...]
    elements: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    layouts: tuple[Layout, ...]
    names: tuple[str, ...]
    lines: Lines
    mover: Mover
    grid: Grid

    def number(self, name: str) -> int:
        return cast(int, self.op.attribute(name))

    def list(self, name: str) -> tuple[int, ...]:
        return cast("tuple[int, ...]", self.op.attribute(name))

    def word(self, name: str) -> str:
        return cast(str, self.op.attribute(name))

    def flag(self, name: str) -> bool:
        return cast(bool, self.op.attribute(name))

    def spanned(self, sizes: Sequence[int], whole: Sequence[int], local: Sequence[int]) -> tuple[int, ...]:
        """Sizes of a window on the device: where it takes a dim in full, it takes the shard in full."""
        return tuple(
            here if size == full else size for size, full, here in zip(sizes, whole, local, strict=True)
        )


Emitted = tuple[Tensor, ...]
Emit = Callable[[Site], Emitted]


def alike(site: Site) -> Emitted:
    """Operands and result have one type, which is written once."""
    return (site.lines.alike(site.op.kind, site.operands, site.names[0]),)


def typed(site: Site, clauses: str = "", kind: str = "", operands: Sequence[Tensor] | None = None) -> Emitted:
    """Operands and result each have a type of their own; `clauses` are its attributes."""
    made = site.lines.typed(
        kind or site.op.kind,
        site.operands if operands is None else operands,
        site.elements[0],
        site.shapes[0],
        clauses,
        site.names[0],
    )
    return (made,)


def several(lines: Lines, like: Sequence[Tensor], names: Sequence[str]) -> Emitted:
    """Results of one op under one name, `%name#0` and on; a single one has the name itself."""
    base = lines.name(names[0] if names else "")
    if len(like) == 1:
        return (lines.tensor(base, like[0].element, like[0].shape),)
    return tuple(lines.tensor(f"{base}#{i}", each.element, each.shape) for i, each in enumerate(like))


def binding(results: Emitted) -> str:
    """How results are bound: `%name:2`."""
    return results[0].name if len(results) == 1 else f"{results[0].name.split('#')[0]}:{len(results)}"
