"""The process that grounds: started early on demand, asked once, and ended whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from kina.datalog.limits import out_of_time
from kina.diagnostics.finding import SetupError

_CHILD = Path(__file__).with_name("clingo_child.py")

#: The grounder looks symbols up all over its memory, which takes a tenth less time in large pages.
_LARGE_PAGES = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=67108864"

#: The processes that wait for their question.
_waiting: ContextVar[tuple[subprocess.Popen[bytes], ...]] = ContextVar("_waiting", default=())


@dataclass(frozen=True, slots=True)
class Answer:
    """What the process wrote, and its exit code."""

    output: bytes
    errors: tuple[str, ...]
    code: int


@contextmanager
def waiting() -> Iterator[None]:
    """Start a process now, so that it is ready for an `ask` inside; if one waits already, for the second.

    If that is impossible, `ask` says so.
    """
    try:
        process = _start()
    except SetupError:
        yield
        return
    token = _waiting.set((*_waiting.get(), process))
    try:
        yield
    finally:
        _waiting.reset(token)
        _end(process)


def ask(question: Iterable[bytes], time_limit: float | None) -> Answer:
    """Let a process answer; it is killed if the time, in seconds, is over or Kina is interrupted.

    It reads each part of the question while the next one is made. Raises SetupError at the time limit and
    if no process can be started.
    """
    ready = next((each for each in _waiting.get() if each.returncode is None), None)
    process = ready or _start()
    try:
        assert process.stdin is not None
        # A process that has ended says why on its other streams.
        with suppress(BrokenPipeError):
            for part in question:
                process.stdin.write(part)
        output, errors = process.communicate(timeout=time_limit)
    except subprocess.TimeoutExpired:
        raise out_of_time("clingo", time_limit or 0.0) from None
    finally:
        _end(process)
    return Answer(output, tuple(errors.decode("utf-8", "replace").splitlines()), process.returncode)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that still runs; in any case leave nothing of it."""
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(OSError):
                stream.close()


def _start() -> subprocess.Popen[bytes]:
    environment = {
        "GLIBC_TUNABLES": _LARGE_PAGES,
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    try:
        return subprocess.Popen(
            [sys.executable, "-P", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
    except OSError as fault:
        raise SetupError(f"cannot run `{sys.executable}`: {fault.strerror or fault}") from None
