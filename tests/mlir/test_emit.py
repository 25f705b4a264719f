"""The emitted module: its text, and that it computes what the program says."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kina.frontend.ir import Mesh, MeshAxis
from kina.frontend.ops import OPS
from kina.mlir.emit import emit
from kina.mlir.emit_creation import nested
from kina.mlir.emit_own import EMIT
from kina.mlir.emit_text import identifier, number, string
from kina.mlir.grid import Grid
from kina.mlir.reader import read_module
from kina.mlir.reader_tokens import unquote
from kina.mlir.syntax import COLLECTIVES, Module
from kina.mlir.verify import verify
from kina.pipeline import Options, check
from kina.run.ports import signature
from kina.run.shards import assemble, shard
from kina.sim.dtypes import DTYPES, Array
from kina.sim.run import run
from kina.source import Source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.kina"))


def compiled(text: str) -> str:
    result = check(Source("t.kina", text), Options())
    assert result.ok, [finding.message for finding in result.findings]
    assert result.program is not None
    assert result.decisions is not None
    return emit(result.program, result.decisions)


def parsed(text: str) -> Module:
    module = read_module(Source("t.mlir", text))
    verify(module)
    return module


def executed(text: str, *inputs: Array) -> list[Array]:
    """Results of a program for whole inputs, assembled."""
    module = parsed(compiled(text))
    ports = signature(module)
    rng = np.random.default_rng(0)
    shards = [shard(ports.grid, port, x, rng) for port, x in zip(ports.arguments, inputs, strict=True)]
    rows = [[part[device] for part in shards] for device in range(ports.devices)]
    outputs = run(module, rows).outputs
    return [assemble(ports.grid, port, [row[i] for row in outputs]) for i, port in enumerate(ports.results)]


# -- text


@pytest.mark.parametrize(
    ("text", "element", "written"),
    [
        ("0.1", "f64", "0.1"),
        ("1e-05", "f32", "1.0e-05"),
        ("-0", "f32", "-0.0"),
        ("inf", "f16", "0x7C00"),
        ("-inf", "f64", "0xFFF0000000000000"),
        ("nan", "bf16", "0x7FC0"),
        ("-9223372036854775808", "i64", "-9223372036854775808"),
        ("1", "i1", "true"),
    ],
)
def test_a_number_is_written_so_that_mlir_reads_it(text: str, element: str, written: str) -> None:
    assert number(text, element) == written


@given(st.text(st.characters(codec="utf-8")))
def test_a_string_comes_back(text: str) -> None:
    quoted = string(text)
    assert "\n" not in quoted
    assert unquote(quoted) == text


@given(st.text(min_size=1))
def test_an_identifier_is_one_token(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z_$.][A-Za-z0-9_$.]*", identifier(name))


def test_elements_stand_in_the_brackets_of_their_shape() -> None:
    assert nested(list("abcdef"), (1, 2, 3)) == "[[[a, b, c], [d, e, f]]]"
    assert nested([], (2, 0)) == ""


def test_every_kind_of_op_is_written() -> None:
    assert set(EMIT) == set(OPS)


# -- layouts in numbers


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Grid, tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]:
    """A grid and two layouts of two dims over the same axes, or alike ones, with equal shards."""
    size = draw(st.sampled_from((2, 3)))
    axes = draw(st.permutations(("a", "b", "c")))
    grid = Grid(Mesh(tuple(MeshAxis(name, size) for name in ("a", "b", "c"))))
    one, two = draw(st.integers(0, 2)), draw(st.integers(0, 1))
    other = draw(st.permutations(axes))
    return (
        grid,
        (tuple(axes[:one]), tuple(axes[one : one + two])),
        (tuple(other[:one]), tuple(other[one : one + two])),
    )


@given(exchanges())
def test_an_exchange_gives_each_device_its_shard(
    case: tuple[Grid, tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]],
) -> None:
    grid, before, after = case
    pairs = grid.exchange(before, after)
    devices = range(grid.mesh.devices)
    assert sorted(source for source, _ in pairs) == list(devices)
    assert sorted(target for _, target in pairs) == list(devices)
    for source, target in pairs:
        held = [grid.index(source, axes) for axes in before]
        assert held == [grid.index(target, axes) for axes in after]


@given(st.permutations(("a", "b", "c")), st.integers(1, 3))
def test_groups_partition_the_devices_in_the_order_of_the_axes(axes: list[str], count: int) -> None:
    grid = Grid(Mesh((MeshAxis("a", 2), MeshAxis("b", 3), MeshAxis("c", 2))))
    chosen = tuple(axes[:count])
    groups = grid.groups(chosen)
    assert sorted(device for group in groups for device in group) == list(range(12))
    for group in groups:
        assert [grid.index(device, chosen) for device in group] == list(range(grid.parts(chosen)))


# -- modules


@pytest.mark.parametrize(
    "path", [p for p in EXAMPLES if not p.stem.startswith(("gpt_96", "gpt_100m"))], ids=lambda p: p.stem
)
def test_an_example_is_one_verified_module(path: Path) -> None:
    result = check(Source(path.name, path.read_text()), Options())
    if not result.ok:
        assert path.stem == "conflict"
        return
    assert result.program is not None
    assert result.decisions is not None
    text = emit(result.program, result.decisions)
    assert text == emit(result.program, result.decisions)
    module = parsed(text)
    ops = [op for op in module.main.body.walk() if op.kind in COLLECTIVES]
    assert len(ops) == len(result.decisions.collectives)
    # the cause of each: a place in the program, and a reason
    assert all(re.match(rf"{re.escape(path.name)}:\d+: .*`.*`", op.location) for op in ops)


def test_awkward_names_and_constants_survive() -> None:
    text = compiled(
        '(mesh (|x "y| 2))\n(defn f ((|a "b"\\\\c| (tensor f32 [2 2]) @sharded(axis=0))'
        " (名前 (tensor f32 [2 2])))\n"
        '  (add (multiply |a "b"\\\\c| (constant [[inf 1e-30] [-0.0 nan]] :dtype f32)) 名前))\n'
    )
    ports = signature(parsed(text))
    assert [port.name for port in ports.arguments] == ['f.a "b"\\c', "f.名前"]


ERF_POINTS = (
    -7.0,
    -3.9,
    -1.5,
    -1.0,
    -0.99,
    -0.3,
    -1e-9,
    0.0,
    1e-5,
    0.46875,
    0.5,
    1.0,
    2.2,
    4.0,
    5.9,
    30.0,
    math.inf,
    -math.inf,
)


@pytest.mark.parametrize(("dtype", "bound"), [("f64", 1e-15), ("f32", 3e-7), ("f16", 6e-4), ("bf16", 5e-3)])
def test_erf_is_as_exact_as_its_type(dtype: str, bound: float) -> None:
    x = np.array(ERF_POINTS).astype(DTYPES[dtype])
    (found,) = executed(
        f"(mesh (x 2)) (defn f ((a (tensor {dtype} [{len(x)}]) @sharded(axis=0))) (erf a))", x
    )
    expected = [math.erf(float(value)) for value in x]
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=0, atol=bound)


def test_argmax_takes_the_first_of_equals_and_nan() -> None:
    x = np.array([[1, 3, 3, 0], [2, np.nan, 5, np.nan], [-np.inf] * 4, [np.inf, 1, np.inf, 0]], np.float32)
    program = (
        "(mesh (x 2)) (defn f ((a (tensor f32 [4 4]) @sharded(axis=0))) (values (argmax a 1) (argmin a 1)))"
    )
    largest, smallest = executed(program, x)
    assert largest.tolist() == np.argmax(x, 1).tolist()
    assert smallest.tolist() == np.argmin(x, 1).tolist()


def test_top_k_keeps_the_order_of_equals() -> None:
    x = np.array([[1, 3, 3, 0], [7, 7, 7, 7]], np.float32)
    values, places = executed(
        "(mesh (x 2)) (defn f ((a (tensor f32 [2 4]) @sharded(axis=0))) (top_k a 3))", x
    )
    assert values.tolist() == [[3, 3, 1], [7, 7, 7]]
    assert places.tolist() == [[1, 2, 0], [0, 1, 2]]


@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("reverse", ["false", "true"])
def test_cumulative_runs_from_either_side(kind: str, reverse: str) -> None:
    x = np.random.default_rng(1).standard_normal((4, 5))
    form = f"(cumulative a 1 {kind} :reverse {reverse})"
    text = f"(mesh (x 2)) (defn f ((a (tensor f64 [4 5]) @sharded(axis=0))) {form})"
    ufunc = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}[kind]
    expected = ufunc.accumulate(x[:, ::-1], 1)[:, ::-1] if reverse == "true" else ufunc.accumulate(x, 1)
    np.testing.assert_allclose(executed(text, x)[0], expected, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i32", "i64"])
def test_an_iota_counts_across_devices(dtype: str) -> None:
    x = np.zeros((4, 600), DTYPES[dtype])
    parameter = f"(a (tensor {dtype} [4 600]) @sharded(axis=1, mesh=(y,x)))"
    text = f"(mesh (x 2) (y 2)) (defn f ({parameter}) (add a (iota {dtype} [4 600] 1)))"
    expected = np.broadcast_to(np.arange(600).astype(DTYPES[dtype]), (4, 600))
    np.testing.assert_array_equal(executed(text, x)[0], expected)


def test_a_grouped_convolution_has_the_groups_of_its_device() -> None:
    text = compiled(
        "(mesh (x 2)) (defn f ((a (tensor f32 [2 4 5 5]) @sharded(axis=1)) (k (tensor f32 [8 1 3 3])))"
        " (conv2d a k :groups 4))"
    )
    assert "feature_group_count = 2 : i64" in text


def test_axes_of_size_one_cause_nothing() -> None:
    text = compiled(
        "(mesh (x 1) (y 2))"
        " (defn f ((a (tensor f32 [4 4]) @sharded(axis=0, mesh=x) @sharded(axis=1, mesh=y))) (sum a [0]))"
    )
    assert "all_reduce" not in text
    assert 'axes = [["x"], ["y"]]' in text
