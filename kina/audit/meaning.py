"""What an op computes: the one place where the audit asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from kina.audit.instance import Instance, alone
from kina.sim.dtypes import Array
from kina.sim.reference import run_program


def meaning(instance: Instance, operands: Sequence[Array]) -> tuple[Array, ...]:
    """The results of the op on whole operands, as one device computes them."""
    return run_program(alone(instance), operands).outputs
