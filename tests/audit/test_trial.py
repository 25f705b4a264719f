"""What counts as wrong: not what rounding leaves of parts that are far larger than their sum."""

from __future__ import annotations

import numpy as np
import pytest

from kina.audit.execute import build
from kina.audit.generators import instances
from kina.audit.op_rule import derive
from kina.audit.placement import Placement, PortState, make_mesh
from kina.audit.trial import judge
from kina.audit.wrong import try_allowed
from kina.rulebook.base import own_rules
from kina.sim.dtypes import Array


def test_a_sum_of_many_parts_that_nearly_cancel_is_right() -> None:
    derived = derive(list(instances("reduce", 1, 6)), own_rules().compiled, "clingo")
    with np.errstate(all="ignore"):
        tried = try_allowed(derived, (1,))
    assert tried.placements > 100
    assert tried.faults == ()


def _judged(dtype: str, parts: list[float], expected: float) -> bool:
    """Whether parts of a pending sum, one on each of two devices, make up a scalar."""
    instance = next(
        each
        for each in instances("negate", 0, 40)
        if each.operand_types[0].dtype == dtype and not each.operand_types[0].shape
    )
    state = PortState((), (("a", "sum"),))
    built = build(instance, Placement(make_mesh(2), (state,), (state,)))
    kind = np.dtype(np.float32 if dtype == "f32" else np.float64)
    outputs: list[list[Array]] = [[np.asarray(part, kind) for part in parts]]
    return judge(built, (state,), outputs, [np.asarray(expected, kind)])[0].ok


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_parts_may_be_off_by_their_own_rounding_and_no_more(dtype: str) -> None:
    rounding = 20_000.0 * (1e-6 if dtype == "f32" else 1e-15)
    assert _judged(dtype, [20_000.0, -20_000.0 + 0.01], 0.01 + rounding)
    assert not _judged(dtype, [20_000.0, -20_000.0 + 0.01], 0.01 + 200 * rounding)
    assert not _judged(dtype, [1.0, -0.99], 0.02)
