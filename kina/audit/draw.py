"""Elements of operands: of mixed sign, with ties, and parts of pending values that are unequal."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from kina.audit.instance import Domain
from kina.frontend.ir import TensorType
from kina.sim.dtypes import DTYPES, Array, is_float

#: How many kinds of draws there are: small numbers with ties, normal ones, and those that nearly cancel.
VARIETIES = 3
#: One more, for counter-examples: elements that count.
COUNTING = 3
#: Parts of a pending sum that nearly cancel lie this far from zero, and nearer if there are more elements
#: than these: an op may sum all of them, and rounding must not leave more than the sum does.
_FAR, _MANY = 200.0, 32


def draw(rng: np.random.Generator, type_: TensorType, domain: Domain, variety: int) -> Array:
    """Elements of the domain; equal generators give equal ones."""
    dtype = DTYPES[type_.dtype]
    if variety == COUNTING:
        return _counting(type_, domain, dtype)
    if dtype == np.bool_:
        return np.asarray(rng.random(type_.shape) < 0.5)
    if is_float(dtype):
        return _floats(rng, type_.shape, domain, variety).astype(dtype)
    return _whole(rng, type_.shape, domain, variety, dtype)


def draw_part(
    rng: np.random.Generator, type_: TensorType, domain: Domain, variety: int, place: int, reduction: str
) -> Array:
    """One part of a pending value, the one at `place` along its axes.

    In the last variety floats lie far from zero, on one side at even places and on the other at odd ones,
    so that sums nearly cancel: what rounds parts more coarsely than sums shows. Huge ones lie at the ends of
    the type, and factors of a product near its ends and near zero.
    """
    part = draw(rng, type_, domain, variety)
    if variety == COUNTING and part.dtype != np.bool_ and domain.kind not in ("index", "inside", "unique"):
        return np.asarray(part * np.array(1 - 2 * (place % 2), part.dtype) + np.array(place, part.dtype))
    huge = domain.kind == "huge" and variety == 0
    far_off = domain.kind in ("general", "huge") and variety == VARIETIES - 1 and reduction != "prod"
    if not (huge or far_off) or not is_float(part.dtype):
        return part
    if huge and reduction == "prod":
        scale = 2.0 ** round(0.4 * float(np.log2(_largest(part.dtype))))
        return (part.astype(np.float64) * (scale if place % 2 == 0 else 1.0 / scale)).astype(part.dtype)
    far = 0.9 * _largest(part.dtype) if huge else _FAR * min(1.0, _MANY / max(part.size, 1))
    return (part.astype(np.float64) + (far if place % 2 == 0 else -far)).astype(part.dtype)


def _largest(dtype: np.dtype[Any]) -> float:
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def _counting(type_: TensorType, domain: Domain, dtype: np.dtype[Any]) -> Array:
    """1, 2, 3, … or, of indices, all places in turn."""
    count = np.arange(type_.elements).reshape(type_.shape)
    if domain.kind in ("index", "inside", "unique"):
        return (domain.low + count % (domain.high - domain.low + 1)).astype(dtype)
    return (count % 2 == 0 if dtype == np.bool_ else count + 1).astype(dtype)


def _floats(rng: np.random.Generator, shape: tuple[int, ...], domain: Domain, variety: int) -> Array:
    match domain.kind:
        case "whole":
            return np.asarray(rng.integers(-4, 5, shape)).astype(np.float64)
        case "positive":
            return np.asarray(rng.uniform(0.25, 4.0, shape))
        case "nonzero":
            signs = np.where(rng.random(shape) < 0.5, -1.0, 1.0)
            return np.asarray(rng.uniform(0.5, 3.0, shape) * signs)
        case "special":
            return rng.choice(np.array([0.0, 1.0, -2.5, np.inf, -np.inf, np.nan]), shape)
    if variety == 0:
        return np.asarray(rng.integers(-6, 7, shape)) / 2.0
    return np.asarray(rng.standard_normal(shape)) * 2.0


def _whole(
    rng: np.random.Generator, shape: tuple[int, ...], domain: Domain, variety: int, dtype: np.dtype[Any]
) -> Array:
    match domain.kind:
        case "index" if variety == 0:
            # Few places, so that indices meet.
            return rng.integers(domain.low, min(domain.low + 1, domain.high) + 1, shape).astype(dtype)
        case "index":
            return rng.integers(domain.low - 2, domain.high + 3, shape).astype(dtype)
        case "inside":
            return rng.integers(domain.low, domain.high + 1, shape).astype(dtype)
        case "unique":
            drawn = rng.permutation(np.arange(domain.low, domain.high + 1))
            return drawn[: int(np.prod(shape))].reshape(shape).astype(dtype)
        case "positive":
            return rng.integers(1, 8, shape).astype(dtype)
        case "nonzero":
            drawn = rng.integers(1, 8, shape)
            return np.where(rng.random(shape) < 0.5, -drawn, drawn).astype(dtype)
    if variety == VARIETIES - 1:
        # all bits, so that sums and products wrap
        bounds = np.iinfo(dtype)
        return rng.integers(bounds.min, bounds.max, shape, dtype=dtype, endpoint=True)
    return rng.integers(-9, 10, shape).astype(dtype)
