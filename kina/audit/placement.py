"""How the ports of one op lie on the devices of a mesh."""

from __future__ import annotations

from dataclasses import dataclass

from kina.audit.instance import Instance
from kina.frontend.ir import Mesh, MeshAxis, TensorType
from kina.plan.decisions import Layout, Pending


@dataclass(frozen=True, slots=True)
class PortState:
    """How an operand or a result lies: the axes of each dim, and over which axes it is pending.

    Of an operand, the first device along each axis of `kept` holds the value, and the others hold what
    changes nothing.
    """

    layout: Layout
    pending: Pending = ()
    kept: frozenset[str] = frozenset()

    @property
    def axes(self) -> tuple[str, ...]:
        """All axes that the state uses, in order of its dims."""
        return (*(axis for axes in self.layout for axis in axes), *(axis for axis, _ in self.pending))

    def text(self, type_: TensorType) -> str:
        """The type with the layout: `f32[8@a,4]{sum b}`."""
        dims = [
            str(size) if not axes else f"{size}@{axes[0]}" if len(axes) == 1 else f"{size}@({','.join(axes)})"
            for size, axes in zip(type_.shape, self.layout, strict=True)
        ]
        parts = ", ".join(f"{reduction} {axis}" for axis, reduction in self.pending)
        return f"{type_.dtype}[{','.join(dims)}]" + (f"{{{parts}}}" if parts else "")


@dataclass(frozen=True, slots=True)
class Placement:
    """The operands as an op takes them on the devices of `mesh`, and the results as it leaves them."""

    mesh: Mesh
    operands: tuple[PortState, ...]
    results: tuple[PortState, ...]

    def texts(self, instance: Instance) -> tuple[str, ...]:
        """The types of operands and results with their layouts."""
        states = (*self.operands, *self.results)
        return tuple(state.text(type_) for state, type_ in zip(states, instance.types, strict=True))


def whole(rank: int) -> PortState:
    """Every device has all of it."""
    return PortState(((),) * rank)


def make_mesh(*sizes: int) -> Mesh:
    """A mesh with axes `a`, `b`, … of these sizes."""
    return Mesh(tuple(MeshAxis("abcdef"[place], size) for place, size in enumerate(sizes)))
