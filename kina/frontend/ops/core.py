"""What a row of the op table is, and the checks that rows share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from kina.diagnostics.finding import Label
from kina.frontend.ir import DTYPE_BYTES, Attribute, TensorType

Types = Sequence[TensorType]
Attributes = Mapping[str, Attribute]
Results = tuple[TensorType, ...]
Infer = Callable[[str, Types, Attributes], Results]
#: A default is a plain attribute, or computed from the operand types and the attributes that are given.
Default = Attribute | Callable[[Types, Attributes], Attribute] | None

MAX_SIZE = 2**31 - 1
MAX_RANK = 64
FLOATS = ("f32", "bf16", "f16", "f64")
INTEGERS = ("i32", "i64")
NUMBERS = FLOATS + INTEGERS
LOGICAL = (*INTEGERS, "bool")
DTYPES = tuple(DTYPE_BYTES)
#: "for people": how a group of dtypes is called in messages.
GROUP_WORDS = {
    FLOATS: "floating-point numbers",
    INTEGERS: "whole numbers",
    NUMBERS: "numbers",
    LOGICAL: "whole numbers or truth values",
    ("bool",): "truth values",
    ("i32",): "i32 numbers",
}


class OpError(Exception):
    """An op cannot take these operands or attributes; the caller knows the place in the source."""

    def __init__(self, code: str, message: str, help_: str = "", labels: tuple[Label, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.help = help_
        self.labels = labels


@dataclass(frozen=True, slots=True)
class AttributeSpec:
    """One attribute of a kind. `type` is number, flag, word, numbers, dtype or text.

    Attributes of declared ops are also real and position.

    An attribute without a default must be given; `None` is not a default, so a default never is None.
    """

    name: str
    type: str
    doc: str
    default: Default = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OpSpec:
    """One kind of op: how many operands (`most` is None if any number), which attributes, which results.

    `elementwise` holds if every element of the result is made of the elements at the same index.
    `section` is the section of the StableHLO specification, or "Kina" for kinds of its own.
    """

    kind: str
    least: int
    most: int | None
    infer: Infer
    doc: str
    attributes: tuple[AttributeSpec, ...] = ()
    elementwise: bool = False
    section: str = ""
    operand_names: tuple[str, ...] = ()
    by_name: Mapping[str, AttributeSpec] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {spec.name: spec for spec in self.attributes})


# Reading attributes whose types `complete` has checked.


def number(attributes: Attributes, name: str) -> int:
    """The attribute `name`, which is a whole number."""
    return cast(int, attributes[name])


def numbers(attributes: Attributes, name: str) -> tuple[int, ...]:
    """The attribute `name`, which is a list of whole numbers."""
    return cast("tuple[int, ...]", attributes[name])


def word(attributes: Attributes, name: str) -> str:
    """The attribute `name`, which is a word."""
    return cast(str, attributes[name])


# Text for messages.


def show(values: Iterable[int]) -> str:
    """A list as the language writes it: `[0 1]`."""
    return "[" + " ".join(map(str, values)) + "]"


def counted(count: int, noun: str) -> str:
    """`1 dim`, `2 dims`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listing(parts: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; long lists are cut after six."""
    if len(parts) > 7:
        parts = [*parts[:6], f"{len(parts) - 6} more"]
    if len(parts) < 2:
        return "".join(parts)
    return ", ".join(parts[:-1]) + " and " + parts[-1]


# Checks.


def need_dtype(kind: str, operand: TensorType, allowed: tuple[str, ...]) -> None:
    """OpError K103 unless the dtype of `operand` is one of `allowed`."""
    if operand.dtype in allowed:
        return
    group = GROUP_WORDS.get(allowed, " or ".join(allowed))
    raise OpError("K103", f"`{kind}` takes {group}, not {operand}", dtype_help(operand, allowed))


def dtype_help(operand: TensorType, allowed: tuple[str, ...]) -> str:
    """What to write to come from a dtype to one that is allowed."""
    if allowed == ("bool",):
        return "compare it with a number to get truth values: `(compare x 0 NE)`"
    return f"convert it first: `(convert x {allowed[0]})`"


def need_one_dtype(kind: str, operands: Types) -> None:
    """OpError K102 unless all operands have one dtype."""
    first = operands[0]
    for other in operands[1:]:
        if other.dtype != first.dtype:
            raise OpError(
                "K102",
                f"`{kind}` takes tensors of one dtype: {first} and {other} differ",
                f"convert one of them: `(convert x {first.dtype})`",
            )


def need_one_shape(kind: str, operands: Types) -> None:
    """OpError K101 unless all operands have one shape."""
    first = operands[0]
    for other in operands[1:]:
        if other.shape != first.shape:
            raise OpError(
                "K101", f"`{kind}` takes tensors of one shape: {first} and {other} {difference(first, other)}"
            )


def difference(left: TensorType, right: TensorType) -> str:
    """In what two shapes differ, as the end of a sentence."""
    if left.rank != right.rank:
        return f"differ in rank, {left.rank} and {right.rank}"
    dims = [str(dim) for dim in range(left.rank) if left.shape[dim] != right.shape[dim]]
    return f"differ at dim {listing(dims)}"


def need_dim(kind: str, name: str, dim: int, rank: int, of: TensorType | str) -> None:
    """OpError K105 unless `dim` counts a dim of a tensor of `rank`."""
    if 0 <= dim < rank:
        return
    if rank == 0:
        raise OpError("K105", f"`{name}` of `{kind}` is {dim}, but {of} has no dims")
    hint = f"dims count from 0, so the last one is {rank - 1}"
    raise OpError("K105", f"`{name}` of `{kind}` is {dim}, but the dims of {of} are 0 to {rank - 1}", hint)


def need_dims(kind: str, name: str, dims: Sequence[int], rank: int, of: TensorType | str) -> None:
    """OpError K105 or K106 unless `dims` are distinct dims of a tensor of `rank`."""
    seen: set[int] = set()
    for dim in dims:
        need_dim(kind, name, dim, rank, of)
        if dim in seen:
            raise OpError("K106", f"`{name}` of `{kind}` is {show(dims)}, which has dim {dim} twice")
        seen.add(dim)


def need_sorted(kind: str, name: str, dims: Sequence[int]) -> None:
    """OpError K106 unless `dims` ascend, as the specification wants of some lists."""
    if list(dims) != sorted(dims):
        raise OpError("K106", f"`{name}` of `{kind}` is {show(dims)}, which does not ascend")


def need_length(kind: str, name: str, values: Sequence[int], length: int, of: TensorType | str) -> None:
    """OpError K120 unless the list has `length` numbers."""
    if len(values) != length:
        raise OpError(
            "K120",
            f"`{name}` of `{kind}` is {show(values)}, but {of} asks for {counted(length, 'number')}",
        )


def need_scalar(kind: str, name: str, operand: TensorType) -> None:
    """OpError K119 unless `operand` has no dims."""
    if operand.rank:
        raise OpError("K119", f"`{name}` of `{kind}` is a scalar, not {operand}")


def check_type(type_: TensorType, what: str) -> None:
    """OpError K117 if a dim or the rank of a tensor is out of the limits of the language."""
    if type_.rank > MAX_RANK:
        raise OpError("K117", f"{what} has {type_.rank} dims, but a tensor has at most {MAX_RANK}")
    for dim, size in enumerate(type_.shape):
        if size < 0:
            raise OpError("K117", f"dim {dim} of {what} {type_} has the size {size}, which is negative")
        if size > MAX_SIZE:
            raise OpError(
                "K117", f"dim {dim} of {what} {type_} has the size {size}, above the limit {MAX_SIZE}"
            )


def with_dtype(type_: TensorType, dtype: str) -> TensorType:
    """The same shape with another dtype."""
    return TensorType(dtype, type_.shape)
