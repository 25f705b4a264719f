"""`docs/from-jax.md`: each program computes what the JAX function above it does."""

from __future__ import annotations

import importlib.util
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kina
from tests.command import ROOT

PAGE = (ROOT / "docs" / "from-jax.md").read_text(encoding="utf-8")
PAIRS = re.findall(r"^```python\n(.*?)^```\n\n^```kina\n(.*?)^```$", PAGE, re.S | re.M)


def test_every_program_stands_below_a_function() -> None:
    assert len(PAIRS) == 3
    assert PAGE.count("```kina") == PAGE.count("```python") == len(PAIRS)


def called(function: str, name: str, given: dict[str, Any]) -> tuple[Any, ...]:
    """What the function of the page gives on one device, where its constraints mean nothing."""
    import jax
    import jax.numpy as jnp
    from jax.sharding import PartitionSpec

    lax = SimpleNamespace(with_sharding_constraint=lambda x, _: x)
    here = SimpleNamespace(nn=jax.nn, lax=lax, value_and_grad=jax.value_and_grad)
    scope: dict[str, Any] = {"jax": here, "jnp": jnp, "P": PartitionSpec}
    exec(function, scope)  # a block of our own page
    results = scope[name](**given)
    return results if isinstance(results, tuple) else (results,)


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not here")
@pytest.mark.parametrize(("function", "program"), PAIRS)
def test_a_program_gives_what_the_function_gives(function: str, program: str) -> None:
    result = kina.check(program)
    assert result.findings == ()
    parameters = re.findall(r"\((\w+) \(tensor f32 \[([\d ]+)\]", program)
    rng = np.random.default_rng(0)
    given = {
        name: rng.standard_normal(list(map(int, sizes.split())), np.float32) for name, sizes in parameters
    }
    name = re.findall(r"^\(defn (\w+) \(\(", program, re.M)[-1]
    run = result.run(given, verify=True)
    assert run.ok
    for found, expected in zip(run.outputs.values(), called(function, name, given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
