"""Values and ops with other numbers.

By constructors and not by `replace`, which takes three times as long: this is done for all of a program.
"""

from __future__ import annotations

from collections.abc import Mapping

from kina.frontend.ir import Op, Value
from kina.source import Span


def renumbered_value(value: Value, number: int, name: str, place: Span | None = None) -> Value:
    """The value with another number and name, and at another place if one is given."""
    return Value(number, name, value.type, place or value.span, value.splat)


def renumbered_op(op: Op, index: int, number: Mapping[int, int], place: Span | None = None) -> Op:
    """The op with another index, of values with other numbers, and at another place if one is given."""
    operands = tuple([number[value] for value in op.operands])
    results = tuple([number[value] for value in op.results])
    return Op(index, op.kind, operands, results, op.attributes, place or op.span, op.origin)
