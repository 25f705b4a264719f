"""Appends backward ops: steps that fold numbers, and what a rule is told about the op it turns round."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from kina.frontend.builder import Builder
from kina.frontend.ir import Attribute, Op, TensorType
from kina.frontend.ops import OpError
from kina.frontend.ops.core import FLOATS
from kina.frontend.ops.creation import element_text
from kina.source import Span


@dataclass(frozen=True, slots=True)
class Made:
    """An op of the backward pass: its results, its kind, and the value whose cotangent it works for."""

    results: tuple[int, ...]
    kind: str
    owner: int


@dataclass(slots=True)
class Tape:
    """Where backward ops go. `owner` is the forward value at work, `span` its place."""

    builder: Builder
    span: Span
    owner: int
    made: list[Made] = field(default_factory=list)

    def type_of(self, value: int) -> TensorType:
        return self.builder.values[value].type

    def shape(self, value: int) -> tuple[int, ...]:
        return self.builder.values[value].type.shape

    def splat(self, value: int) -> float | None:
        """The one element that a constant repeats."""
        text = self.builder.values[value].splat
        return None if text is None else float(text)

    def emit(self, kind: str, operands: Sequence[int], /, **attributes: Attribute) -> int:
        """Append an op with one result."""
        return self.emit_all(kind, operands, attributes)[0]

    def emit_all(
        self, kind: str, operands: Sequence[int], attributes: Mapping[str, Attribute]
    ) -> tuple[int, ...]:
        """Append an op and give all its results."""
        results = self.builder.emit(kind, operands, attributes, self.span)
        self.made.append(Made(results, kind, self.owner))
        return results

    def constant(self, number: float, like: TensorType) -> int:
        """A number repeated over a type."""
        try:
            text = element_text(number, like.dtype)
        except OpError:
            # Above the largest number of a narrow dtype.
            text = repr(math.copysign(math.inf, number))
        return self.emit("constant", (), value=text, dtype=like.dtype, shape=like.shape)

    def zeros(self, like: int) -> int:
        return self.constant(0.0, self.type_of(like))

    # Arithmetic. A cotangent that is one number stays one number, and a factor of one is no op.

    def add(self, left: int, right: int) -> int:
        return self._combined("add", left, right)

    def subtract(self, left: int, right: int) -> int:
        return self._combined("subtract", left, right)

    def multiply(self, left: int, right: int) -> int:
        if self.splat(left) == 1.0:
            return right
        if self.splat(right) == 1.0:
            return left
        return self._combined("multiply", left, right)

    def divide(self, left: int, right: int) -> int:
        if self.splat(right) == 1.0:
            return left
        return self._combined("divide", left, right)

    def negate(self, value: int) -> int:
        number = self.splat(value)
        if number is not None:
            return self.constant(-number, self.type_of(value))
        return self.emit("negate", (value,))

    def scale(self, value: int, number: float) -> int:
        """The value times a number."""
        if number == 1.0:
            return value
        return self.multiply(value, self.constant(number, self.type_of(value)))

    def shift(self, value: int, number: float) -> int:
        """The value plus a number."""
        return self.emit("add", (value, self.constant(number, self.type_of(value))))

    def one_minus(self, value: int) -> int:
        return self.emit("subtract", (self.constant(1.0, self.type_of(value)), value))

    def compare(self, left: int, right: int, direction: str) -> int:
        return self.emit("compare", (left, right), comparison_direction=direction)

    def where(self, condition: int, value: int) -> int:
        """The value where the condition holds, else zero."""
        return self.emit("select", (condition, value, self.zeros(value)))

    def unless(self, condition: int, value: int) -> int:
        """Zero where the condition holds, else the value."""
        return self.emit("select", (condition, self.zeros(value), value))

    def _combined(self, kind: str, left: int, right: int) -> int:
        folded = self._folded(kind, left, right)
        return self.emit(kind, (left, right)) if folded is None else folded

    def _folded(self, kind: str, left: int, right: int) -> int | None:
        """The constant that two repeated numbers make; None if they are none, or not to be computed here."""
        first, second = self.splat(left), self.splat(right)
        if first is None or second is None:
            return None
        match kind:
            case "add":
                number = first + second
            case "subtract":
                number = first - second
            case "multiply":
                number = first * second
            case _:
                number = first / second if second else math.nan
        if not math.isfinite(number):
            return None
        return self.constant(number, self.type_of(left))

    # Shapes. Steps that change nothing are left out; a repeated number is repeated anew.

    def broadcast(self, value: int, dims: Sequence[int], shape: tuple[int, ...]) -> int:
        """The value with its dims at `dims` of `shape`."""
        type_ = self.type_of(value)
        if type_.shape == shape:
            return value
        number = self.splat(value)
        if number is not None:
            return self.constant(number, replace(type_, shape=shape))
        return self.emit("broadcast_in_dim", (value,), broadcast_dimensions=tuple(dims), shape=shape)

    def reshape(self, value: int, shape: tuple[int, ...]) -> int:
        type_ = self.type_of(value)
        if type_.shape == shape:
            return value
        number = self.splat(value)
        if number is not None:
            return self.constant(number, replace(type_, shape=shape))
        return self.emit("reshape", (value,), shape=shape)

    def transpose(self, value: int, order: Sequence[int]) -> int:
        if list(order) == list(range(len(order))):
            return value
        number = self.splat(value)
        if number is not None:
            shape = tuple([self.shape(value)[dim] for dim in order])
            return self.constant(number, replace(self.type_of(value), shape=shape))
        return self.emit("transpose", (value,), permutation=tuple(order))

    def reduce_sum(self, value: int, dims: Sequence[int]) -> int:
        if not dims:
            return value
        return self.emit("reduce", (value,), dimensions=tuple(dims), kind="sum")

    def convert(self, value: int, dtype: str) -> int:
        type_ = self.type_of(value)
        if type_.dtype == dtype:
            return value
        number = self.splat(value)
        if number is not None and dtype in FLOATS:
            return self.constant(number, replace(type_, dtype=dtype))
        return self.emit("convert", (value,), dtype=dtype)


@dataclass(frozen=True, slots=True)
class Step:
    """A forward op to turn round: the cotangent of each result, None where it is zero, and which operands
    want theirs."""

    op: Op
    cotangents: tuple[int | None, ...]
    wants: tuple[bool, ...]

    @property
    def cotangent(self) -> int:
        """The cotangent of the first result, which is there if the op has one result only."""
        return cast(int, self.cotangents[0])

    @property
    def result(self) -> int:
        return self.op.results[0]

    def operand(self, position: int) -> int:
        return self.op.operands[position]

    def number(self, name: str) -> int:
        return cast(int, self.op.attribute(name))

    def numbers(self, name: str) -> tuple[int, ...]:
        return cast("tuple[int, ...]", self.op.attribute(name))

    def word(self, name: str) -> str:
        return cast(str, self.op.attribute(name))


#: For each operand its cotangent, None where it is zero or not wanted.
Contributions = tuple[int | None, ...]
Rule = Callable[[Tape, Step], Contributions]
