"""Edge cases of kernels, without an oracle: the specification says what is right."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina.sim.dtypes import DTYPES
from kina.sim.kernels import KERNELS, ordering, reduction
from kina.sim.kernels.constants import dense
from kina.sim.kernels.elementwise import convert, divide, power, remainder, total_order
from kina.sim.kernels.special import erf


@pytest.fixture(autouse=True)
def _quiet() -> object:
    with np.errstate(all="ignore"):
        yield


def test_erf_is_close_everywhere() -> None:
    x = np.linspace(-7, 7, 4001)
    true = np.array([math.erf(value) for value in x])
    assert np.abs(erf(x) - true).max() < 4e-16
    assert np.abs(erf(x.astype(np.float32)) - true).max() < 5e-7
    assert np.isnan(erf(np.array([np.nan]))).all()


def test_whole_division_is_total() -> None:
    low = np.iinfo(np.int32).min
    x = np.array([7, -7, 7, -7, low, 5], np.int32)
    y = np.array([2, 2, -2, -2, -1, 0], np.int32)
    assert divide(x, y).tolist() == [3, -3, -3, 3, low, -1]
    assert remainder(x, y).tolist() == [1, -1, 1, -1, 0, 5]


@given(st.integers(-9, 9), st.integers(-5, 20))
def test_whole_power_wraps(base: int, exponent: int) -> None:
    found = int(power(np.array(base, np.int32), np.array(exponent, np.int32)))
    if exponent >= 0:
        exact = base**exponent
        assert found == (exact + 2**31) % 2**32 - 2**31
    else:
        assert found == {1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0)


def test_conversions_saturate() -> None:
    x = np.array([np.nan, np.inf, -np.inf, 3e9, -3e9, -1.9, 2.9])
    top, low = 2**31 - 1, -(2**31)
    assert convert(x, DTYPES["i32"]).tolist() == [0, top, low, top, low, -1, 2]
    assert convert(x, DTYPES["ui32"]).tolist() == [0, 2**32 - 1, 0, 3_000_000_000, 0, 0, 2]
    assert convert(np.array([0.0, -0.0, np.nan, 0.5]), DTYPES["i1"]).tolist() == [False, False, True, True]


def test_total_order() -> None:
    rising = np.array([-np.inf, -1.0, -0.0, 0.0, 1.0, np.inf, np.nan], np.float32)
    assert (np.diff(total_order(rising).astype(np.int64)) > 0).all()
    assert total_order(np.array([-np.float32(np.nan)]))[0] < total_order(rising)[0]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "f16", "i32", "bool"])
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
def test_reductions_of_nothing_are_the_identity(kind: str, dtype: str) -> None:
    x = np.zeros((0, 2), DTYPES[dtype])
    found = reduction.reduce(x, kind, (0,))
    assert found.shape == (2,)
    assert found.dtype == x.dtype
    assert (found == reduction.identity(kind, x.dtype)).all()


def test_narrow_sums_are_kept_wide() -> None:
    ones = np.ones(1000, ml_dtypes.bfloat16)
    assert float(reduction.reduce(ones, "sum", (0,))) == 1000


@given(st.lists(st.integers(-4, 4), max_size=12))
def test_any_comparator_sorts_like_a_key(values: list[int]) -> None:
    x = np.array(values, np.int32)
    tags = np.arange(len(values))
    by_key = ordering.sort([x, tags], 0)
    by_function = ordering.sort_by([x, tags], 0, lambda sides: [sides[0] < sides[1]])
    assert [a.tolist() for a in by_key] == [a.tolist() for a in by_function]
    falling = ordering.sort([x, tags], 0, descending=True)
    expected = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert falling[1].tolist() == expected


@given(st.lists(st.integers(-9, 9), min_size=1, max_size=20))
def test_any_reducer_reduces_like_its_kind(values: list[int]) -> None:
    x = np.array(values, np.int64).reshape(-1, 1)
    zero = np.zeros((), np.int64)
    (found,) = reduction.reduce_by([x], [zero], (0,), lambda sides: [sides[0] + sides[1]])
    assert found.tolist() == [sum(values)]


def test_top_k_and_argmax_take_the_first_of_equals() -> None:
    x = np.array([[1, 3, 3, 2]], np.float32)
    values, places = ordering.top_k(x, 3)
    assert (values.tolist(), places.tolist()) == ([[3, 3, 2]], [[1, 2, 3]])
    assert ordering.argmax(x, 1, "max").tolist() == [1]
    assert places.dtype == np.int32


@pytest.mark.parametrize("backwards", [False, True])
def test_running_sums(backwards: bool) -> None:
    x = np.arange(6).reshape(2, 3).astype(np.int32)
    (found,) = KERNELS["cumulative"]([x], {"dimension": 1, "kind": "sum", "reverse": backwards})
    assert found.tolist() == ([[3, 3, 2], [12, 9, 5]] if backwards else [[0, 1, 3], [3, 7, 12]])


def test_constants_of_text() -> None:
    assert dense("[[1, 2], [3, 4]]", "i32", (2, 2)).tolist() == [[1, 2], [3, 4]]
    assert np.isneginf(dense("0xFF800000", "f32", ()))
    assert dense('"0x0000803F00000040"', "f32", (2,)).tolist() == [1, 2]
    assert dense("0x3F80", "bf16", (3,)).astype(float).tolist() == [1, 1, 1]
    assert dense("1 0 1", "bool", (3,)).tolist() == [True, False, True]
    assert dense("", "f32", (0, 2)).shape == (0, 2)
    with pytest.raises(ValueError, match="elements"):
        dense("[1, 2, 3]", "i32", (2,))
