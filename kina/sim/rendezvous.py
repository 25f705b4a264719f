"""Where device threads meet. Every wait ends: all members come, or some device cannot come any more.

The rules are NCCL's: the members of a group call the same collective, in the same order, with tensors of
the same shape. A device that waits is released as soon as its group is complete. It is stopped as soon as
a member waits in the same group for another collective, a member has finished, any device failed, or
nobody is left who could still arrive.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kina.diagnostics.finding import Finding, Label, error
from kina.mlir.syntax import Op
from kina.sim.dtypes import Array

Task = Callable[[], None]


class StoppedError(Exception):
    """Unwinds a device's thread because the run has failed elsewhere, or was interrupted."""


@dataclass(frozen=True, slots=True)
class Call:
    """One device's call of a collective."""

    op: Op
    group: tuple[int, ...]
    payload: Array
    #: how far the device is; the same number on devices that took the same way to the same place
    place: int = 0


@dataclass(slots=True)
class Work:
    """What several devices need done once. Tasks are taken by whoever is awake."""

    results: Sequence[Array] = ()
    tasks: Sequence[Task] = ()
    taken: int = 0
    open_tasks: int = 0
    #: devices that have not come yet
    awaited: int = 0


@dataclass(slots=True)
class Meeting(Work):
    """A complete group: the members' tensors in group order, and the common work on them."""

    payloads: list[Array] = field(default_factory=list)
    #: whether all members are at the same place of the same way
    together: bool = False
    #: when the last member arrived, on the clock of `time.perf_counter`
    complete_at: float = 0.0


@dataclass(slots=True)
class Rendezvous:
    """The shared state of one run, guarded by one lock. `devices` threads take part."""

    devices: int
    condition: threading.Condition = field(default_factory=threading.Condition)
    waiting: dict[int, Call] = field(default_factory=dict)
    ready: dict[int, Meeting] = field(default_factory=dict)
    begun: dict[tuple[int, int], Work] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    failure: Finding | None = None
    stopped: bool = False

    def check(self) -> None:
        """Raise `StoppedError` if the run is over for everybody."""
        if self.stopped:
            raise StoppedError

    def stop(self, failure: Finding | None = None) -> None:
        """End the run; the first failure is kept."""
        with self.condition:
            self._stop(failure)

    def _stop(self, failure: Finding | None) -> None:
        if self.failure is None and not self.stopped:
            self.failure = failure
        self.stopped = True
        self.condition.notify_all()

    def pause(self, seconds: float) -> None:
        """Wait on purpose, but not longer than the run goes on."""
        with self.condition:
            self.condition.wait_for(lambda: self.stopped, timeout=seconds)
        self.check()

    def finish(self, device: int) -> None:
        """The device will call nothing any more."""
        with self.condition:
            self.finished.add(device)
            for other in sorted(self.waiting):
                if not self.stopped and device in self.waiting[other].group:
                    self._stop(_missing(other, self.waiting[other], [device]))
            self._stop_if_stuck()

    def meet(self, device: int, call: Call, common: Callable[[Meeting], None]) -> Meeting:
        """Wait for the group of the call, and do the common work together.

        `common` fills in the meeting's results and tasks; the last to arrive calls it. All tasks are done
        when this returns.
        """
        with self.condition:
            self.check()
            self.waiting[device] = call
            self._judge(device, call)
            if all(member in self.waiting and self.waiting[member].op is call.op for member in call.group):
                self._complete(call, common)
            while device not in self.ready:
                self.check()
                self.condition.wait()
            meeting = self.ready.pop(device)
        self._work(meeting)
        return meeting

    def _complete(self, call: Call, common: Callable[[Meeting], None]) -> None:
        calls = [self.waiting.pop(member) for member in call.group]
        meeting = Meeting(payloads=[each.payload for each in calls])
        meeting.together = all(each.place == call.place for each in calls)
        meeting.complete_at = time.perf_counter()
        common(meeting)
        meeting.open_tasks = len(meeting.tasks)
        for member in call.group:
            self.ready[member] = meeting
        self.condition.notify_all()

    def once(
        self, key: tuple[int, int], devices: int, compute: Callable[[], Sequence[Array]]
    ) -> Sequence[Array]:
        """What so many devices ask for under one key, computed by the first of them.

        A device waits only while another one computes.
        """
        with self.condition:
            self.check()
            work = self.begun.get(key)
            if work is None:
                work = self.begun[key] = _single(compute)
                work.awaited = devices
            work.awaited -= 1
            if not work.awaited:
                del self.begun[key]
        self._work(work)
        return work.results

    def _work(self, work: Work) -> None:
        if not work.tasks:
            return
        while True:
            with self.condition:
                self.check()
                if work.taken == len(work.tasks):
                    break
                task = work.tasks[work.taken]
                work.taken += 1
            task()
            with self.condition:
                work.open_tasks -= 1
                if not work.open_tasks:
                    # tasks hold operands, which others may want to overwrite
                    work.tasks, work.taken = (), 0
                    self.condition.notify_all()
        with self.condition:
            while work.open_tasks:
                self.check()
                self.condition.wait()

    def _judge(self, device: int, call: Call) -> None:
        """Stop the run if this call can never be answered."""
        absent = [member for member in call.group if member in self.finished]
        if absent:
            self._stop(_missing(device, call, absent))
            raise StoppedError
        for member in call.group:
            other = self.waiting.get(member)
            if other is None:
                continue
            if other.op is not call.op and other.group == call.group:
                self._stop(_mismatch(device, call, member, other))
                raise StoppedError
            if other.op is call.op and (other.group, other.payload.shape) != (call.group, call.payload.shape):
                self._stop(_shapes(device, call, member, other))
                raise StoppedError
        self._stop_if_stuck(call)

    def _stop_if_stuck(self, last: Call | None = None) -> None:
        """If nobody computes and no group is complete, nothing will ever happen."""
        if self.stopped or not self.waiting or len(self.waiting) + len(self.finished) < self.devices:
            return
        if last is not None and all(
            member in self.waiting and self.waiting[member].op is last.op for member in last.group
        ):
            return
        self._stop(_stuck(self.waiting))
        if last is not None:
            raise StoppedError


def _single(compute: Callable[[], Sequence[Array]]) -> Work:
    """Work of one task."""
    work = Work(open_tasks=1)

    def task() -> None:
        work.results = compute()

    work.tasks = (task,)
    return work


def _names(devices: Sequence[int]) -> str:
    """`device 3`, `devices 0 and 2`, `devices 0, 1 and 2`."""
    words = [str(device) for device in devices]
    if len(words) == 1:
        return f"device {words[0]}"
    return f"devices {', '.join(words[:-1])} and {words[-1]}"


def _missing(device: int, call: Call, absent: Sequence[int]) -> Finding:
    verb = "has" if len(absent) == 1 else "have"
    return error(
        "K703",
        f"{_names([device])} waits in `{call.op.kind}` for {_names(absent)}, which {verb} finished",
        call.op.span,
        f"group {list(call.group)}",
    )


def _mismatch(device: int, call: Call, member: int, other: Call) -> Finding:
    first, second = (
        ((device, call), (member, other)) if device < member else ((member, other), (device, call))
    )
    one, two = (f"`{each.op.kind}`" for _, each in (first, second))
    calls = f"device {first[0]} calls {one} where device {second[0]} calls {'another ' * (one == two)}{two}"
    return error(
        "K702",
        f"{calls}, in the group {list(call.group)}",
        first[1].op.span,
        f"device {first[0]} is here",
        labels=(Label(second[1].op.span, f"device {second[0]} is here"),),
    )


def _shapes(device: int, call: Call, member: int, other: Call) -> Finding:
    return error(
        "K702",
        f"devices {device} and {member} call `{call.op.kind}` with the shapes "
        f"{list(call.payload.shape)} and {list(other.payload.shape)}",
        call.op.span,
    )


def _stuck(waiting: dict[int, Call]) -> Finding:
    places: dict[int, list[int]] = {}
    for device in sorted(waiting):
        places.setdefault(waiting[device].op.span.start, []).append(device)
    first, *others = (
        Label(waiting[here[0]].op.span, f"{_names(here)} here, for {_names(_awaited(waiting, here))}")
        for here in places.values()
    )
    return error(
        "K705",
        f"{_names(sorted(waiting))} wait for each other in a cycle, so none can go on",
        first.span,
        first.message,
        labels=tuple(others),
    )


def _awaited(waiting: dict[int, Call], here: Sequence[int]) -> list[int]:
    """The devices that those at one place wait for: the others of their groups."""
    groups = {member for device in here for member in waiting[device].group}
    return sorted(groups.difference(here)) or list(here)
