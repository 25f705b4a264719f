"""Inside the child that runs XLA: what the processes of one run tell each other besides their data.

They write short texts into the store that jax's coordinator keeps: at the meeting what must be equal, later
a note of the first one that ends before the run does, and answers to the question who is still there.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic, sleep
from typing import Any

from kina.run.xla_ending import AGAIN, ELSEWHERE, ended_processes, silent

#: What to do if processes do not meet.
MEET = (
    "every process names the same coordinator and number of processes, and has a number of its own: "
    "two with the same number do not meet"
)
#: Seconds that the others have to say what they were given, once all are there.
_ASKED = 60
#: Seconds that the others have to read what differs.
_APART = 10
#: Seconds that the others have to say that they are there: they look once a second.
_CALLED = 4.0
#: Seconds for which the process that keeps the store outlives its own end, so that the others can read why.
_HEARD = 1.5
#: Seconds to wait for the slowest process to compile and to read its inputs.
_READY = 24 * 3600
#: What XLA says if a connection to another process is closed or does not come about.
_CONNECTION = re.compile(r"gloo|nccl|connection|socket|UNAVAILABLE|peer|barrier|heartbeat", re.IGNORECASE)

#: Something that must be equal in all processes: its name, how a process comes to it, and what it is.
Part = tuple[str, str, str]


class RefusedError(Exception):
    """Surroundings that do not fit; `help` says what to do, `code` is the exit code of the run."""

    def __init__(self, message: str, help_: str = "", code: int = 2) -> None:
        super().__init__(message)
        self.help = help_
        self.code = code


@dataclass(frozen=True, slots=True)
class Meeting:
    """This process among `count` others, and the store of texts that all of them read."""

    store: Any
    process: int
    count: int

    def agree(self, parts: Sequence[Part]) -> None:
        """Every process was given the same. RefusedError, in all of them, with what differs."""
        self._write(f"given/{self.process}", json.dumps(parts))
        if self.process == 0:
            self._write("agreed", self._differences(parts))
        wrong = self.store.blocking_key_value_get("kina/agreed", _ASKED * 1000)
        if wrong:
            # all have read it before the store ends
            with suppress(Exception):
                self.store.wait_at_barrier("kina/apart", _APART * 1000)
            raise RefusedError(wrong, AGAIN, 1)

    def _differences(self, parts: Sequence[Part]) -> str:
        for number in range(1, self.count):
            try:
                given = json.loads(self.store.blocking_key_value_get(f"kina/given/{number}", _ASKED * 1000))
            except Exception as problem:
                return f"process {number} does not say what it was given: {first_line(problem)}"
            if wrong := differences(number, [tuple(part) for part in given], parts):
                return wrong
        return ""

    def ready(self) -> None:
        """All are about to run: else the first would give up connecting to one that still compiles."""
        self.store.wait_at_barrier("kina/ready", _READY * 1000)

    def post(self, said: str) -> None:
        """Let the others know why this process ends, unless another one has ended before."""
        reason = f": {said}" if said else ""
        self._write("note", f"process {self.process} of the run has ended{reason}")

    def linger(self) -> None:
        """Stay until the others have read, if the store ends with this process."""
        if self.process == 0:
            sleep(_HEARD)

    def heard(self) -> str:
        """The note of a process that has ended, "" if there is none; a call for this one is answered."""
        known = self._read()
        if "call" in known and f"here/{self.process}" not in known:
            self._write(f"here/{self.process}", "")
        return known.get("note", "")

    def lost(self, problem: Exception) -> str:
        """Which processes have ended, if that is what XLA stumbles over; "" if it is not."""
        if note := self.heard():
            return note
        if gone := silent(str(problem)):
            return ended_processes(gone)
        if not _CONNECTION.search(str(problem)):
            return ""
        self._write("call", "")
        end, missing = monotonic() + _CALLED, set(range(self.count))
        while missing and monotonic() < end:
            sleep(0.2)
            try:
                known = dict(self.store.key_value_dir_get("kina/"))
            except Exception:
                # the store is gone, and with it the process that keeps it
                return ended_processes([0]) if self.process else ""
            if "kina/note" in known:
                return str(known["kina/note"])
            missing = {number for number in missing if f"kina/here/{number}" not in known}
        note = ended_processes(sorted(missing)) if missing else ""
        if note:
            self._write("note", note)
        return note

    def _read(self) -> dict[str, str]:
        try:
            return {key.removeprefix("kina/"): value for key, value in self.store.key_value_dir_get("kina/")}
        except Exception:
            # a store that is gone ends this process by itself
            return {}

    def _write(self, key: str, value: str) -> None:
        """Write a text that nobody has written before; the first one stands."""
        try:
            self.store.key_value_set(f"kina/{key}", value)
        except Exception:
            return


def differences(number: int, given: Sequence[Part], expected: Sequence[Part]) -> str:
    """What a process was given otherwise than process 0, in words; "" if nothing."""
    found = []
    known = {name: (verb, value) for name, verb, value in expected}
    for name, verb, value in given:
        other = known.get(name, (verb, "nothing"))[1]
        if value == other:
            continue
        if name == "program":
            found.append(f"process {number} runs another program than process 0")
        else:
            found.append(f"process {number} {verb} {value}, process 0 {other}")
    return "; ".join(found)


def meet(coordinator: str, processes: int | None, process: int | None, patience: int) -> Meeting:
    """The meeting of all processes, when they are there. RefusedError if they cannot meet.

    A process that waits in vain is ended by jax.
    """
    import jax
    from jax._src import distributed

    if coordinator != "auto":
        _check_place(coordinator, process)
    jax.config.update("jax_cpu_collectives_implementation", "gloo")  # type: ignore[no-untyped-call]
    address = None if coordinator == "auto" else coordinator
    try:
        jax.distributed.initialize(address, processes, process, initialization_timeout=patience)
    except (RuntimeError, ValueError) as problem:
        raise RefusedError(
            f"the processes do not meet at `{coordinator}`: {first_line(problem)}", MEET
        ) from None
    state = distributed.global_state
    return Meeting(state.client, int(state.process_id), int(state.num_processes or 1))


def _check_place(coordinator: str, process: int | None) -> None:
    """RefusedError if nobody can listen at the place, or if no machine has its name."""
    host, _, port = coordinator.rpartition(":")
    if process == 0 and "JAX_COORDINATOR_BIND_ADDRESS" not in os.environ:
        _check_port(int(port))
    # names of machines that have just started may come late
    for wait in (1, 2, 4, 0):
        try:
            socket.getaddrinfo(host.strip("[]"), int(port))
        except socket.gaierror:
            sleep(wait)
        except OSError:
            return
        else:
            return
    raise RefusedError(f"`--coordinator {coordinator}`: no machine named `{host}` is known here")


def _check_port(port: int) -> None:
    """RefusedError if another program listens at the port: two that jax starts would share it silently."""
    both = socket.has_dualstack_ipv6()
    with socket.socket(socket.AF_INET6 if both else socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if both:
            probe.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        try:
            probe.bind(("", port))
        except OSError as problem:
            said = (problem.strerror or str(problem)).lower()
            raise RefusedError(
                f"process 0 cannot listen at port {port}: {said}",
                "another program has the port, or another process of the run was given `--process 0` too",
            ) from None


def last_words(meeting: Meeting | None, problem: Exception) -> RefusedError:
    """What a run that ends with a problem says of it: the process that is lost, or what XLA says."""
    if isinstance(problem, RefusedError):
        return problem
    if meeting is not None and (note := meeting.lost(problem)):
        return RefusedError(note, ELSEWHERE, 1)
    help_ = "`--engine sim` says more about what is wrong with a module"
    if meeting is not None and _CONNECTION.search(str(problem)):
        help_ = "all processes of the run are there: the network between them may be at fault"
    return RefusedError(f"XLA does not run the module: {first_line(problem)}", help_)


def first_line(problem: Exception) -> str:
    """The first line of what an error says, or its name."""
    return (str(problem).strip() or type(problem).__name__).splitlines()[0][:300]
