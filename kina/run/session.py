"""A run in steps: inputs in, results out, parameters carried from step to step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kina.diagnostics.finding import Finding
from kina.frontend.ir import Program
from kina.run.executor import Executor, Input, Kept
from kina.run.given import Given
from kina.run.inputs import Draw
from kina.run.ports import Signature
from kina.run.shards import assemble, completed, same_layout, shard
from kina.run.verify import Difference, compare, findings, precisions
from kina.sim.dtypes import Array
from kina.sim.trace import Event, Usage, summarise


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step: its results that are single numbers, by name, and the worst differences if compared."""

    number: int
    seconds: float
    numbers: tuple[tuple[str, float], ...]
    differences: tuple[Difference, ...] = ()
    findings: tuple[Finding, ...] = ()


@dataclass(slots=True)
class Session:
    """Everything that a run needs, and what it has found out so far.

    `program` is there if steps are compared with one device; `given` are inputs in place of drawn ones.
    """

    signature: Signature
    executor: Executor
    draw: Draw
    steps: int
    given: Sequence[Given] | None = None
    program: Program | None = None
    keep_events: bool = False
    reports: list[StepReport] = field(default_factory=list)
    usages: list[tuple[float, tuple[Usage, ...]]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    #: the type by whose tolerance each result is compared
    coarse: Sequence[str] = ()

    def run(self, said: Callable[[StepReport], None]) -> None:
        """All steps; `said` is told of each when it is done. Ends with the first that differs anywhere."""
        for number in range(self.steps):
            report = self._step(number)
            self.reports.append(report)
            said(report)
            if self.program is not None and not self.executor.agreed(not report.findings):
                return

    def _step(self, number: int) -> StepReport:
        wholes: list[Array] = []
        inputs: Iterator[Input] | list[Input] = self._inputs(number, wholes)
        expected: Sequence[Array] = ()
        if self.program is not None:
            from kina.sim.reference import run_program

            inputs = list(inputs)
            expected = run_program(self.program, wholes).outputs
            wholes.clear()
        executed = self.executor.run(inputs)
        self._count(executed.events)
        differences: list[Difference] = []
        found: list[Finding] = []
        if self.program is not None:
            ports = self.signature.results
            self.coarse = self.coarse or precisions(self.program)
            differences = compare(self.signature.grid, ports, self._held, expected, self.coarse)
            found = findings(differences, ports, number)
        return StepReport(number, executed.seconds, self._numbers(), tuple(differences), tuple(found))

    def _inputs(self, step: int, wholes: list[Array]) -> Iterator[Input]:
        """The inputs in order; `wholes` gets each as a whole tensor if steps are compared with one device."""
        for index in range(len(self.signature.arguments)):
            yield self._input(step, index, wholes)

    def _input(self, step: int, index: int, wholes: list[Array]) -> Input:
        port, grid = self.signature.arguments[index], self.signature.grid
        carried = self.signature.carries.get(index) if step else None
        keeps = carried is not None and same_layout(self.signature.results[carried], port)
        given = self.given[index] if self.given is not None and carried is None else None
        if carried is not None:
            if keeps and self.program is None:
                return Kept(carried)
            whole = assemble(grid, self.signature.results[carried], self.executor.gathered(carried))
        elif isinstance(given, Mapping):
            if self.program is not None:
                wholes.append(assemble(grid, port, [given[device] for device in range(len(grid.places))]))
            return [given[device] for device in self.executor.devices]
        else:
            whole = self.draw.whole(port, step, index) if given is None else given
        if self.program is not None:
            wholes.append(whole)
        if carried is not None and keeps:
            return Kept(carried)
        rng = self.draw.generator(step, -1 - index & 0xFFFF)
        return shard(grid, port, whole, rng, self.executor.devices)

    def _held(self, result: int) -> tuple[Sequence[int], Sequence[Array]]:
        """Devices, and what they hold of a result of the last step, pending parts completed."""
        port = self.signature.results[result]
        if not port.pending:
            return self.executor.devices, self.executor.parts(result)
        shards = completed(self.signature.grid, port.pending, self.executor.gathered(result))
        return range(len(shards)), shards

    def _count(self, events: tuple[Event, ...]) -> None:
        if events:
            span = max(event.end for event in events) - min(event.begin for event in events)
            self.usages.append((span, summarise(events)))
        if self.keep_events:
            self.events.extend(events)

    def _numbers(self) -> tuple[tuple[str, float], ...]:
        found = []
        for index, port in enumerate(self.signature.results):
            if not port.shape:
                _, shards = self._held(index)
                found.append((port.name, float(shards[0])))
        return tuple(found)

    def usage(self) -> tuple[Usage, ...]:
        """The collectives of all steps together."""
        return total_usage(self.usages)


def total_usage(usages: Sequence[tuple[float, tuple[Usage, ...]]]) -> tuple[Usage, ...]:
    """Counts, bytes and seconds of several runs added up; shares weighted by the seconds of each run."""
    whole = sum(span for span, _ in usages)
    found: dict[str, Usage] = {}
    for span, rows in usages:
        for row in rows:
            share = row.waiting_share * span / whole if whole else 0.0
            known = found.get(row.kind)
            if known is None:
                found[row.kind] = replace(row, waiting_share=share)
                continue
            found[row.kind] = Usage(
                row.kind,
                known.count + row.count,
                known.bytes + row.bytes,
                known.seconds + row.seconds,
                known.waiting + row.waiting,
                known.waiting_share + share,
            )
    return tuple(found[kind] for kind in sorted(found))
