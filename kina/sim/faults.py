"""Faults on purpose, for tests: devices that dawdle, and devices that raise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kina.mlir.syntax import Op
from kina.sim.rendezvous import Rendezvous


class InjectedError(Exception):
    """What a device raises that was told to fail."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Hooks that every device calls before each step, with its number, the step's count and the op.

    `delay` gives seconds to wait (0 for none), `fails` says whether to raise.
    """

    delay: Callable[[int, int, Op], float] | None = None
    fails: Callable[[int, int, Op], bool] | None = None

    def before(self, device: int, count: int, op: Op, mesh: Rendezvous) -> None:
        if self.delay is not None:
            seconds = self.delay(device, count, op)
            if seconds > 0:
                mesh.pause(seconds)
        if self.fails is not None and self.fails(device, count, op):
            raise InjectedError("told to fail")
