"""The moves of a coercion as ops: local slices by the device's number, and collectives."""

from __future__ import annotations

from dataclasses import dataclass, field

from kina.mlir.emit_lines import Lines, Tensor
from kina.mlir.emit_text import FLOATS, matrix, string
from kina.mlir.grid import Grid
from kina.plan.decisions import Layout, Step

#: reduction -> the op that combines two elements
COMBINERS = {"sum": "add", "max": "maximum", "min": "minimum", "prod": "multiply", "and": "and", "or": "or"}
_FLAG_COMBINERS = COMBINERS | {"max": "or", "min": "and", "sum": "or", "prod": "and"}


def combiner(reduction: str, element: str) -> str:
    """The op of a reduction's region: of truth values the largest is `or`, the smallest `and`."""
    return (_FLAG_COMBINERS if element == "i1" else COMBINERS)[reduction]


def identity(reduction: str, element: str) -> str:
    """What changes nothing in the reduction, as text that Python's `float` reads.

    >>> identity("max", "f32"), identity("min", "i1"), identity("max", "i32")
    ('-inf', '1', '-2147483648')
    """
    match reduction:
        case "sum" | "or":
            return "0"
        case "prod":
            return "1"
        case "and":
            return "1" if element == "i1" else "-1"
    if element in FLOATS:
        return "-inf" if reduction == "max" else "inf"
    if element == "i1":
        return "0" if reduction == "max" else "1"
    bits = int(element.removeprefix("i")) - 1
    return str(-(2**bits) if reduction == "max" else 2**bits - 1)


@dataclass(slots=True)
class Mover:
    """Writes moves; the device's coordinates are computed once."""

    grid: Grid
    lines: Lines
    _number: Tensor | None = None
    _indices: dict[tuple[str, ...], Tensor] = field(default_factory=dict)
    _texts: dict[tuple[str, ...], str] = field(default_factory=dict)

    def move(
        self, value: Tensor, step: Step, layout: Layout, after: Layout, cause: str
    ) -> tuple[Tensor, Layout]:
        """`value`, which has `layout`, after one step, and its layout then; `cause` is printed."""
        axes = tuple(axis for axis in step.axes if self.grid.sizes[axis] > 1)
        if not axes and step.kind != "collective_permute":
            return value, layout
        dims = list(layout)
        match step.kind:
            case "slice":
                assert step.dim is not None
                dims[step.dim] += axes
                return self.shard(value, step.dim, axes), tuple(dims)
            case "mask":
                assert step.reduction is not None
                return self._mask(value, axes, step.reduction), layout
            case "collective_permute":
                return self._permute(value, layout, after, cause), after
            case "all_reduce":
                return self._reduce(value, step, axes, cause), layout
        assert step.dim is not None
        if step.kind in ("all_gather", "all_to_all"):
            dims[step.dim] = dims[step.dim][: len(dims[step.dim]) - len(axes)]
        if step.kind == "reduce_scatter":
            dims[step.dim] += axes
            return self._scatter(value, step, axes, cause), tuple(dims)
        if step.kind == "all_gather":
            return self._gather(value, step.dim, axes, cause), tuple(dims)
        assert step.to is not None
        dims[step.to] += axes
        return self._exchange(value, step.dim, step.to, axes, cause), tuple(dims)

    def shard_index(self, axes: tuple[str, ...]) -> Tensor:
        """Which shard this device holds of a dim that `axes` split: an i32 of rank 0."""
        if axes not in self._indices:
            self._indices[axes] = self._computed_index(axes)
        return self._indices[axes]

    def _computed_index(self, axes: tuple[str, ...]) -> Tensor:
        if len(axes) == 1:
            return self._coordinate(axes[0])
        major = self.shard_index(axes[:-1])
        scaled = self.lines.alike(
            "multiply", (major, self.lines.scalar(str(self.grid.sizes[axes[-1]]), "i32"))
        )
        return self.lines.alike("add", (scaled, self.shard_index(axes[-1:])))

    def _coordinate(self, axis: str) -> Tensor:
        """`number / stride % size`, without the parts that change nothing."""
        names = list(self.grid.sizes)
        stride = self.grid.parts(tuple(names[names.index(axis) + 1 :]))
        found = self._device()
        if stride > 1:
            found = self.lines.alike("divide", (found, self.lines.scalar(str(stride), "i32")))
        if stride * self.grid.sizes[axis] < self.grid.mesh.devices:
            found = self.lines.alike(
                "remainder", (found, self.lines.scalar(str(self.grid.sizes[axis]), "i32"))
            )
        return found

    def _device(self) -> Tensor:
        if self._number is None:
            number = self.lines.put("partition_id", "ui32", (), {}, "device")
            self._number = self.lines.typed("convert", (number,), "i32", ())
        return self._number

    def offset(self, axes: tuple[str, ...], size: int) -> Tensor:
        """Where this device's shard of `size` elements begins: an i32 of rank 0."""
        return self.lines.alike("multiply", (self.shard_index(axes), self.lines.scalar(str(size), "i32")))

    def shard(self, value: Tensor, dim: int, axes: tuple[str, ...]) -> Tensor:
        """This device's shard of `dim`."""
        size = value.shape[dim] // self.grid.parts(axes)
        zero = self.lines.scalar("0", "i32")
        starts = [zero] * len(value.shape)
        starts[dim] = self.offset(axes, size)
        shape = (*value.shape[:dim], size, *value.shape[dim + 1 :])
        clause = f", sizes = [{', '.join(map(str, shape))}]"
        return self.lines.typed("dynamic_slice", (value, *starts), value.element, shape, clause)

    def _mask(self, value: Tensor, axes: tuple[str, ...], reduction: str) -> Tensor:
        zero = self.lines.scalar("0", "i32")
        first = self.lines.compare("EQ", self.shard_index(axes), zero)
        other = self.lines.filled(identity(reduction, value.element), value)
        return self.lines.typed("select", (first, value, other), value.element, value.shape)

    def _groups(self, axes: tuple[str, ...]) -> str:
        if axes not in self._texts:
            self._texts[axes] = matrix(self.grid.groups(axes), self.grid.parts(axes))
        return self._texts[axes]

    def _collective(
        self, kind: str, value: Tensor, shape: tuple[int, ...], fields: dict[str, object], cause: str
    ) -> Tensor:
        fields |= {
            "operand": value.name,
            "input": value.text,
            "channel": self.lines.channel(),
            "cause": string(cause),
        }
        return self.lines.put(kind, value.element, shape, fields)

    def _reduce(self, value: Tensor, step: Step, axes: tuple[str, ...], cause: str) -> Tensor:
        assert step.reduction is not None
        fields: dict[str, object] = {
            "groups": self._groups(axes),
            "combiner": combiner(step.reduction, value.element),
            "element": f"tensor<{value.element}>",
        }
        return self._collective("all_reduce", value, value.shape, fields, cause)

    def _scatter(self, value: Tensor, step: Step, axes: tuple[str, ...], cause: str) -> Tensor:
        assert step.reduction is not None
        assert step.dim is not None
        fields: dict[str, object] = {
            "groups": self._groups(axes),
            "combiner": combiner(step.reduction, value.element),
            "element": f"tensor<{value.element}>",
            "dim": step.dim,
        }
        shape = _scaled(value.shape, step.dim, 1, self.grid.parts(axes))
        return self._collective("reduce_scatter", value, shape, fields, cause)

    def _gather(self, value: Tensor, dim: int, axes: tuple[str, ...], cause: str) -> Tensor:
        fields: dict[str, object] = {"groups": self._groups(axes), "dim": dim}
        shape = _scaled(value.shape, dim, self.grid.parts(axes), 1)
        return self._collective("all_gather", value, shape, fields, cause)

    def _exchange(self, value: Tensor, dim: int, to: int, axes: tuple[str, ...], cause: str) -> Tensor:
        count = self.grid.parts(axes)
        fields: dict[str, object] = {"groups": self._groups(axes), "split": to, "concat": dim, "count": count}
        shape = _scaled(_scaled(value.shape, to, 1, count), dim, count, 1)
        return self._collective("all_to_all", value, shape, fields, cause)

    def _permute(self, value: Tensor, before: Layout, after: Layout, cause: str) -> Tensor:
        """Shards to the devices that want them. Nobody sends to itself: the interpreter hangs on that."""
        pairs = self.grid.exchange(self.grid.real(before), self.grid.real(after))
        moving = [pair for pair in pairs if pair[0] != pair[1]]
        if not moving:
            return value
        moved = self._collective(
            "collective_permute", value, value.shape, {"pairs": matrix(moving, 2)}, cause
        )
        if len(moving) == len(pairs):
            return moved
        targets = {target for _, target in moving}
        staying = ["false" if device in targets else "true" for device in range(len(pairs))]
        table = self.lines.constant(f"[{', '.join(staying)}]", "i1", (len(pairs),))
        entry = self.lines.typed("dynamic_slice", (table, self._device()), "i1", (1,), ", sizes = [1]")
        stays = self.lines.typed("reshape", (entry,), "i1", ())
        return self.lines.typed("select", (stays, value, moved), value.element, value.shape)


def _scaled(shape: tuple[int, ...], dim: int, times: int, parts: int) -> tuple[int, ...]:
    return (*shape[:dim], shape[dim] * times // parts, *shape[dim + 1 :])
