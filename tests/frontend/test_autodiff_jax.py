"""Gradients are those of `jax.grad`, ties and zeros included."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontend.gradient_cases import CASES
from tests.frontend.gradients import Case, formed, inputs, run

jax = pytest.importorskip("jax")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradient_is_that_of_jax(case: Case) -> None:
    from tests.frontend.ir_in_jax import function

    program = formed(case.text)
    data = inputs(program, case)
    loss = program.results[0]
    floats = tuple(index for index, each in enumerate(data) if each.dtype.kind == "f")
    value, expected = jax.jit(jax.value_and_grad(function(program, loss), floats))(*data)
    found = run(program, data)
    np.testing.assert_allclose(found[0], value, rtol=1e-5)
    assert len(found) == 1 + len(expected)
    for one, other in zip(found[1:], expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
