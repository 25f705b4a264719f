"""Why the child that runs XLA has ended without an answer, in words."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from kina.diagnostics.finding import SetupError

#: Where to look if another process of the run has ended.
ELSEWHERE = "its own output says why; one that the system kills, mostly for lack of memory, prints nothing"
#: What to do if processes were given different things.
AGAIN = "start every process with the same program and the same options, but for `--process`"

_SIM = "`--engine sim` says more about what is wrong with a module"
_MEMORY = (
    "mostly the system kills a process for lack of memory; `kina run` prints an estimate of what it needs"
)
#: Lines of a stack, and the line with which C++ libraries end a process.
_FRAME = re.compile(r"\s*@ |\s*\*\*\*")
_FATAL = re.compile(r"F\d{4} [^\]]*\] (.*)")
#: Lines that libraries write while all is well, and the one that announces them.
_LOG = re.compile(r"[IWE]\d{4} \d\d:\d\d:\d\d|WARNING: All log messages before absl::InitializeLog")
_ERROR = re.compile(r"E\d{4} [^\]]*\] (.*)")
#: How jax ends a process when another one has gone, or comes a second time.
_OTHERS = "JAX distributed service detected fatal errors"
_TWICE = re.compile(r"(?:task:)?(\d+) unexpectedly tried to connect")
_NEWER = "request from a newer incarnation"
#: How the coordinator names processes that it no longer hears of: in one line, or one below the other.
_SILENT = re.compile(r"task[: ](\d+) heartbeat timeout", re.IGNORECASE)
_UNHEALTHY = re.compile(r"stopped sending heartbeats\):(.*?)The tasks", re.DOTALL)
_NUMBER = re.compile(r"(\d+)\s*(?:,|$)", re.MULTILINE)


class EndedError(SetupError):
    """The child has ended without an answer; `waiting` if it waited in vain for other processes."""

    def __init__(self, message: str, help_: str = "", waiting: bool = False) -> None:
        super().__init__(message, help_)
        self.waiting = waiting


class ApartError(SetupError):
    """The processes of a run do not agree, or one of them is lost (exit code 1)."""

    exit_code = 1


def ended(code: int, log: str) -> SetupError:
    """The error that says why a child ended with a return code, from what it wrote."""
    if _OTHERS in log:
        return _by_others(log[log.index(_OTHERS) :])
    said = reason_in(log)
    # a library that aborts says why before; other signals come from outside, or all of a sudden
    if code < 0 and (code != -signal.SIGABRT or not said):
        by = f"signal {-code}{_signal_name(-code)}"
        helps: dict[int, str] = {signal.SIGKILL: _MEMORY, signal.SIGTERM: "", signal.SIGHUP: ""}
        return EndedError(f"the process that runs XLA was killed by {by}", helps.get(-code, _SIM))
    said = said or f"its process ended with exit code {code}"
    return EndedError(f"XLA does not run the module: {said[:300]}", _SIM)


def _signal_name(number: int) -> str:
    try:
        return f" ({signal.Signals(number).name})"
    except ValueError:
        return ""


def _by_others(said: str) -> SetupError:
    """What jax means when it ends a process because of another one."""
    own = "give each process a `--process` of its own"
    if twice := _TWICE.search(said):
        return ApartError(f"two processes of the run have the number {twice[1]}", own)
    if _NEWER in said:
        return ApartError("another process of the run has the number of this one", own)
    if "DEADLINE_EXCEEDED" in said and "RegisterTask" in said:
        return EndedError("the other processes do not come", waiting=True)
    if gone := silent(said):
        return ApartError(ended_processes(gone), ELSEWHERE)
    if "Failed to send RPC" in said or "UNAVAILABLE" in said:
        return ApartError(ended_processes([0]), ELSEWHERE)
    status = said.partition("absl::Status: ")[2] or said
    return ApartError(f"another process of the run has ended: {status.splitlines()[0][:200]}", ELSEWHERE)


def silent(said: str) -> list[int]:
    """The processes that the coordinator no longer hears of, from what jax says."""
    listed = "".join(_UNHEALTHY.findall(said))
    return sorted({int(number) for number in (*_SILENT.findall(said), *_NUMBER.findall(listed))})


def ended_processes(numbers: Sequence[int]) -> str:
    """That the processes have ended."""
    named = ", ".join(map(str, numbers))
    several = len(numbers) > 1
    return f"process{'es' if several else ''} {named} of the run {'have' if several else 'has'} ended"


def reason_in(log: str) -> str:
    """What a log says of the end of its process: the first fatal line, else the last that is no news."""
    lines = [line for line in log.splitlines() if line.strip() and not _FRAME.match(line)]
    fatal = next((found[1] for line in lines if (found := _FATAL.match(line))), "")
    said = [line.strip() for line in lines if not _LOG.match(line)]
    errors = [found[1] for line in lines if (found := _ERROR.match(line))]
    return fatal or (said[-1] if said else "") or (errors[-1] if errors else "")
