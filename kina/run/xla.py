"""Execution in XLA, by a child process that compiles once and keeps its results on the devices."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from io import BufferedReader
from threading import Timer
from typing import IO

from kina import __version__
from kina.diagnostics.finding import SetupError
from kina.mlir.syntax import Module
from kina.output import write_stderr
from kina.run.executor import Executed, Input, Kept
from kina.run.ports import RunPort, Signature
from kina.run.shards import place
from kina.run.wire import Message, receive, send
from kina.run.xla_ending import ApartError, EndedError, ended
from kina.run.xla_meeting import MEET
from kina.sim.dtypes import Array

#: Seconds that a child has to take its leave of the other processes, which may still write their results.
_LEAVE = 300.0
#: Seconds that a child has to say to other processes that it ends before its time.
_FAREWELL = 5.0
#: Seconds after which a process that waits for others says so.
_SILENT = 5.0


@dataclass(frozen=True, slots=True)
class XlaOptions:
    """Which devices to use: those of a platform of jax, "auto" being jax's choice, and in which processes.

    `coordinator` is the address of process 0, "auto" if jax knows its cluster, None for a single process;
    processes wait `patience` seconds for each other. `alike` is what they must have been given alike besides
    the module, as parts of `kina.run.xla_meeting`.
    """

    platform: str = "auto"
    coordinator: str | None = None
    processes: int | None = None
    process: int | None = None
    patience: int = 120
    alike: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Xla:
    """A child that has compiled a module, as an `Executor`."""

    child: subprocess.Popen[bytes]
    log: IO[bytes]
    signature: Signature
    platform: str
    devices: tuple[int, ...]
    process: tuple[int, int]

    @property
    def engine(self) -> tuple[str, str]:
        return "xla", self.platform

    def run(self, inputs: Iterable[Input]) -> Executed:
        for index, each in enumerate(inputs):
            if isinstance(each, Kept):
                self._ask({"do": "keep", "argument": index, "result": each.result})
            else:
                self._put(index, each)
        return Executed(float(self._ask({"do": "run"})[0]["seconds"]))

    def _put(self, index: int, parts: Sequence[Array]) -> None:
        """Send an argument part by part; those that several devices hold are sent once."""
        different = {id(part): part for part in parts}
        order = list(different)
        places = [order.index(id(part)) for part in parts]
        self._ask({"do": "put", "argument": index, "parts": places}, list(different.values()))

    def parts(self, result: int) -> Sequence[Array]:
        port = self.signature.results[result]
        alike = _alike(self.signature, port, self.devices)
        message, arrays = self._ask({"do": "fetch", "result": result, "alike": alike})
        return [arrays[number] for number in message["parts"]]

    def gathered(self, result: int) -> Sequence[Array]:
        if self.process[1] == 1:
            return self.parts(result)
        everywhere = range(self.signature.devices)
        alike = _alike(self.signature, self.signature.results[result], everywhere)
        firsts = [alike.index(number) for number in range(len(set(alike)))]
        _, arrays = self._ask({"do": "gather", "result": result, "devices": firsts})
        return [arrays[number] for number in alike]

    def agreed(self, fine: bool) -> bool:
        return fine if self.process[1] == 1 else bool(self._ask({"do": "agree", "fine": fine})[0]["fine"])

    def _ask(self, question: Message, arrays: Sequence[Array] = ()) -> tuple[Message, list[Array]]:
        return _asked(self.child, self.log, question, arrays)


def _alike(signature: Signature, port: RunPort, devices: Sequence[int]) -> list[int]:
    """For each device a number, the same for those that hold the same part of a tensor, counted from 0."""
    grid, numbers = signature.grid, dict[object, int]()
    pending = [axis for axis, _ in port.pending]
    found = []
    for device in devices:
        starts = tuple(part.start for part in place(grid, port, device))
        key = starts, tuple(grid.places[device][axis] for axis in pending), None if port.known else device
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def _asked(
    child: subprocess.Popen[bytes], log: IO[bytes], question: Message, arrays: Sequence[Array] = ()
) -> tuple[Message, list[Array]]:
    """The child's answer; SetupError with what it says is wrong, or the end of its log if it has ended."""
    assert child.stdin is not None
    assert isinstance(child.stdout, BufferedReader)
    with suppress(OSError):
        send(child.stdin, question, arrays)
    answer = receive(child.stdout)
    if answer is None:
        child.wait()
        log.seek(0)
        raise ended(child.returncode, log.read().decode("utf-8", "replace"))
    if "error" in answer[0]:
        kind = ApartError if answer[0]["code"] == ApartError.exit_code else SetupError
        raise kind(answer[0]["error"], answer[0]["help"])
    return answer


@contextmanager
def executor(module: Module, signature: Signature, options: XlaOptions) -> Iterator[Xla]:
    """What runs the module on the devices that jax sees; the child ends with the context.

    Raises SetupError if jax is not installed, if there are too few devices, if other processes do not come,
    or if XLA refuses the module or aborts.
    """
    if importlib.util.find_spec("jaxlib") is None or importlib.util.find_spec("jax") is None:
        raise SetupError("`--engine xla` needs jax, which is not installed", "pip install 'kina[xla]'")
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "kina.run.xla_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=_environment(options),
        )
        try:
            found = _started(child, log, module, signature, options)
            _asked(child, log, {"do": "compile", "module": module.source.text})
            yield found
            _leave(child)
        finally:
            _end(child, _FAREWELL if options.coordinator is not None else 0)


def _started(
    child: subprocess.Popen[bytes],
    log: IO[bytes],
    module: Module,
    signature: Signature,
    options: XlaOptions,
) -> Xla:
    """The child with its devices, after it has met the other processes if there are any."""
    place = options.coordinator
    try:
        with _told(place, options.patience):
            said, _ = _asked(child, log, _introduction(module, signature, options))
    except EndedError as problem:
        if place is None or not problem.waiting:
            raise
        # jax ends a process that waits in vain
        lacks = "" if options.process == 0 or answers(place) else "; nothing answers there"
        raise SetupError(
            f"the processes do not meet at `{place}` within {options.patience} seconds{lacks}", MEET
        ) from problem
    return Xla(child, log, signature, said["platform"], tuple(said["devices"]), tuple(said["process"]))


def _introduction(module: Module, signature: Signature, options: XlaOptions) -> Message:
    """The first message: the mesh, where to find its devices, and what other processes must have alike."""
    digest = sha256(module.source.text.encode("utf-8", "surrogatepass")).hexdigest()
    alike = [("kina", "runs", f"kina {__version__}"), *options.alike, ("program", "runs", digest)]
    sizes = [axis.size for axis in signature.grid.mesh.axes]
    return {**asdict(options), "mesh": sizes, "alike": alike}


@contextmanager
def _told(place: str | None, patience: int) -> Iterator[None]:
    """Say after some seconds that this process waits for others; at a terminal the progress line does."""
    waits = f"waits at `{place}` for the other processes, at most {patience} seconds\n"
    timer = Timer(_SILENT, write_stderr, (waits,))
    timer.daemon = True
    if place is not None and not sys.stderr.isatty():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def answers(place: str) -> bool:
    """Whether anything listens at HOST:PORT; True if that is not known."""
    host, _, port = place.rpartition(":")
    if not port.isdecimal():
        return True
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=2):
            return True
    except OSError:
        return False


def _environment(options: XlaOptions) -> dict[str, str]:
    """The child's environment; how many CPU devices there are is for the child to say."""
    flags = re.sub(r"--xla_force_host_platform_device_count=\S*", "", os.environ.get("XLA_FLAGS", ""))
    found = {**os.environ, "XLA_FLAGS": flags, "JAX_ENABLE_X64": "1"}
    found["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    if options.platform == "cpu":
        found["JAX_PLATFORMS"] = "cpu"
    return found


def _end(child: subprocess.Popen[bytes], patience: float) -> None:
    """End a child that still runs, after it has told other processes; in any case leave nothing of it."""
    assert child.stdin is not None
    assert child.stdout is not None
    with suppress(OSError):
        child.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        if patience:
            child.wait(patience)
    child.kill()
    child.wait()
    child.stdout.close()


def _leave(child: subprocess.Popen[bytes]) -> None:
    """Let the child end by itself: in several processes they wait for each other."""
    assert child.stdin is not None
    with suppress(OSError):
        send(child.stdin, {"do": "leave"})
    with suppress(subprocess.TimeoutExpired):
        child.wait(_LEAVE)
