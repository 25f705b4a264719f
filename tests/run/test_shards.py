"""Whole tensors to shards and back, drawn inputs, comparison."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina.frontend.ir import Mesh, MeshAxis
from kina.mlir.grid import Grid
from kina.mlir.syntax import TensorType
from kina.plan.decisions import Layout, Pending
from kina.run.inputs import Draw
from kina.run.ports import RunPort
from kina.run.shards import assemble, shard
from kina.run.verify import Held, compare, findings
from kina.source import Source, Span

SPAN = Span(Source("t", "text"), 0, 4)
GRID = Grid(Mesh((MeshAxis("a", 2), MeshAxis("b", 3))))


def port(
    dtype: str, shape: tuple[int, ...], layout: Layout, pending: Pending = (), **more: object
) -> RunPort:
    local = TensorType("i1" if dtype == "bool" else dtype, GRID.local(shape, layout))
    return RunPort("t", shape, local, layout, pending, SPAN, **more)  # type: ignore[arg-type]


LAYOUTS: tuple[Layout, ...] = (
    ((), ()),
    (("a",), ()),
    (("b",), ("a",)),
    (("a", "b"), ()),
    ((), ("b", "a")),
)


@given(st.sampled_from(LAYOUTS), st.sampled_from(("f32", "f64", "i32", "bool", "bf16")))
def test_shards_assemble_to_the_whole(layout: Layout, dtype: str) -> None:
    here = port(dtype, (12, 6), layout)
    whole = Draw(1).whole(here, 0, 0)
    shards = shard(GRID, here, whole, np.random.default_rng(0))
    assert {part.shape for part in shards} == {here.type.shape}
    np.testing.assert_array_equal(assemble(GRID, here, shards), whole)


@pytest.mark.parametrize("kind", ["sum", "max", "min", "prod"])
@pytest.mark.parametrize("axes", [("a",), ("b",), ("a", "b")])
@pytest.mark.parametrize("dtype", ["f64", "i32"])
def test_pending_parts_differ_and_complete_to_the_whole(kind: str, axes: tuple[str, ...], dtype: str) -> None:
    layout: Layout = ((), ()) if len(axes) == 2 else ((("b",) if axes == ("a",) else ("a",)), ())
    here = port(dtype, (6, 4), layout, tuple((axis, kind) for axis in axes))
    whole = Draw(1).whole(here, 0, 0)
    shards = shard(GRID, here, whole, np.random.default_rng(0))
    assert any(not np.array_equal(shards[0], part) for part in shards[1:])
    np.testing.assert_allclose(assemble(GRID, here, shards), whole, rtol=1e-12, atol=1e-12)


def test_drawn_values_depend_on_seed_step_and_place_only() -> None:
    here = port("f32", (6, 4), ((), ()))
    first = Draw(1).whole(here, 0, 0)
    np.testing.assert_array_equal(first, Draw(1).whole(here, 0, 0))
    for other in (Draw(2).whole(here, 0, 0), Draw(1).whole(here, 1, 0), Draw(1).whole(here, 0, 1)):
        assert not np.array_equal(first, other)


def test_drawn_values_keep_to_what_the_argument_says() -> None:
    assert Draw(0).whole(port("i32", (60, 60), ((), ()), below=3), 0, 0).max() == 2
    assert Draw(0).whole(port("f32", (60, 60), ((), ()), positive=True), 0, 0).min() >= 0
    assert set(Draw(0).whole(port("f32", (2, 3), ((), ()), first=1.5), 0, 0).flat) == {1.5}


def outputs(here: RunPort, whole: np.ndarray) -> list[list[np.ndarray]]:
    return [[part.copy()] for part in shard(GRID, here, whole, np.random.default_rng(0))]


def held(rows: list[list[np.ndarray]]) -> Held:
    return lambda result: (range(len(rows)), [row[result] for row in rows])


def test_a_difference_is_found_where_it_is() -> None:
    here = port("f32", (12, 6), (("a", "b"), ()))
    whole = np.arange(72, dtype=np.float32).reshape(12, 6)
    rows = outputs(here, whole)
    rows[4][0][1, 5] += 1
    (found,) = compare(GRID, [here], held(rows), [whole])
    assert (found.device, found.index, found.ok) == (4, (9, 5), False)
    (finding,) = findings([found], [here], 0)
    assert finding.code == "K708"
    assert "[9, 5] on device 4" in finding.message


def test_copies_that_disagree_are_a_difference() -> None:
    here = port("i32", (2, 2), ((), ()))
    whole = np.ones((2, 2), np.int32)
    rows = outputs(here, whole)
    rows[5][0][0, 0] = 2
    (found,) = compare(GRID, [here], held(rows), [whole])
    assert (found.device, found.ok) == (5, False)


@pytest.mark.parametrize(
    ("left", "right", "ok"),
    [(np.nan, np.nan, True), (np.nan, 1, False), (np.inf, np.inf, True), (np.inf, -np.inf, False)],
)
def test_numbers_that_are_not_finite(left: float, right: float, ok: bool) -> None:
    here = port("f32", (2, 2), ((), ()))
    one, two = np.ones((2, 2), np.float32), np.ones((2, 2), np.float32)
    one[1, 0], two[1, 0] = left, right
    (found,) = compare(GRID, [here], held([[one]] * 6), [two])
    assert found.ok == ok
    assert found.nans == (1 if left != left and right != right else 0)
