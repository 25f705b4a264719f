"""The typed IR: one flat list of StableHLO ops over named values, with annotations.

Functions are inlined and repetitions unrolled before this form exists, so a program is a single
static single-assignment body. Kinds, operand order, attribute names and meanings are those of the
StableHLO specification; `kina.frontend.ops` lists them, and the few kinds that Kina adds.
Regions are replaced by attributes (`reduce` has `kind="sum"`, `scatter` has `combiner="add"`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

from kina.source import Span

if TYPE_CHECKING:
    from kina.datalog.added import AddedFile
    from kina.frontend.body import Declarations

#: An attribute is a number, a flag, a word, or a list of whole numbers.
#: Lists of pairs (`padding` of a convolution) are flattened: low, high, low, high, ...
Attribute = bool | int | float | str | tuple[int, ...]

#: dtype name -> bytes per element
DTYPE_BYTES: Mapping[str, int] = MappingProxyType(
    {"f32": 4, "bf16": 2, "f16": 2, "f64": 8, "i32": 4, "i64": 8, "bool": 1}
)


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and global shape of a value."""

    dtype: str
    shape: tuple[int, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def bytes(self) -> int:
        return self.elements * DTYPE_BYTES[self.dtype]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the program. `id` is its index in `Program.values`.

    `name` is unique in the program (`mlp.h`, `layer[3].wq`, `mlp.add#2`) and is what people see.
    `span` is the form in the user's files that the value stands for: of library code, the call.
    `splat` is the element that a constant repeats, as text that Python's `float` reads.
    """

    id: int
    name: str
    type: TensorType
    span: Span
    splat: str | None = None


@dataclass(frozen=True, slots=True)
class Op:
    """An operation. `id` is its index in `Program.ops`, which is a topological order.

    `origin` is "written" for ops of the program and its library, "derived" for those that `grad` made
    and those that compute with derived values only.
    `attributes` are sorted by name and complete: every attribute of the kind is there.
    """

    id: int
    kind: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    span: Span
    origin: str = "written"

    def attribute(self, name: str) -> Attribute:
        """The value of the attribute `name`; KeyError if the kind has none of that name."""
        for key, value in self.attributes:
            if key == name:
                return value
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class MeshAxis:
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Mesh:
    """A named grid of devices; device numbers are row-major over the axes in this order."""

    axes: tuple[MeshAxis, ...]
    span: Span | None = None

    @property
    def devices(self) -> int:
        count = 1
        for axis in self.axes:
            count *= axis.size
        return count

    @property
    def text(self) -> str:
        """The axes with their sizes, as messages and reports have them: `x=2, y=4`."""
        return ", ".join(f"{axis.name}={axis.size}" for axis in self.axes)

    def size(self, name: str) -> int:
        for axis in self.axes:
            if axis.name == name:
                return axis.size
        raise KeyError(name)


#: How a pending value may be completed.
REDUCTIONS = ("sum", "max", "min", "prod")


@dataclass(frozen=True, slots=True)
class Annotation:
    """What the user wrote on a value. `kind` is one of

    - "sharded": `dim` is split over `axes`, major to minor, at `priority`
    - "replicated": none of `axes` may split the value
    - "closed": dims without a "sharded" annotation stay whole
    - "pending": the value is a pending `reduction`, one of `REDUCTIONS`, over `axes`

    Or what settles a conflict in the user's place: then `settled`.
    """

    value: int
    kind: str
    span: Span
    dim: int | None = None
    axes: tuple[str, ...] = ()
    priority: int = 0
    reduction: str | None = None
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program, ready to be dumped as facts.

    `constants` are the values that depend on no parameter; each such cone is copied for each use
    by an op outside the cone, so that it takes layouts and never passes one on.
    `cotangents` pairs a value with the gradient of the loss with respect to it.
    `carries` pairs the position of a result with the position of the parameter it becomes in the
    next training step; `initial` pairs the position of a parameter with the element, as text that
    Python's `float` reads, that fills it before the first step.
    `declared` are the ops that the program declares, beside those of `kina.frontend.ops`; `rules` are the
    files that are added to the rule base for it.
    """

    mesh: Mesh
    entry: str
    values: tuple[Value, ...]
    ops: tuple[Op, ...]
    parameters: tuple[int, ...]
    results: tuple[int, ...]
    annotations: tuple[Annotation, ...]
    constants: frozenset[int] = frozenset()
    cotangents: tuple[tuple[int, int], ...] = ()
    carries: tuple[tuple[int, int], ...] = ()
    initial: tuple[tuple[int, str], ...] = ()
    declared: Declarations | None = field(default=None, compare=False, repr=False)
    rules: tuple[AddedFile, ...] = field(default=(), compare=False, repr=False)
    span: Span | None = field(default=None, compare=False)

    def type_of(self, value: int) -> TensorType:
        return self.values[value].type


def declared(program: Program) -> bool:
    """Whether a program declares ops of its own."""
    return program.declared is not None and bool(program.declared.visible.ops)
