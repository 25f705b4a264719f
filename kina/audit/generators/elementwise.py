"""Instances of elementwise ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kina.audit.instance import GENERAL, Domain, Instance, Maker
from kina.frontend.ops.core import DTYPES, INTEGERS

Make = Callable[[Maker], Instance]

_FLOATS = ("f32", "f64")
_NUMBERS = ("f32", "f64", "i32", "i64")
_LOGICAL = ("bool", "i32")
_NONZERO, _WHOLE, _SPECIAL = Domain("nonzero"), Domain("whole"), Domain("special")


def unary(kind: str, dtypes: tuple[str, ...], domain: Domain = GENERAL) -> Make:
    """Any shape."""

    def make(maker: Maker) -> Instance:
        operand = maker.parameter(maker.rng.choice(dtypes), maker.shape(), domain)
        return maker.instance(kind, (operand,))

    return make


def binary(kind: str, dtypes: tuple[str, ...], second: Domain = GENERAL) -> Make:
    """Two operands of any shape; `second` is what the second one may hold."""

    def make(maker: Maker) -> Instance:
        dtype, shape = maker.rng.choice(dtypes), maker.shape()
        operands = maker.parameter(dtype, shape), maker.parameter(dtype, shape, second)
        return maker.instance(kind, operands)

    return make


def _power(maker: Maker) -> Instance:
    dtype, shape = maker.rng.choice(_NUMBERS), maker.shape()
    exponents = Domain("inside", 0, 5) if dtype in INTEGERS else maker.rng.choice((GENERAL, _WHOLE))
    return maker.instance("power", (maker.parameter(dtype, shape), maker.parameter(dtype, shape, exponents)))


def _shift(kind: str) -> Make:
    """By amounts of which some are as large as the number of bits."""
    return binary(kind, INTEGERS, Domain("inside", 0, 66))


def _convert(maker: Maker) -> Instance:
    source, target = maker.rng.choice(DTYPES), maker.rng.choice(DTYPES)
    # Some numbers are as large as they get, so that a narrower type overflows.
    operand = maker.parameter(source, maker.shape(), Domain("huge"))
    return maker.instance("convert", (operand,), {"dtype": target})


def _compare(maker: Maker) -> Instance:
    dtype, shape = maker.rng.choice((*_NUMBERS, "bool")), maker.shape()
    direction = maker.rng.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    operands = maker.parameter(dtype, shape), maker.parameter(dtype, shape)
    return maker.instance("compare", operands, {"comparison_direction": direction})


def _select(maker: Maker) -> Instance:
    dtype, shape = maker.rng.choice((*_NUMBERS, "bool")), maker.shape()
    predicate = maker.parameter("bool", maker.rng.choice((shape, shape, ())))
    return maker.instance("select", (predicate, maker.parameter(dtype, shape), maker.parameter(dtype, shape)))


def _clamp(maker: Maker) -> Instance:
    dtype, shape = maker.rng.choice(_NUMBERS), maker.shape()
    low, high = (maker.parameter(dtype, maker.rng.choice((shape, ()))) for _ in range(2))
    return maker.instance("clamp", (low, maker.parameter(dtype, shape), high))


_UNARY_FLOAT = (
    *("exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "tanh", "sine", "cosine"),
    *("tan", "sqrt", "rsqrt", "cbrt", "floor", "ceil", "round_nearest_even", "erf"),
)

MAKERS: Mapping[str, Make] = {
    **{kind: unary(kind, _FLOATS) for kind in _UNARY_FLOAT},
    **{kind: unary(kind, _NUMBERS) for kind in ("abs", "negate", "sign")},
    "not": unary("not", _LOGICAL),
    "is_finite": unary("is_finite", _FLOATS, _SPECIAL),
    **{kind: binary(kind, _NUMBERS) for kind in ("add", "subtract", "multiply", "maximum", "minimum")},
    **{kind: binary(kind, _NUMBERS, _NONZERO) for kind in ("divide", "remainder")},
    "atan2": binary("atan2", _FLOATS),
    "power": _power,
    **{kind: binary(kind, _LOGICAL) for kind in ("and", "or", "xor")},
    **{kind: _shift(kind) for kind in ("shift_left", "shift_right_logical", "shift_right_arithmetic")},
    "convert": _convert,
    "compare": _compare,
    "select": _select,
    "clamp": _clamp,
}
