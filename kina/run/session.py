"""A run in steps: inputs in, results out, parameters carried from step to step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from kina.diagnostics.finding import Finding
from kina.frontend.ir import Program
from kina.run.inputs import Draw
from kina.run.ports import Signature
from kina.run.shards import assemble, same_layout, shard
from kina.run.verify import Difference, compare, findings
from kina.sim.dtypes import Array
from kina.sim.prepare import Prepared
from kina.sim.run import RunOptions, run
from kina.sim.trace import Event, Usage, summarise


@dataclass(frozen=True, slots=True)
class Executed:
    """`outputs[device]` are the results there; `seconds` are those of the run alone, if they are known."""

    outputs: Sequence[Sequence[Array]]
    events: tuple[Event, ...] = ()
    seconds: float | None = None


#: Runs the module on the devices' inputs.
Execute = Callable[[list[list[Array]]], Executed]


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

    `program` is there if steps are compared with one device; `given` are inputs in place of drawn ones, whole
    or per device.
    """

    signature: Signature
    execute: Execute
    draw: Draw
    steps: int
    given: Sequence[Array | list[Array]] | None = None
    program: Program | None = None
    keep_events: bool = False
    reports: list[StepReport] = field(default_factory=list)
    usages: list[tuple[float, tuple[Usage, ...]]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    outputs: Sequence[Sequence[Array]] = ()

    def run(self, said: Callable[[StepReport], None]) -> None:
        """All steps; `said` is told of each when it is done."""
        for number in range(self.steps):
            report = self._step(number)
            self.reports.append(report)
            said(report)
            if report.findings:
                return

    def _step(self, number: int) -> StepReport:
        wholes, rows = self._inputs(number)
        expected: Sequence[Array] | None = None
        if self.program is not None:
            from kina.sim.reference import run_program

            expected = run_program(self.program, wholes).outputs
        del wholes
        # the last step's results that are not carried are dropped before the next one needs memory
        self.outputs = ()
        start = perf_counter()
        executed = self.execute(rows)
        seconds = perf_counter() - start if executed.seconds is None else executed.seconds
        outputs = self.outputs = executed.outputs
        self._count(executed.events)
        grid, ports = self.signature.grid, self.signature.results
        differences: list[Difference] = []
        found: list[Finding] = []
        if expected is not None:
            differences = compare(grid, ports, outputs, expected)
            found = findings(differences, ports, number)
        return StepReport(number, seconds, self._numbers(), tuple(differences), tuple(found))

    def _inputs(self, step: int) -> tuple[list[Array], list[list[Array]]]:
        """Whole inputs, if they are to be compared, and the inputs of each device."""
        wholes: list[Array] = []
        rows: list[list[Array]] = [[] for _ in range(self.signature.devices)]
        for index, port in enumerate(self.signature.arguments):
            shards, whole = self._input(step, index)
            if self.program is not None:
                wholes.append(assemble(self.signature.grid, port, shards) if whole is None else whole)
            for row, part in zip(rows, shards, strict=True):
                row.append(part)
        return wholes, rows

    def _input(self, step: int, index: int) -> tuple[Sequence[Array], Array | None]:
        port, grid = self.signature.arguments[index], self.signature.grid
        carried = self.signature.carries.get(index) if step else None
        if carried is not None:
            result = self.signature.results[carried]
            shards = [row[carried] for row in self.outputs]
            if same_layout(result, port):
                return shards, None
            whole = assemble(grid, result, shards)
        elif self.given is not None:
            given = self.given[index]
            if isinstance(given, list):
                return given, None
            whole = given
        else:
            whole = self.draw.whole(port, step, index)
        return shard(grid, port, whole, self.draw.generator(step, -1 - index & 0xFFFF)), whole

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
                whole = assemble(self.signature.grid, port, [row[index] for row in self.outputs])
                found.append((port.name, float(whole)))
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


def simulated(prepared: Prepared) -> Execute:
    """Execution on the simulated mesh, with an event for each op on each device."""

    def execute(rows: list[list[Array]]) -> Executed:
        result = run(prepared, rows, RunOptions(trace=True))
        return Executed(result.outputs, result.events)

    return execute
