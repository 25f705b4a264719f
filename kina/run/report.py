"""What a run has to say, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kina.report.tables import size_text
from kina.run.verify import FLOOR, TOLERANCE, Difference

if TYPE_CHECKING:
    from kina.diagnostics.finding import Finding
    from kina.run.executor import Executor
    from kina.run.ports import RunPort
    from kina.run.session import Session, StepReport

VERSION = 1
#: So many tensors with NaN are named.
LOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Estimate:
    """Bytes alive at once in all devices, in one of them, and in the one-device run if there is one."""

    whole: int
    each: int
    one: int = 0


@dataclass(frozen=True, slots=True)
class Account:
    """What `kina run` prints of a run: text before it, a line for each step, and blocks of lines after it.

    `results` and `collectives` are rows under their heads, empty if there is nothing to say of them.
    """

    file: str
    head: str
    steps: tuple[str, ...]
    results: tuple[tuple[str, ...], ...]
    carried: int
    compared: tuple[str, ...]
    collectives: tuple[tuple[str, ...], ...] | None

    def text(self) -> str:
        """All of it, as it is printed."""
        return "\n".join((*self.head.splitlines(), *self.steps)) + "\n" + self.tail()

    def tail(self) -> str:
        """What is printed after the run: results, comparison, collectives."""
        blocks = [[*table(self.results), *self.kept()], self.compared, self.moved()]
        return "\n".join("\n".join(block) + "\n" for block in blocks if block)

    def kept(self) -> list[str]:
        return [f"and {self.carried} that are carried to the next step"] if self.carried else []

    def moved(self) -> list[str]:
        if self.collectives is None:
            return []  # the engine does not measure them
        return table(self.collectives) if self.collectives else ["no collectives"]


def account(file: str, session: Session, estimate: Estimate) -> Account:
    """What there is to say of a session that has run all its steps."""
    return Account(
        file,
        head(file, session, estimate),
        tuple(step_line(report, session.steps) for report in session.reports),
        tuple(_results(session)),
        len(set(session.signature.carries.values())),
        tuple(_comparison(session.reports)) if session.program is not None else (),
        tuple(_collectives(session)) if session.usages else None,
    )


def head(file: str, session: Session, estimate: Estimate) -> str:
    """What is printed before the run."""
    mesh, devices = session.signature.grid.mesh.text, session.signature.devices
    lines = [
        f"{file} on mesh {mesh} ({devices} {'device' if devices == 1 else 'devices'})",
        f"memory estimate  {size_text(estimate.whole)}; {estimate.each:,} on each device",
    ]
    if estimate.one:
        lines.append(f"one-device run   {size_text(estimate.one)}")
    lines += _where(session)
    return "\n".join(lines) + "\n"


def _where(session: Session) -> list[str]:
    """Which devices run the module, if they are not simulated."""
    engine, platform = session.executor.engine
    if engine == "sim":
        return []
    process, processes = session.executor.process
    numbers = ", ".join(map(str, session.executor.devices))
    shared = f"; process {process} of {processes} has {numbers}" if processes > 1 else ""
    return [f"run by XLA       {session.signature.devices} devices of platform `{platform}`{shared}"]


def step_line(report: StepReport, steps: int) -> str:
    """`step 2 of 3  loss 9.1234  0.8 s`."""
    numbers = "  ".join(f"{name} {value:.6g}" for name, value in report.numbers)
    return f"step {report.number + 1} of {steps}  {numbers}{'  ' if numbers else ''}{report.seconds:.3f} s"


def port_type(port: RunPort) -> str:
    """The type as people read it: `f32[8@data,64]{sum model}`."""
    sizes = []
    for size, axes in zip(port.shape, port.layout, strict=True):
        names = axes[0] if len(axes) == 1 else f"({','.join(axes)})"
        sizes.append(f"{size}@{names}" if axes else str(size))
    pending = "".join(f"{{{reduction} {axis}}}" for axis, reduction in port.pending)
    dtype = "bool" if port.type.dtype == "i1" else port.type.dtype
    return f"{dtype}[{','.join(sizes)}]{pending}"


def _results(session: Session) -> list[tuple[str, ...]]:
    """Name, type and remark of each result that is not carried on, under their heads."""
    rows: list[tuple[str, ...]] = [("result", "type", "")]
    carried = set(session.signature.carries.values())
    for index, port in enumerate(session.signature.results):
        if index in carried:
            continue
        said = "left pending: assembled by completing it" if port.pending else ""
        if not port.known:
            said = "of unknown layout: shown as it is on each device"
        rows.append((port.name, port_type(port), said))
    return rows if len(rows) > 1 else []


def _comparison(reports: Sequence[StepReport]) -> list[str]:
    """The worst element of all steps, by share of its tolerance."""
    pairs = [(report, each) for report in reports for each in report.differences]
    if not pairs:
        return ["compared with one device: nothing is returned"]
    report, worst = max(pairs, key=lambda pair: pair[1].share)
    wrong = sum(not each.ok for _, each in pairs)
    count = len(pairs)
    if count == 1:
        verdict = "the result differs" if wrong else "the result is equal"
    else:
        verdict = f"{wrong} of {count} results differ" if wrong else f"all {count} results equal"
    lines = [f"compared with one device: {verdict}"]
    if worst.share > 0:
        lines.append(
            f"worst difference {worst.difference:.3g} in `{worst.name}` at {list(worst.index)} on device "
            f"{worst.device} in step {report.number + 1}: {worst.simulated:.9g}, not {worst.expected:.9g} "
            f"({worst.share:.1%} of the tolerance)"
        )
    used = sorted({each.precision for _, each in pairs})
    lines.append(f"tolerance: {_tolerances(used)}")
    return lines + _lost(pairs)


def _lost(pairs: Sequence[tuple[StepReport, Difference]]) -> list[str]:
    """What is NaN in both runs, by tensor: equal it may be, but it is nothing that anybody wants."""
    found: dict[str, tuple[int, int]] = {}
    for report, each in pairs:
        if each.nans:
            most, first = found.get(each.name, (0, report.number + 1))
            found[each.name] = max(most, each.nans), first
    lines = [
        f"`{name}`: {count:,} {'element is' if count == 1 else 'elements are'} NaN in both runs, "
        f"from step {first} on, which counts as equal"
        for name, (count, first) in found.items()
    ]
    if len(lines) <= LOST_SHOWN:
        return lines
    return [*lines[:LOST_SHOWN], f"and {len(lines) - LOST_SHOWN} more tensors with NaN in both runs"]


def _tolerances(dtypes: Sequence[str]) -> str:
    said = [f"{dtype} {TOLERANCE[dtype]:g}" for dtype in dtypes if dtype in TOLERANCE]
    exact = [dtype for dtype in dtypes if dtype not in TOLERANCE]
    parts = []
    if said:
        parts.append(f"{', '.join(said)} of the largest magnitude in the tensor (at least {FLOOR:g})")
    if exact:
        parts.append(f"{', '.join(exact)} exact")
    return "; ".join(parts)


def _collectives(session: Session) -> list[tuple[str, ...]]:
    usage = session.usage()
    if not usage:
        return []
    rows: list[tuple[str, ...]] = [("collective", "count", "bytes", "time", "waiting")]
    rows += [
        (row.kind, f"{row.count:,}", f"{row.bytes:,}", f"{row.seconds:.4f} s", f"{row.waiting_share:.1%}")
        for row in usage
    ]
    return rows


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns under their heads."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def as_json(file: str, session: Session, estimate: Estimate, found: Sequence[Finding]) -> str:
    """One JSON object; keys are only ever added."""
    from kina.report.as_json import findings_json

    out: dict[str, Any] = {
        "version": VERSION,
        "ok": not any(finding.severity == "error" for finding in found),
        "file": file,
        "mesh": [{"axis": axis.name, "size": axis.size} for axis in session.signature.grid.mesh.axes],
        "memory_bytes": estimate.whole,
        "memory_bytes_per_device": estimate.each,
        "engine": _engine(session.executor),
        "results": [
            {
                "name": port.name,
                "dtype": "bool" if port.type.dtype == "i1" else port.type.dtype,
                "shape": list(port.shape),
                "layout": [list(axes) for axes in port.layout],
                "pending": [{"axis": axis, "kind": kind} for axis, kind in port.pending],
            }
            for port in session.signature.results
        ],
        "steps": [_step(report) for report in session.reports],
        "verified": session.program is not None and not any(report.findings for report in session.reports),
        "collectives": [
            {
                "kind": row.kind,
                "count": row.count,
                "bytes": row.bytes,
                "seconds": row.seconds,
                "waiting_seconds": row.waiting,
                "waiting_share": row.waiting_share,
            }
            for row in session.usage()
        ],
        "findings": findings_json(found),
    }
    return json.dumps(out) + "\n"


def _engine(executor: Executor) -> dict[str, Any]:
    name, platform = executor.engine
    process, processes = executor.process
    return {
        "name": name,
        "platform": platform or None,
        "devices": list(executor.devices),
        "process": process,
        "processes": processes,
    }


def _step(report: StepReport) -> dict[str, Any]:
    return {
        "step": report.number,
        "seconds": report.seconds,
        "numbers": dict(report.numbers),
        "differences": [_difference(each) for each in report.differences],
    }


def _difference(each: Difference) -> dict[str, Any]:
    return {
        "tensor": each.name,
        "index": list(each.index),
        "device": each.device,
        "simulated": each.simulated,
        "expected": each.expected,
        "share_of_tolerance": each.share,
        "nan_in_both": each.nans,
    }
