"""By whose rounding a result is compared with one device."""

from __future__ import annotations

import pytest

import kina
from kina.run.verify import precisions

#: The sum of 64 bf16 products is rounded on each device before the devices add.
NARROW = """
(mesh (x 4))
(defn f ((w (tensor bf16 [64 64]) @sharded(axis=0)) (a (tensor bf16 [16 64])) (b (tensor f32 [16])))
  (values (convert (matmul a w) f32) (exp b) (argmax b 0)))
"""
CARRIED = """
(mesh (x 2))
(defn f ((w (tensor f32 [4])) (v (tensor f32 [4])) (h (tensor f16 [4])))
  (values (carry w (add w 1)) (carry v (add v w)) (carry h (add h 1)) (convert h f32)))
"""


def coarsest(text: str) -> list[str]:
    program = kina.check(text).result.program
    assert program is not None
    return precisions(program)


def test_rounding_of_operands_counts() -> None:
    assert coarsest(NARROW) == ["bf16", "f32", "f32"]


def test_rounding_is_carried_from_step_to_step() -> None:
    assert coarsest(CARRIED) == ["f32", "f32", "f16", "f16"]
    mixed = CARRIED.replace("(carry w (add w 1))", "(carry w (add w (convert h f32)))")
    assert coarsest(mixed) == ["f16", "f16", "f16", "f16"]


@pytest.mark.parametrize("seed", range(5))
def test_a_wide_result_of_narrow_products_is_equal(seed: int) -> None:
    run = kina.check(NARROW).run(seed=seed, verify=True)
    assert run.ok
    assert {each.precision for each in run.steps[0].differences} == {"bf16", "f32", "i32"}
