"""Tensor types with layouts and pending parts, as they are written everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kina.frontend.ir import TensorType

if TYPE_CHECKING:
    from kina.frontend.ir import Program
    from kina.plan.decisions import Decisions

Layout = Sequence[Sequence[str]]


def axes_text(axes: Sequence[str]) -> str:
    """One axis by its name, several as `(major,minor)`."""
    return axes[0] if len(axes) == 1 else f"({','.join(axes)})"


def type_text(type_: TensorType, layout: Layout, pending: Sequence[tuple[str, str]] = ()) -> str:
    """A type as people write it: `f32[8@data,64@(a,b)]`, `f32[64,64]{sum model}`."""
    dims = [
        f"{size}@{axes_text(axes)}" if axes else str(size)
        for size, axes in zip(type_.shape, layout, strict=True)
    ]
    parts = ", ".join(f"{kind} {axis}" for axis, kind in pending)
    return f"{type_.dtype}[{','.join(dims)}]" + (f"{{{parts}}}" if parts else "")


def value_type(program: Program, decisions: Decisions, value: int) -> str:
    """The decided type of a value, as text."""
    pending = decisions.pending.get(value, ())
    return type_text(program.type_of(value), decisions.layouts[value], pending)
