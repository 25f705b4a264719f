"""Results that overwrite dying operands: never seen by a view, another device, a constant or the caller."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina.mlir.reader import read_module
from kina.mlir.syntax import Function, Op
from kina.mlir.verify import verify
from kina.sim.dtypes import Array
from kina.sim.kernels import KERNELS
from kina.sim.kernels.repeated import applied
from kina.sim.prepare import prepare
from kina.sim.regions import prepared_attributes
from kina.sim.reuse import PLACES, apply
from kina.sim.run import run
from kina.source import Source

T = "tensor<4x4xf32>"
STEPS = (
    "stablehlo.add {a}, {b} : " + T,
    "stablehlo.subtract {a}, {b} : " + T,
    "stablehlo.negate {a} : " + T,
    "stablehlo.logistic {a} : " + T,
    "stablehlo.rsqrt {a} : " + T,
    "stablehlo.clamp {a}, {b}, {c} : " + T,
    "stablehlo.transpose {a}, dims = [1, 0] : (" + T + ") -> " + T,
    "stablehlo.reverse {a}, dims = [0] : " + T,
    "stablehlo.optimization_barrier {a} : " + T,
    "stablehlo.broadcast_in_dim {a}, dims = [0, 1] : (" + T + ") -> " + T,
    "stablehlo.constant dense<2.0> : " + T,
)
REGION = (
    "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.maximum %p, %q : tensor<f32> "
    "stablehlo.return %s : tensor<f32> })"
)


def by_kernels(function: Function, given_: list[Array]) -> list[Array]:
    """The function's results with a fresh array for each op."""
    values = dict(zip(function.body.arguments, given_, strict=True))

    def perform(op: Op) -> None:
        results = KERNELS[op.kind]([values[n] for n in op.operands], prepared_attributes(function, op))
        values.update(zip(op.results, (np.array(x) for x in results), strict=True))

    with np.errstate(all="ignore"):
        for op in function.body.ops[:-1]:
            perform(op)
    return [values[n] for n in function.body.ops[-1].operands]


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), *[st.integers(0, 50)] * 3), min_size=1, max_size=14)
)
def test_a_run_equals_fresh_arrays(picks: list[tuple[int, int, int, int]]) -> None:
    lines = []
    for number, (kind, *chosen) in enumerate(picks):
        names = [f"%v{x % number}" if number and x % 5 else "%x" for x in chosen]
        step = STEPS[kind].format(a=names[0], b=names[1], c=names[2])
        lines.append(f"%v{number} = {step}")
    returned = f"%v{len(picks) - 1}, %v0"
    text = (
        f"module {{ func.func @main(%x: {T}) -> ({T}, {T}) {{\n" + "\n".join(lines)
        + f"\nreturn {returned} : {T}, {T} }} }}"
    )  # fmt: skip
    module = read_module(Source("m.mlir", text))
    verify(module)
    x = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
    before = x.copy()
    prepared = prepare(module)
    for _ in range(2):
        outputs = run(prepared, [[x]]).outputs[0]
        for ours, fresh in zip(outputs, by_kernels(module.main, [before]), strict=True):
            np.testing.assert_array_equal(ours, fresh)
    np.testing.assert_array_equal(x, before)


def test_a_shared_result_is_not_overwritten() -> None:
    """All devices get one array from all_reduce, and each goes on to change its own value."""
    text = (
        "module attributes {mhlo.num_partitions = 8 : i32} {\n"
        "func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {\n"
        '%y = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, '
        "replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> "
        f"{REGION} : (tensor<64xf32>) -> tensor<64xf32>\n"
        "%n = stablehlo.partition_id : tensor<ui32>\n"
        "%f = stablehlo.convert %n : (tensor<ui32>) -> tensor<f32>\n"
        "%b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<64xf32>\n"
        "%z = stablehlo.add %y, %b : tensor<64xf32>\n"
        "%w = stablehlo.add %z, %b : tensor<64xf32>\n"
        "return %w : tensor<64xf32>\n}\n}"
    )
    module = read_module(Source("m.mlir", text))
    verify(module)
    prepared = prepare(module)
    for _ in range(20):
        outputs = run(prepared, [[np.full(64, device, np.float32)] for device in range(8)]).outputs
        assert [set(row[0].tolist()) for row in outputs] == [{7.0 + 2 * device} for device in range(8)]


def test_dying_operands_are_reused() -> None:
    text = f"module {{ func.func @main(%x: {T}) -> {T} {{ %y = stablehlo.add %x, %x : {T} " + (
        f"%z = stablehlo.negate %y : {T} %w = stablehlo.abs %z : {T} return %w : {T} }} }}"
    )
    steps = prepare(read_module(Source("m.mlir", text))).plans["main"].steps
    assert [step.places for step in steps] == [(), (0,), (0,)]


@pytest.mark.parametrize("held", [(), (0,), (1,), (0, 1)])
@pytest.mark.parametrize("kind", ["add", "select"])
def test_who_holds_an_operand_does_not_show_in_the_layout(kind: str, held: tuple[int, ...]) -> None:
    """Another device that is late holds an operand: a later sum has the same bits all the same."""
    line = np.arange(12, dtype=np.float32)
    slots = [line.reshape(3, 4).copy(), np.negative(line.reshape(4, 3).T)]
    others = [slots[place] for place in held]
    assert slots[1].flags.owndata
    assert slots[1].flags.f_contiguous
    flags = [np.ones((3, 4), np.bool_)] if kind == "select" else []
    operands = [*flags, *slots]
    places = tuple(range(len(flags), len(operands)))
    assert apply(kind, operands, places).flags.c_contiguous
    assert len(others) == len(held)


@pytest.mark.parametrize("kind", PLACES)
def test_a_new_result_is_laid_out_as_its_operands(kind: str) -> None:
    function, places = PLACES[kind]
    count = 3 if kind in ("select", "clamp") else 1 if places == (0,) else 2
    for dtype in (np.int32, np.float32):
        operands = [np.ones((4, 3), dtype).T for _ in range(count)]
        if kind == "select":
            operands[0] = operands[0] != 0
        try:
            with np.errstate(all="ignore"):
                result = function(*operands)
        except TypeError:
            continue  # an op of the other type
        assert result.flags.f_contiguous


def test_operands_of_one_layout_are_reused() -> None:
    slots = [np.negative(np.ones((4, 3), np.float32).T), np.negative(np.ones((4, 3), np.float32).T)]
    operands = list(slots)
    assert apply("add", operands, (0, 1)) is slots[0]


def test_what_repeats_in_every_operand_is_computed_once() -> None:
    shapes: list[tuple[int, ...]] = []

    def add(x: Array, y: Array) -> Array:
        shapes.append(x.shape)
        return x + y

    line = np.broadcast_to(np.arange(4.0), (2, 3, 4))
    number = np.broadcast_to(np.float64(1), (2, 3, 4))
    full = np.ones((2, 3, 4))
    np.testing.assert_array_equal(applied(add, [line, number]), line + number)
    np.testing.assert_array_equal(applied(add, [line, full]), line + full)
    assert shapes == [(1, 1, 4), (2, 3, 4)]
    for shape in ((), (0, 3), (1, 1)):
        repeated = np.broadcast_to(np.float64(2), shape)
        assert applied(np.add, [repeated, repeated]).tolist() == np.full(shape, 4.0).tolist()
