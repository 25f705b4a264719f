"""Elementwise ops: functions of arrays of one shape, with an optional array for the result.

Semantics are those of the StableHLO specification; where it leaves a case open (division of whole
numbers by zero, conversions out of range) they are XLA's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from kina.sim.dtypes import BF16, Array, is_float
from kina.sim.kernels.special import erf

Elementwise = Callable[..., Array]


def _stored(value: Any, out: Array | None) -> Array:
    if out is None:
        return np.asarray(value)
    np.copyto(out, value)
    return out


def _quietly_float(ufunc: Any) -> Elementwise:
    """A ufunc of floats, evaluated in f32 where it has no loop for bf16."""

    def apply(x: Array, out: Array | None = None) -> Array:
        if x.dtype == BF16:
            return _stored(ufunc(x.astype(np.float32)).astype(BF16), out)
        return cast(Array, ufunc(x, out=out))

    return apply


def divide(x: Array, y: Array, out: Array | None = None) -> Array:
    """Quotient; of whole numbers rounded towards zero, all bits set for a divisor of zero (XLA)."""
    if is_float(x.dtype):
        return cast(Array, np.divide(x, y, out=out))
    if x.dtype == np.bool_:
        return _stored(x & y, out)
    zero = y == 0
    if x.dtype.kind == "u":
        quotient = np.where(zero, np.array(~x.dtype.type(0)), x // np.where(zero, x.dtype.type(1), y))
        return _stored(quotient, out)
    overflow = (y == -1) & (x == np.iinfo(x.dtype).min)
    safe = np.where(zero | overflow, x.dtype.type(1), y)
    floored = x // safe
    rest = x - floored * safe
    truncated = floored + ((rest != 0) & ((x < 0) != (safe < 0)))
    return _stored(np.where(zero, x.dtype.type(-1), truncated).astype(x.dtype), out)


def remainder(x: Array, y: Array, out: Array | None = None) -> Array:
    """Remainder with the sign of the dividend; of whole numbers the dividend if the divisor is zero (XLA)."""
    if is_float(x.dtype):
        if x.dtype == BF16:
            return _stored(np.fmod(x.astype(np.float32), y.astype(np.float32)).astype(BF16), out)
        return cast(Array, np.fmod(x, y, out=out))
    zero = y == 0
    if x.dtype.kind == "u":
        return _stored(np.where(zero, x, x % np.where(zero, x.dtype.type(1), y)), out)
    safe = np.where(zero | (y == -1), x.dtype.type(1), y)
    return _stored(np.where(zero, x, np.fmod(x, safe)), out)


def power(x: Array, y: Array, out: Array | None = None) -> Array:
    """Power; of whole numbers with wraparound, zero for a negative exponent unless the base is 1 or -1."""
    if x.dtype == BF16:
        return _stored(np.power(x.astype(np.float32), y.astype(np.float32)).astype(BF16), out)
    if is_float(x.dtype):
        return cast(Array, np.power(x, y, out=out))
    one = x.dtype.type(1)
    result = np.ones_like(np.broadcast_to(x, np.broadcast_shapes(x.shape, y.shape)))
    base = np.array(np.broadcast_to(x, result.shape))
    exponent = np.array(np.broadcast_to(y, result.shape))
    negative = exponent < 0
    exponent[negative] = 0
    while exponent.any():
        result = np.where(exponent & one, result * base, result)
        base = base * base
        exponent = exponent >> one
    if x.dtype.kind == "i":
        odd = (y & one) == one
        inverse = np.where(x == 1, one, np.where(x == -1, np.where(odd, -one, one), x.dtype.type(0)))
        result = np.where(negative, inverse, result)
    return _stored(result, out)


def _shift(ufunc: Any, logical: bool, left: bool) -> Elementwise:
    """A shift; by the width or more it shifts everything out, as StableHLO demands."""

    def apply(x: Array, y: Array, out: Array | None = None) -> Array:
        bits = x.dtype.itemsize * 8
        unsigned = np.dtype(f"u{x.dtype.itemsize}")
        amount = np.asarray(y).view(unsigned)
        over = amount >= bits
        safe = np.where(over, unsigned.type(0), amount)
        if logical:
            shifted = ufunc(np.asarray(x).view(unsigned), safe).astype(unsigned).view(x.dtype)
            return _stored(np.where(over, x.dtype.type(0), shifted), out)
        if left:
            return _stored(np.where(over, x.dtype.type(0), ufunc(x, safe.astype(x.dtype))), out)
        last = np.where(over, unsigned.type(bits - 1), amount).astype(x.dtype)
        return _stored(ufunc(x, last), out)

    return apply


def logistic(x: Array, out: Array | None = None) -> Array:
    """1 / (1 + exp(-x)), in f32 for bf16."""
    if x.dtype == BF16:
        return _stored(logistic(x.astype(np.float32)).astype(BF16), out)
    result = np.negative(x, out=out)
    result = np.exp(result, out=result if isinstance(result, np.ndarray) else None)
    result = np.add(result, x.dtype.type(1), out=result if isinstance(result, np.ndarray) else None)
    return np.asarray(np.reciprocal(result, out=result if isinstance(result, np.ndarray) else None))


def rsqrt(x: Array, out: Array | None = None) -> Array:
    """1 / sqrt(x), in f32 for bf16."""
    if x.dtype == BF16:
        return _stored(rsqrt(x.astype(np.float32)).astype(BF16), out)
    return np.asarray(np.divide(x.dtype.type(1), np.sqrt(x, out=out), out=out))


def _not(x: Array, out: Array | None = None) -> Array:
    return cast(Array, np.invert(x, out=out))


def _sign(x: Array, out: Array | None = None) -> Array:
    if not is_float(x.dtype):
        return cast(Array, np.sign(x, out=out))
    # NumPy turns -0 into 0; StableHLO keeps it.
    return _stored(np.where(x == 0, x, np.sign(x)), out)


def _is_finite(x: Array, out: Array | None = None) -> Array:
    return cast(Array, np.isfinite(x, out=out))


def _round_away(x: Array, out: Array | None = None) -> Array:
    wide = x.astype(np.float32) if x.dtype == BF16 else x
    whole = np.trunc(wide)
    step = np.where(np.abs(wide - whole) >= 0.5, np.copysign(wide.dtype.type(1), wide), wide.dtype.type(0))
    return _stored((whole + step).astype(x.dtype), out)


def _popcnt(x: Array, out: Array | None = None) -> Array:
    return _stored(np.bitwise_count(np.asarray(x).view(f"u{x.dtype.itemsize}")).astype(x.dtype), out)


def _leading_zeros(x: Array, out: Array | None = None) -> Array:
    bits = x.dtype.itemsize * 8
    smeared = np.asarray(x).view(f"u{x.dtype.itemsize}").copy("K")
    step = 1
    while step < bits:
        smeared |= smeared >> smeared.dtype.type(step)
        step *= 2
    return _stored((bits - np.bitwise_count(smeared).astype(np.int64)).astype(x.dtype), out)


def _erf(x: Array, out: Array | None = None) -> Array:
    return _stored(erf(x), out)


def _arithmetic(numbers: Any, flags: Any) -> Elementwise:
    """A ufunc of numbers that has another meaning for flags."""

    def apply(x: Array, y: Array, out: Array | None = None) -> Array:
        return cast(Array, (flags if x.dtype == np.bool_ else numbers)(x, y, out=out))

    return apply


def _atan2(x: Array, y: Array, out: Array | None = None) -> Array:
    if x.dtype == BF16:
        return _stored(np.arctan2(x.astype(np.float32), y.astype(np.float32)).astype(BF16), out)
    return cast(Array, np.arctan2(x, y, out=out))


def _abs(x: Array, out: Array | None = None) -> Array:
    return cast(Array, np.abs(x, out=out))


def _negate(x: Array, out: Array | None = None) -> Array:
    return cast(Array, np.negative(x, out=out))


def select(predicate: Array, on_true: Array, on_false: Array, out: Array | None = None) -> Array:
    """`on_true` where `predicate`, else `on_false`; a predicate of rank 0 chooses a whole tensor."""
    if out is None:
        return np.asarray(np.where(predicate, on_true, on_false))
    if out is on_true:
        np.copyto(out, on_false, where=~predicate)
        return out
    if out is not on_false:
        np.copyto(out, on_false)
    np.copyto(out, on_true, where=predicate)
    return out


def clamp(low: Array, x: Array, high: Array, out: Array | None = None) -> Array:
    """minimum(maximum(x, low), high), NaN where any of them is NaN."""
    return np.asarray(np.minimum(np.maximum(x, low, out=out), high, out=out))


COMPARISONS: Mapping[str, Any] = MappingProxyType(
    {
        "EQ": np.equal,
        "NE": np.not_equal,
        "LT": np.less,
        "LE": np.less_equal,
        "GT": np.greater,
        "GE": np.greater_equal,
    }
)


def total_order(x: Array) -> Array:
    """Whole numbers that order floats as IEEE's totalOrder does: -NaN < -inf < … < -0 < 0 < … < inf < NaN."""
    bits = np.asarray(x).view(f"i{x.dtype.itemsize}")
    return np.asarray(np.where(bits < 0, np.invert(bits) ^ np.iinfo(bits.dtype).min, bits))


def compare(x: Array, y: Array, direction: str, kind: str = "", out: Array | None = None) -> Array:
    """Flags of the comparison; with `kind` TOTALORDER floats are compared by `total_order`."""
    if kind == "TOTALORDER" and is_float(x.dtype):
        x, y = total_order(x), total_order(y)
    return cast(Array, COMPARISONS[direction](x, y, out=out))


def convert(x: Array, dtype: np.dtype[Any], out: Array | None = None) -> Array:
    """Elements as `dtype`; floats become whole by cutting, and saturate, NaN gives 0 (XLA)."""
    if x.dtype == dtype and out is None:
        return x
    if dtype == np.bool_:
        return _stored(x != 0, out)
    if is_float(x.dtype) and not is_float(dtype):
        wide = np.trunc(x.astype(np.float64))
        bounds = np.iinfo(dtype)
        low, high = wide <= bounds.min, wide >= bounds.max
        inside = np.where(low | high | np.isnan(wide), 0.0, wide).astype(dtype)
        return _stored(
            np.where(low, dtype.type(bounds.min), np.where(high, dtype.type(bounds.max), inside)), out
        )
    if out is not None:
        np.copyto(out, x, casting="unsafe")
        return out
    return x.astype(dtype)


UNARY: Mapping[str, Elementwise] = MappingProxyType(
    {
        "abs": _abs,
        "negate": _negate,
        "not": _not,
        "sign": _sign,
        "is_finite": _is_finite,
        "logistic": logistic,
        "rsqrt": rsqrt,
        "round_nearest_afz": _round_away,
        "popcnt": _popcnt,
        "count_leading_zeros": _leading_zeros,
        "erf": _erf,
    }
    | {
        kind: _quietly_float(ufunc)
        for kind, ufunc in {
            "exponential": np.exp,
            "exponential_minus_one": np.expm1,
            "log": np.log,
            "log_plus_one": np.log1p,
            "tanh": np.tanh,
            "sine": np.sin,
            "cosine": np.cos,
            "tan": np.tan,
            "sqrt": np.sqrt,
            "cbrt": np.cbrt,
            "floor": np.floor,
            "ceil": np.ceil,
            "round_nearest_even": np.rint,
        }.items()
    }
)

BINARY: Mapping[str, Elementwise] = MappingProxyType(
    {
        "add": _arithmetic(np.add, np.logical_or),
        "subtract": _arithmetic(np.subtract, np.logical_xor),
        "multiply": _arithmetic(np.multiply, np.logical_and),
        "divide": divide,
        "maximum": _arithmetic(np.maximum, np.logical_or),
        "minimum": _arithmetic(np.minimum, np.logical_and),
        "power": power,
        "remainder": remainder,
        "atan2": _atan2,
        "and": _arithmetic(np.bitwise_and, np.logical_and),
        "or": _arithmetic(np.bitwise_or, np.logical_or),
        "xor": _arithmetic(np.bitwise_xor, np.logical_xor),
        "shift_left": _shift(np.left_shift, False, True),
        "shift_right_logical": _shift(np.right_shift, True, False),
        "shift_right_arithmetic": _shift(np.right_shift, False, False),
    }
)
