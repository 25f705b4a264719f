"""What happened when: events of a run, as Chrome trace events and as a summary of collectives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kina.mlir.syntax import COLLECTIVES, Op


@dataclass(frozen=True, slots=True)
class Event:
    """One op on one device: begin and end in seconds of one clock, bytes that the device moved."""

    device: int
    op: Op
    begin: float
    end: float
    bytes: int
    #: seconds until the last member of the group arrived
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Usage:
    """One kind of collective in a run: calls and bytes of one device (the one with most), and the
    share of all device time that passed in it and that was spent waiting for others in it."""

    kind: str
    count: int
    bytes: int
    seconds: float
    waiting: float
    waiting_share: float


def chrome_trace(events: Sequence[Event]) -> dict[str, object]:
    """The events in Chrome's trace format, times in microseconds from the first event, a row per device."""
    origin = min((event.begin for event in events), default=0.0)
    devices = sorted({event.device for event in events})
    rows: list[Mapping[str, object]] = [
        {"name": "thread_name", "ph": "M", "pid": 0, "tid": device, "args": {"name": f"device {device}"}}
        for device in devices
    ]
    for event in sorted(events, key=lambda event: (event.device, event.begin)):
        collective = event.op.kind in COLLECTIVES
        arguments: dict[str, object] = {"line": event.op.span.line}
        if collective:
            arguments |= {"bytes": event.bytes, "waited_us": round(event.waited * 1e6, 3)}
        if event.op.location:
            arguments["cause"] = event.op.location
        rows.append(
            {
                "name": event.op.kind,
                "cat": "collective" if collective else "compute",
                "ph": "X",
                "pid": 0,
                "tid": event.device,
                "ts": round((event.begin - origin) * 1e6, 3),
                "dur": round((event.end - event.begin) * 1e6, 3),
                "args": arguments,
            }
        )
    return {"traceEvents": rows, "displayTimeUnit": "ms"}


def summarise(events: Iterable[Event]) -> tuple[Usage, ...]:
    """Per kind of collective: calls, bytes, mean seconds per device, and the share of time waiting."""
    listed = list(events)
    devices = {event.device for event in listed}
    if not devices:
        return ()
    whole = (max(event.end for event in listed) - min(event.begin for event in listed)) * len(devices)
    found = []
    for kind in sorted(COLLECTIVES):
        mine = [event for event in listed if event.op.kind == kind]
        if not mine:
            continue
        counts, moved = dict.fromkeys(devices, 0), dict.fromkeys(devices, 0)
        for event in mine:
            counts[event.device] += 1
            moved[event.device] += event.bytes
        seconds = sum(event.end - event.begin for event in mine) / len(devices)
        waited = sum(event.waited for event in mine)
        share = waited / whole if whole > 0 else 0.0
        found.append(
            Usage(kind, max(counts.values()), max(moved.values()), seconds, waited / len(devices), share)
        )
    return tuple(found)
