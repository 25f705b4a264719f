"""The one-device executor of the typed IR."""

from __future__ import annotations

import numpy as np
import pytest

from kina.diagnostics.finding import ProgramError
from kina.frontend.builder import Builder
from kina.frontend.ir import Mesh, Program, TensorType
from kina.frontend.ops import OPS
from kina.sim.kernels import KERNELS
from kina.sim.reference import run_program
from kina.source import Source, Span

SPAN = Span(Source("p.kina", "(f)"), 0, 3)


def program(builder: Builder, parameters: list[int], results: list[int]) -> Program:
    return Program(
        Mesh(()),
        "f",
        tuple(builder.values),
        tuple(builder.ops),
        tuple(parameters),
        tuple(results),
        (),
        span=SPAN,
    )


def build() -> tuple[Program, int]:
    builder = Builder()
    x = builder.parameter("x", TensorType("f32", (2, 3)), SPAN)
    w = builder.parameter("w", TensorType("f32", (3, 4)), SPAN)
    dims = {
        "lhs_batching_dimensions": (), "rhs_batching_dimensions": (),
        "lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,),
    }  # fmt: skip
    (y,) = builder.emit("dot_general", [x, w], dims, SPAN)
    (e,) = builder.emit("erf", [y], {}, SPAN)
    (s,) = builder.emit("reduce", [e], {"dimensions": (1,), "kind": "sum"}, SPAN)
    values, places = builder.emit("top_k", [y], {"k": 2}, SPAN)
    return program(builder, [x, w], [s, values, places]), y


def test_results_and_values_that_are_asked_for() -> None:
    found, y = build()
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((2, 3)).astype(np.float32), rng.standard_normal((3, 4)).astype(np.float32)
    result = run_program(found, [x, w], wanted=[y])
    assert set(result.values) == {y}
    np.testing.assert_allclose(result.values[y], x @ w, rtol=1e-6)
    sums, values, places = result.outputs
    assert sums.shape == (2,)
    np.testing.assert_array_equal(values, np.take_along_axis(result.values[y], places, 1))


def test_inputs_must_fit() -> None:
    found, _ = build()
    with pytest.raises(ProgramError) as caught:
        run_program(found, [np.zeros((2, 3), np.float32), np.zeros((3, 5), np.float32)])
    assert caught.value.findings[0].code == "K701"
    with pytest.raises(ProgramError):
        run_program(found, [])


def test_every_kind_of_the_typed_ir_has_a_kernel() -> None:
    assert set(OPS) <= set(KERNELS)
