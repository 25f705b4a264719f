"""Compile-time arithmetic and questions about types: `(* d 4)`, `(shape x 1)`, `(= a b)`."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import NoReturn

from kina.diagnostics.finding import Help, ProgramError, error
from kina.frontend.ast import Apply
from kina.frontend.builder import Arg, Builder, Literal

Numeric = int | float
_LIMIT = 1 << 63

_COMPARE: dict[str, Callable[[Numeric, Numeric], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}
#: name -> (fewest arguments, most arguments, None for any number)
_ARITY: dict[str, tuple[int, int | None]] = {
    "+": (1, None), "-": (1, None), "*": (1, None), "/": (2, 2), "%": (2, 2), "**": (2, 2), "=": (2, 2),
    **dict.fromkeys(_COMPARE, (2, 2)),
    "shape": (1, 2), "rank": (1, 1), "dtype": (1, 1), "tensor?": (1, 1),
}  # fmt: skip
#: name -> the op that does the same with tensors
_OF_TENSORS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "divide", "%": "remainder", "**": "power",
    "=": "equal", "<": "less", ">": "greater", "<=": "less_equal", ">=": "greater_equal",
}  # fmt: skip
#: The names that are evaluated here.
STATIC = frozenset(_ARITY)


def _fail(code: str, call: Apply, message: str) -> NoReturn:
    raise ProgramError(error(code, message, call.span))


def static(builder: Builder, call: Apply, args: Sequence[Arg]) -> Literal:
    """The compile-time value of a call; ProgramError if the arguments are not what it takes."""
    low, high = _ARITY[call.head]
    if call.keywords:
        raise ProgramError(error("K013", f"`{call.head}` takes no options", call.keywords[0].span))
    if len(args) < low or (high is not None and len(args) > high):
        takes = f"{low}" if low == high else f"{low} or more" if high is None else f"{low} to {high}"
        _fail("K012", call, f"`{call.head}` takes {takes} arguments and is given {len(args)}")
    match call.head:
        case "shape":
            return _shape(builder, call, args)
        case "rank":
            return builder.type_of(_tensor(call, args[0])).rank
        case "dtype":
            return builder.type_of(_tensor(call, args[0])).dtype
        case "tensor?":
            return args[0].literal is None
        case "=":
            return _literal(call, args[0]) == _literal(call, args[1])
    numbers = [_number(call, arg) for arg in args]
    if call.head in _COMPARE:
        return _COMPARE[call.head](numbers[0], numbers[1])
    result = _arithmetic(call, numbers)
    if isinstance(result, int) and abs(result) >= _LIMIT:
        _fail("K022", call, f"`{call.head}` gives a number that does not fit in 64 bits")
    return result


def _shape(builder: Builder, call: Apply, args: Sequence[Arg]) -> Literal:
    shape = builder.type_of(_tensor(call, args[0])).shape
    if len(args) == 1:
        return shape
    dim = _number(call, args[1])
    if not isinstance(dim, int) or not 0 <= dim < len(shape):
        raise ProgramError(
            error("K021", f"`shape` is asked for dim {dim} of a tensor of rank {len(shape)}", args[1].span)
        )
    return shape[dim]


def _tensor(call: Apply, arg: Arg) -> int:
    if len(arg.values) != 1:
        raise ProgramError(error("K028", f"`{call.head}` takes one tensor", arg.span))
    return arg.values[0]


def _literal(call: Apply, arg: Arg) -> Literal:
    if arg.literal is None:
        message = f"`{call.head}` works at compile time and is given a tensor"
        of_tensors = "negate" if call.head == "-" and len(call.args) == 1 else _OF_TENSORS.get(call.head)
        helps = (Help(f"`{of_tensors}` does it with tensors"),) if of_tensors else ()
        raise ProgramError(error("K021", message, arg.span, helps=helps))
    return arg.literal


def _number(call: Apply, arg: Arg) -> Numeric:
    value = _literal(call, arg)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ProgramError(error("K021", f"`{call.head}` takes numbers", arg.span))
    return value


def _arithmetic(call: Apply, numbers: list[Numeric]) -> Numeric:
    first, rest = numbers[0], numbers[1:]
    match call.head:
        case "+":
            return sum(rest, first)
        case "*":
            return _bounded_product(call, numbers)
        case "-":
            return first - sum(rest) if rest else -first
        case "/":
            return _divide(call, first, rest[0])
        case "%":
            if rest[0] == 0:
                _fail("K022", call, f"{first} is divided by zero")
            return first % rest[0]
    return _power(call, first, rest[0])


def _bounded_product(call: Apply, numbers: list[Numeric]) -> Numeric:
    result: Numeric = 1
    for factor in numbers:
        result *= factor
        if isinstance(result, int) and abs(result) >= _LIMIT:
            _fail("K022", call, "`*` gives a number that does not fit in 64 bits")
    return result


def _divide(call: Apply, left: Numeric, right: Numeric) -> Numeric:
    if right == 0:
        _fail("K022", call, f"{left} is divided by zero")
    if isinstance(left, float) or isinstance(right, float):
        return left / right
    if left % right:
        _fail("K022", call, f"{left} is not divisible by {right}: the remainder is {left % right}")
    return left // right


def _power(call: Apply, base: Numeric, exponent: Numeric) -> Numeric:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if exponent * max(1, abs(base).bit_length() - 1) > 64 and abs(base) > 1:
            _fail("K022", call, f"{base} to the power {exponent} does not fit in 64 bits")
        return int(base**exponent)
    try:
        return math.pow(base, exponent)
    except (ValueError, OverflowError):
        _fail("K022", call, f"{base} to the power {exponent} is no number")
