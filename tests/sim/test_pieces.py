"""Elementwise ops in pieces have the bits of the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest

from kina.mlir.syntax import Op
from kina.sim import pieces
from kina.sim.dtypes import DTYPES, Array, dtype_name, is_float
from kina.sim.kernels.elementwise import BINARY, UNARY
from kina.sim.prepare import Step
from kina.sim.reuse import PLACES
from kina.source import Source, Span

SPAN = Span(Source("m.mlir", "x"), 0, 1)
#: Ops that have no meaning for floats, and ops that have none for whole numbers.
BITS = {"and", "or", "xor", "not", "popcnt", "count_leading_zeros", *(k for k in BINARY if "shift" in k)}
REAL = set(UNARY) - BITS - {"abs", "negate", "sign"} | {"atan2"}
DTYPES_TRIED = ("f32", "f64", "bf16", "f16", "i32", "ui8")
SHAPES = ((6, 33, 5), (1, 7, 129), (1000,))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(pieces, "CHUNK", 100)
    with np.errstate(all="ignore"):
        yield


def drawn(kind: str, dtype: str, shape: tuple[int, ...], repeated: int) -> list[Array]:
    """Operands of the op, the one at `repeated` a row that repeats."""
    rng = np.random.default_rng(0)

    def one(place: int) -> Array:
        if kind == "clamp" and place != 1:
            return np.array(place, DTYPES[dtype])
        row = shape[-1:] if place == repeated else shape
        if kind == "select" and not place:
            return np.broadcast_to(rng.random(row) < 0.5, shape)
        array = (rng.standard_normal(row) * 4).astype(DTYPES[dtype])
        return np.broadcast_to(array, shape) if place == repeated else array

    count = 3 if kind in ("select", "clamp") else 2 if kind in BINARY else 1
    return [one(place) for place in range(count)]


def step(kind: str, operands: list[Array], places: tuple[int, ...]) -> Step:
    result = PLACES[kind][0](*operands)
    attributes = {"shape": result.shape, "dtype": dtype_name(result.dtype)}
    op = Op(kind, (), (), (), (), SPAN)
    return Step(op, (), (), (), attributes, elements=result.size, places=places)


@pytest.mark.parametrize("kind", PLACES)
def test_the_bits_are_those_of_the_whole(kind: str) -> None:
    for dtype in DTYPES_TRIED:
        if kind in (BITS if is_float(DTYPES[dtype]) else REAL):
            continue
        for shape, repeated in product(SHAPES, (-1, 0, 1, 2)):
            for places in {(), PLACES[kind][1] if kind != "is_finite" else ()}:
                compared(kind, dtype, shape, repeated, places)


def compared(kind: str, dtype: str, shape: tuple[int, ...], repeated: int, places: tuple[int, ...]) -> None:
    whole = PLACES[kind][0](*drawn(kind, dtype, shape, repeated))
    slots = drawn(kind, dtype, shape, repeated)
    work = pieces.common_work(step(kind, slots, places), list(slots))
    if not any(x.flags.c_contiguous and x.shape == shape for x in slots):
        assert len(work.tasks) == 1
        return
    assert len(work.tasks) > 1
    (result,) = work.results
    owned = [place for place in places if slots[place].flags.owndata]
    assert not owned or result is slots[owned[0]]
    for task in reversed(work.tasks):
        task()
    assert (result.shape, result.dtype, result.strides) == (whole.shape, whole.dtype, whole.strides)
    assert result.tobytes() == whole.tobytes()


def test_what_others_hold_is_not_overwritten() -> None:
    slots = drawn("add", "f32", (1000,), -1)
    held, before = slots[0], slots[0].copy()
    work = pieces.common_work(step("add", slots, (0, 1)), list(slots))
    assert work.results[0] is slots[1]
    for task in work.tasks:
        task()
    np.testing.assert_array_equal(held, before)


def test_small_ops_are_not_split() -> None:
    slots = drawn("add", "f32", (199,), -1)
    assert len(pieces.common_work(step("add", slots, ()), slots).tasks) == 1
