"""Derivatives of elementwise ops; where two choices tie, both get half, as in `jax.grad`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from kina.frontend.autodiff.tape import Contributions, Rule, Step, Tape
from kina.frontend.ops.core import FLOATS

#: The cotangent of the operand from that of the result, the operand and the result.
Unary = Callable[[Tape, int, int, int], int]


def _abs(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.emit("sign", (x,)))


def _negate(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.negate(g)


def _exponential(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, y)


def _exponential_minus_one(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.shift(y, 1.0))


def _log(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.divide(g, x)


def _log_plus_one(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.divide(g, tape.shift(x, 1.0))


def _logistic(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.emit("multiply", (y, tape.one_minus(y))))


def _tanh(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.one_minus(tape.emit("multiply", (y, y))))


def _sine(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.emit("cosine", (x,)))


def _cosine(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.emit("negate", (tape.emit("sine", (x,)),)))


def _tan(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.shift(tape.emit("multiply", (y, y)), 1.0))


def _sqrt(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.divide(g, tape.scale(y, 2.0))


def _rsqrt(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.multiply(g, tape.scale(tape.emit("divide", (y, x)), -0.5))


def _cbrt(tape: Tape, g: int, x: int, y: int) -> int:
    return tape.divide(g, tape.scale(tape.emit("multiply", (y, y)), 3.0))


def _erf(tape: Tape, g: int, x: int, y: int) -> int:
    bell = tape.emit("exponential", (tape.emit("negate", (tape.emit("multiply", (x, x)),)),))
    return tape.multiply(g, tape.scale(bell, 2.0 / math.sqrt(math.pi)))


_UNARY: Mapping[str, Unary] = {
    "abs": _abs,
    "negate": _negate,
    "exponential": _exponential,
    "exponential_minus_one": _exponential_minus_one,
    "log": _log,
    "log_plus_one": _log_plus_one,
    "logistic": _logistic,
    "tanh": _tanh,
    "sine": _sine,
    "cosine": _cosine,
    "tan": _tan,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "cbrt": _cbrt,
    "erf": _erf,
}


def _unary(function: Unary) -> Rule:
    def rule(tape: Tape, step: Step) -> Contributions:
        return (function(tape, step.cotangent, step.operand(0), step.result),)

    return rule


def _add(tape: Tape, step: Step) -> Contributions:
    return step.cotangent, step.cotangent


def _subtract(tape: Tape, step: Step) -> Contributions:
    return step.cotangent, tape.negate(step.cotangent) if step.wants[1] else None


def _multiply(tape: Tape, step: Step) -> Contributions:
    g, (left, right) = step.cotangent, step.op.operands
    if left == right:
        # One product and not the sum of two, so that what is pending on `g` has one use.
        number = tape.splat(g)
        if number is not None:
            return tape.scale(left, 2.0 * number), None
        return tape.multiply(g, tape.scale(left, 2.0)), None
    return (
        tape.multiply(g, right) if step.wants[0] else None,
        tape.multiply(g, left) if step.wants[1] else None,
    )


def _divide(tape: Tape, step: Step) -> Contributions:
    g, right = step.cotangent, step.operand(1)
    return (
        tape.divide(g, right) if step.wants[0] else None,
        tape.negate(tape.divide(tape.multiply(g, step.result), right)) if step.wants[1] else None,
    )


def _extremum(tape: Tape, step: Step) -> Contributions:
    left, right = step.op.operands
    directions = ("GE", "LE") if step.op.kind == "maximum" else ("LE", "GE")
    tied = tape.compare(left, right, "EQ")
    g = tape.emit("select", (tied, tape.scale(step.cotangent, 0.5), step.cotangent))
    first, second = [
        tape.where(tape.compare(left, right, direction), g) if wanted else None
        for direction, wanted in zip(directions, step.wants, strict=True)
    ]
    return first, second


def _power(tape: Tape, step: Step) -> Contributions:
    g, (base, exponent) = step.cotangent, step.op.operands
    left = right = None
    if step.wants[0]:
        power = tape.emit("power", (base, tape.shift(exponent, -1.0)))
        # A power of zero is one, whatever the base: without this zero to the -1 would make NaN of it.
        slope = tape.emit("multiply", (exponent, power))
        if tape.splat(exponent) is None:
            slope = tape.unless(tape.compare(exponent, tape.zeros(exponent), "EQ"), slope)
        left = tape.multiply(g, slope) if tape.splat(exponent) != 0.0 else None
    if step.wants[1]:
        zero = tape.compare(base, tape.zeros(base), "EQ")
        safe = tape.emit("select", (zero, tape.constant(1.0, tape.type_of(base)), base))
        right = tape.multiply(g, tape.emit("multiply", (tape.emit("log", (safe,)), step.result)))
    return left, right


def _remainder(tape: Tape, step: Step) -> Contributions:
    g, (left, right) = step.cotangent, step.op.operands
    if not step.wants[1]:
        return g, None
    quotient = tape.emit("divide", (left, right))
    whole = tape.emit("floor", (tape.emit("abs", (quotient,)),))
    whole = tape.emit("multiply", (tape.emit("sign", (quotient,)), whole))
    return g, tape.negate(tape.multiply(g, whole))


def _atan2(tape: Tape, step: Step) -> Contributions:
    g, (y, x) = step.cotangent, step.op.operands
    square = tape.emit("add", (tape.emit("multiply", (x, x)), tape.emit("multiply", (y, y))))
    return (
        tape.multiply(g, tape.emit("divide", (x, square))) if step.wants[0] else None,
        tape.multiply(g, tape.emit("negate", (tape.emit("divide", (y, square)),))) if step.wants[1] else None,
    )


def _select(tape: Tape, step: Step) -> Contributions:
    condition, g = step.operand(0), step.cotangent
    return (
        None,
        tape.where(condition, g) if step.wants[1] else None,
        tape.unless(condition, g) if step.wants[2] else None,
    )


def _clamp(tape: Tape, step: Step) -> Contributions:
    g = step.cotangent
    shape = tape.shape(g)
    low, operand, high = [tape.broadcast(value, (), shape) for value in step.op.operands]
    parts: list[int | None] = [None, None, None]
    if step.wants[0]:
        below = tape.emit("and", (tape.compare(low, operand, "GT"), tape.compare(low, high, "LT")))
        parts[0] = tape.where(below, g)
    if step.wants[1]:
        inside = tape.emit("and", (tape.compare(operand, low, "GT"), tape.compare(operand, high, "LT")))
        parts[1] = tape.where(inside, g)
    if step.wants[2]:
        parts[2] = tape.where(tape.compare(operand, high, "GT"), g)
    for position in (0, 2):
        part = parts[position]
        if part is not None and tape.shape(step.operand(position)) != shape:
            parts[position] = tape.reduce_sum(part, range(len(shape)))
    return tuple(parts)


def _convert(tape: Tape, step: Step) -> Contributions:
    dtype = tape.type_of(step.operand(0)).dtype
    return (tape.convert(step.cotangent, dtype) if dtype in FLOATS else None,)


RULES: Mapping[str, Rule] = {
    **{kind: _unary(function) for kind, function in _UNARY.items()},
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "maximum": _extremum,
    "minimum": _extremum,
    "power": _power,
    "remainder": _remainder,
    "atan2": _atan2,
    "select": _select,
    "clamp": _clamp,
    "convert": _convert,
}
