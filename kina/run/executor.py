"""What executes a module, step by step: the simulated mesh, or another engine behind the same functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

from kina.sim.dtypes import Array
from kina.sim.prepare import Prepared
from kina.sim.run import RunOptions, run
from kina.sim.trace import Event


@dataclass(frozen=True, slots=True)
class Kept:
    """An argument that is a result of the step before, part by part."""

    result: int


#: What an argument is given: its part for each device that is here, in their order.
Input = Sequence[Array] | Kept


@dataclass(frozen=True, slots=True)
class Executed:
    """What is known of a step that was run; `seconds` are those of the run, with its inputs in place."""

    seconds: float
    events: tuple[Event, ...] = ()


class Executor(Protocol):
    """Runs one module as often as it is asked to, and holds the results of the last run."""

    @property
    def engine(self) -> tuple[str, str]:
        """The engine as `--engine` names it, and the platform of its devices, empty if they are simulated."""

    @property
    def devices(self) -> tuple[int, ...]:
        """The devices whose parts are here: all of the mesh, unless several processes share it."""

    @property
    def process(self) -> tuple[int, int]:
        """The number of this process, and how many there are."""

    def run(self, inputs: Iterable[Input]) -> Executed:
        """Run the module; each input is asked for once, in order, so that not all need be there at once."""

    def parts(self, result: int) -> Sequence[Array]:
        """A result of the last run on each of `devices`."""

    def gathered(self, result: int) -> Sequence[Array]:
        """A result of the last run on every device of the mesh; every process asks for it."""

    def agreed(self, fine: bool) -> bool:
        """Whether every process says that all is fine; every process asks."""


@dataclass(slots=True)
class Simulated:
    """Execution on the simulated mesh, with an event for each op on each device."""

    prepared: Prepared
    outputs: Sequence[Sequence[Array]] = field(default=(), init=False)

    @property
    def engine(self) -> tuple[str, str]:
        return "sim", ""

    @property
    def devices(self) -> tuple[int, ...]:
        return tuple(range(self.prepared.module.devices))

    @property
    def process(self) -> tuple[int, int]:
        return 0, 1

    def run(self, inputs: Iterable[Input]) -> Executed:
        rows: list[list[Array]] = [[] for _ in self.devices]
        for each in inputs:
            parts = self.parts(each.result) if isinstance(each, Kept) else each
            for row, part in zip(rows, parts, strict=True):
                row.append(part)
        # results that are not carried go before the next ones need memory
        self.outputs = ()
        start = perf_counter()
        result = run(self.prepared, rows, RunOptions(trace=True))
        self.outputs = result.outputs
        return Executed(perf_counter() - start, result.events)

    def parts(self, result: int) -> Sequence[Array]:
        return [row[result] for row in self.outputs]

    def gathered(self, result: int) -> Sequence[Array]:
        return self.parts(result)

    def agreed(self, fine: bool) -> bool:
        return fine
