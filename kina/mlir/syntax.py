"""What the reader makes of MLIR text: modules of functions, whose ops have numbered values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kina.source import Source, Span

#: element type as MLIR writes it -> bytes per element
ELEMENT_BYTES: Mapping[str, int] = MappingProxyType(
    {
        "f32": 4,
        "bf16": 2,
        "f16": 2,
        "f64": 8,
        "i1": 1,
        "i8": 1,
        "i16": 2,
        "i32": 4,
        "i64": 8,
        "ui8": 1,
        "ui16": 2,
        "ui32": 4,
        "ui64": 8,
    }
)

FLOATS = frozenset({"f32", "bf16", "f16", "f64"})

#: ops in which devices meet
COLLECTIVES = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute", "collective_broadcast"}
)


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type, in MLIR's spelling, and shape of a value on one device."""

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
        return self.elements * ELEMENT_BYTES[self.dtype]

    def __str__(self) -> str:
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.dtype}>"


@dataclass(frozen=True, slots=True)
class Dense:
    """The text between the brackets of `dense<…>`, with the type of the elements.

    It stays text until it is needed: most large constants are splats.
    """

    text: str
    type: TensorType


#: An attribute's value: `True` for a unit attribute, enum words without their `#stablehlo<…>`.
AttributeValue = (
    bool | int | float | str | tuple["AttributeValue", ...] | Dense | Mapping[str, "AttributeValue"]
)


@dataclass(frozen=True, slots=True)
class Value:
    """A named value of a function; its number is its index in `Function.values`."""

    name: str
    type: TensorType
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of StableHLO or func, its kind without the dialect's name.

    `attributes` are complete (defaults filled in), sorted by name, and flat: the parts of
    `#stablehlo.gather<…>` are attributes of their own, as in the StableHLO specification.
    Pretty and generic spelling of one op give equal ops.
    """

    kind: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    attributes: tuple[tuple[str, AttributeValue], ...]
    regions: tuple[Block, ...]
    span: Span = field(compare=False, repr=False)
    location: str = field(default="", compare=False)

    def attribute(self, name: str) -> AttributeValue:
        """The value of the attribute `name`; KeyError if the op has none of that name."""
        for key, value in self.attributes:
            if key == name:
                return value
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Block:
    """The only block of a region: the numbers of its arguments, and its ops, the last a `return`."""

    arguments: tuple[int, ...]
    ops: tuple[Op, ...]
    span: Span = field(compare=False, repr=False)

    def walk(self) -> Iterator[Op]:
        """Every op of the block and of the regions in it, outer before inner."""
        todo: list[Op] = list(reversed(self.ops))
        while todo:
            op = todo.pop()
            yield op
            for region in reversed(op.regions):
                todo.extend(reversed(region.ops))


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its values by number, the body's arguments and the attributes beside them and its own."""

    name: str
    public: bool
    values: tuple[Value, ...]
    body: Block
    result_types: tuple[TensorType, ...]
    argument_attributes: tuple[Mapping[str, AttributeValue], ...] = field(compare=False)
    result_attributes: tuple[Mapping[str, AttributeValue], ...] = field(compare=False)
    span: Span = field(compare=False, repr=False)
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict, compare=False)

    @property
    def argument_types(self) -> tuple[TensorType, ...]:
        return tuple(self.values[number].type for number in self.body.arguments)


@dataclass(frozen=True, slots=True)
class Module:
    """One module of per-device code, with the counts of devices that it was written for."""

    name: str
    attributes: Mapping[str, AttributeValue] = field(compare=False)
    functions: tuple[Function, ...]
    source: Source = field(compare=False, repr=False)
    span: Span = field(compare=False, repr=False)

    def _count(self, name: str) -> int:
        count = self.attributes.get(name, 1)
        return count if isinstance(count, int) else 1

    @property
    def partitions(self) -> int:
        return self._count("mhlo.num_partitions")

    @property
    def replicas(self) -> int:
        return self._count("mhlo.num_replicas")

    @property
    def devices(self) -> int:
        return self.partitions * self.replicas

    def function(self, name: str) -> Function:
        """The function `name`; KeyError if there is none."""
        for function in self.functions:
            if function.name == name:
                return function
        raise KeyError(name)

    @property
    def main(self) -> Function:
        """The entry: `main`, which the verifier demands."""
        return self.function("main")
