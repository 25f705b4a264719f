"""Instances of every op: operand types and attributes that show all that its rules say.

They are ops and no rules: what is split, combined or kept whole is asked of the rules with each of them.
Sizes that need not be equal differ, so that no rule holds by chance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kina.frontend.ir import Attribute, Mesh, Op, Program, TensorType, Value
from kina.frontend.ops import OPS, OpError, complete, infer
from kina.source import Source, Span

if TYPE_CHECKING:
    from kina.frontend.body import Declarations

_TYPE = re.compile(r"(\w+)\[([\d,]*)\](?:=(\S+))?")


@dataclass(frozen=True, slots=True)
class Operand:
    """The type of an operand, and the one element that it repeats if it is such a constant."""

    type: TensorType
    splat: str | None = None

    def __str__(self) -> str:
        return f"{self.type}" if self.splat is None else f"{self.type}={self.splat}"


@dataclass(frozen=True, slots=True)
class Instance:
    """One op with its operands and its complete attributes; `given` are those that are no defaults.

    `splat` is the element that its results repeat, if they do.
    """

    kind: str
    operands: tuple[Operand, ...]
    results: tuple[TensorType, ...]
    attributes: tuple[tuple[str, Attribute], ...]
    given: tuple[str, ...] = ()
    splat: str | None = None

    @property
    def text(self) -> str:
        """What sets the instance apart: operand types and given attributes."""
        types = ", ".join(map(str, self.operands)) or ", ".join(map(str, self.results))
        values = [f"{name}={_shown(value)}" for name, value in self.attributes if name in self.given]
        return "; ".join([types, *([" ".join(values)] if values else [])])


@dataclass(frozen=True, slots=True)
class _Row:
    kind: str
    operands: str
    given: Mapping[str, Attribute] = field(default_factory=dict)


def _row(kind: str, operands: str, /, **given: Attribute) -> _Row:
    return _Row(kind, operands, given)


#: Kinds that are not listed take tensors of one shape and the first dtype that suits them.
_ROWS = (
    _row("multiply", "f32[4,6] f32[4,6]"),
    _row("multiply", "i32[4,6] i32[4,6]"),
    _row("divide", "f32[4,6] f32[4,6]"),
    _row("divide", "i32[4,6] i32[4,6]"),
    _row("convert", "bf16[4,6]", dtype="f32"),
    _row("convert", "f32[4,6]", dtype="bf16"),
    _row("convert", "f32[4,6]", dtype="i32"),
    _row("convert", "bool[4,6]", dtype="i32"),
    _row("convert", "i64[4,6]", dtype="i32"),
    _row("compare", "f32[4,6] f32[4,6]", comparison_direction="LT"),
    _row("compare", "f32[4,6] f32[4,6]", comparison_direction="EQ"),
    _row("select", "bool[4,6] f32[4,6] f32[4,6]"),
    _row("broadcast_in_dim", "f32[4,1]", shape=(8, 4, 6), broadcast_dimensions=(1, 2)),
    _row("transpose", "f32[4,6,8]", permutation=(2, 0, 1)),
    _row("reshape", "f32[4,6,10]", shape=(24, 10)),
    _row("reshape", "f32[24,10]", shape=(4, 6, 10)),
    _row("reshape", "f32[4,6]", shape=(8, 3)),
    _row("reshape", "f32[4,9]", shape=(6, 6)),
    _row("reshape", "f32[2,15]", shape=(3, 10)),
    _row("slice", "f32[4,6]", start_indices=(0, 0), limit_indices=(4, 3)),
    _row("slice", "f32[4,6]", start_indices=(1, 0), limit_indices=(4, 6), strides=(1, 2)),
    _row("slice", "f32[4,6]", start_indices=(1, 0), limit_indices=(4, 6), strides=(2, 3)),
    _row("dynamic_slice", "f32[4,6] i32[] i32[]", slice_sizes=(4, 3)),
    _row("dynamic_update_slice", "f32[4,6] f32[4,3] i32[] i32[]"),
    _row("concatenate", "f32[4,6] f32[4,8]", dimension=1),
    _row("pad", "f32[4,6] f32[]=0.0", edge_padding_low=(0, 1), edge_padding_high=(0, 2)),
    _row("pad", "f32[4,6] f32[]=7.0", edge_padding_low=(0, 0), interior_padding=(0, 1)),
    _row("pad", "f32[4,6] f32[]", edge_padding_low=(0, -1)),
    _row("pad", "f32[4,6] f32[]=1.0", edge_padding_high=(0, 2), interior_padding=(0, 2)),
    _row("reverse", "f32[4,6]", dimensions=(1,)),
    *(
        _row("reduce", f"{dtype}[4,6,8]", dimensions=(1,), kind=kind)
        for kind, dtype in (
            ("sum", "f32"),
            ("max", "f32"),
            ("min", "f32"),
            ("prod", "f32"),
            ("and", "bool"),
            ("or", "bool"),
            ("and", "i32"),
        )
    ),
    _row("reduce", "f32[4,6]", dimensions=(), kind="sum"),
    _row("cumulative", "f32[4,6]", dimension=1, kind="sum"),
    _row("cumulative", "f32[4,6]", dimension=1, kind="max"),
    _row("argmax", "f32[4,6,8]", dimension=1),
    _row("sort", "f32[4,6] i32[4,6]", dimension=1),
    _row("top_k", "f32[4,6]", k=2),
    _row(
        "dot_general",
        "f32[4,6,8] f32[4,8,10]",
        lhs_batching_dimensions=(0,),
        rhs_batching_dimensions=(0,),
        lhs_contracting_dimensions=(2,),
        rhs_contracting_dimensions=(1,),
    ),
    _row(
        "dot_general",
        "f32[6,8,10] f32[10,8,4]",
        lhs_contracting_dimensions=(1, 2),
        rhs_contracting_dimensions=(1, 0),
    ),
    _row("dot_general", "f32[6] f32[8]"),
    _row("convolution", "f32[4,6,10] f32[8,6,3]"),
    _row("convolution", "f32[4,6,10] f32[8,3,3]", feature_group_count=2),
    _row("convolution", "f32[4,6,10] f32[8,6,3]", batch_group_count=2),
    _row(
        "gather",
        "f32[20,6] i32[4,8,1]",
        offset_dims=(2,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=2,
        slice_sizes=(1, 6),
    ),
    _row(
        "gather",
        "f32[20,6] i32[1,4]",
        offset_dims=(1,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=0,
        slice_sizes=(1, 3),
    ),
    _row(
        "gather",
        "f32[4,20,6] i32[4,8,1]",
        offset_dims=(2,),
        collapsed_slice_dims=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
        start_index_map=(1,),
        index_vector_dim=2,
        slice_sizes=(1, 1, 6),
    ),
    *(
        _row(
            "scatter",
            f"f32[20,6]{splat} i32[4,1] f32[4,6]",
            update_window_dims=(1,),
            inserted_window_dims=(0,),
            scatter_dims_to_operand_dims=(0,),
            index_vector_dim=1,
            combiner=combiner,
        )
        for combiner, splat in (
            ("add", ""),
            ("add", "=0.0"),
            ("set", ""),
            ("max", ""),
            ("min", ""),
            ("mul", ""),
            ("mul", "=1.0"),
        )
    ),
    _row(
        "scatter",
        "f32[4,20,6] i32[4,8,1] f32[4,8,6]",
        update_window_dims=(2,),
        inserted_window_dims=(1,),
        input_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
        scatter_dims_to_operand_dims=(1,),
        index_vector_dim=2,
        combiner="set",
    ),
    _row(
        "scatter",
        "f32[20,6] i32[4,2] f32[4,1,6]",
        update_window_dims=(1, 2),
        scatter_dims_to_operand_dims=(0, 1),
        index_vector_dim=1,
        combiner="add",
    ),
    _row(
        "scatter",
        "f32[20,6] i32[4,1] f32[4,6]",
        update_window_dims=(1,),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=1,
        combiner="add",
        unique_indices=True,
    ),
    _row(
        "scatter",
        "f32[20] i32[] f32[]",
        update_window_dims=(),
        inserted_window_dims=(0,),
        scatter_dims_to_operand_dims=(0,),
        index_vector_dim=0,
        combiner="max",
    ),
    _row("iota", "", iota_dimension=1, dtype="i32", shape=(4, 6)),
    _row("constant", "", value="0.5", dtype="f32", shape=(4, 6)),
    _row("constant", "", data="1 2 3 4", dtype="f32", shape=(2, 2)),
    _row("optimization_barrier", "f32[4,6]"),
    _row("optimization_barrier", "f32[4,6] f32[8]"),
)
_ANY = ("f32", "bool", "i32")


def instances() -> tuple[Instance, ...]:
    """At least one instance of every kind, in the order of the op table."""
    rows: dict[str, list[_Row]] = {}
    for row in _ROWS:
        rows.setdefault(row.kind, []).append(row)
    return tuple(
        made for kind in OPS for made in (map(_made, rows[kind]) if kind in rows else (_any_shape(kind),))
    )


def _made(row: _Row) -> Instance:
    operands = tuple(_operands(row.operands))
    types = [operand.type for operand in operands]
    attributes = complete(row.kind, types, row.given)
    results = infer(row.kind, types, dict(attributes))
    splat = row.given.get("value") if row.kind == "constant" else None
    return Instance(
        row.kind, operands, results, attributes, tuple(sorted(row.given)), str(splat) if splat else None
    )


def _operands(text: str) -> Iterator[Operand]:
    for dtype, shape, splat in _TYPE.findall(text):
        sizes = tuple(int(size) for size in shape.split(",") if size)
        yield Operand(TensorType(dtype, sizes), splat or None)


def _any_shape(kind: str) -> Instance:
    """An instance of a kind without required attributes; StopIteration if no dtype suits it."""
    for dtype in _ANY:
        try:
            return _made(_row(kind, " ".join([f"{dtype}[4,6]"] * OPS[kind].least)))
        except OpError:
            continue
    raise LookupError(f"`{kind}` needs an instance of its own")


def instance_of(program: Program, op: Op) -> Instance:
    """What rules may know of an op of a program if they look at nothing but it."""
    operands = [program.values[value] for value in op.operands]
    results = [program.values[value] for value in op.results]
    return Instance(
        op.kind,
        tuple(Operand(value.type, value.splat) for value in operands),
        tuple(value.type for value in results),
        op.attributes,
        splat=results[0].splat,
    )


def program_of(made: Sequence[Instance], declared: Declarations | None = None) -> Program:
    """The instances side by side in one program without a mesh: op `i` is instance `i`.

    `declared` has the ops that are not in the op table.
    """
    values: list[Value] = []
    ops: list[Op] = []
    place = Span(Source("instances", ""), 0, 0)

    def add(name: str, type_: TensorType, splat: str | None = None) -> int:
        values.append(Value(len(values), name, type_, place, splat))
        return values[-1].id

    parameters: list[int] = []
    for number, instance in enumerate(made):
        name = f"{instance.kind}.{number}"
        operands = tuple(
            add(f"{name}.{pos}", operand.type, operand.splat) for pos, operand in enumerate(instance.operands)
        )
        parameters += operands
        results = tuple(
            add(name if not pos else f"{name}.r{pos}", type_, instance.splat)
            for pos, type_ in enumerate(instance.results)
        )
        ops.append(Op(number, instance.kind, operands, results, instance.attributes, place))
    results = tuple(op.results[0] for op in ops)
    return Program(
        Mesh(()), "instances", tuple(values), tuple(ops), tuple(parameters), results, (), declared=declared
    )


def _shown(value: Attribute) -> str:
    if isinstance(value, tuple):
        return f"[{' '.join(map(str, value))}]"
    return str(value)
