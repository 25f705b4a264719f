"""What goes wrong between processes that share a mesh: real ones over loopback, each ends and says why."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from kina.run import xla_meeting
from kina.run.xla_ending import ApartError, EndedError, ended, silent
from kina.run.xla_meeting import Meeting, differences, last_words
from tests.command import ROOT
from tests.run.test_xla import LIMIT, MOVED, TRAIN, free_port, needs_jax

needs_proc = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")

#: Far more steps than a test waits for.
LONG = ("--steps", "1000000")


@dataclass
class Launcher:
    """Starts processes of one run in a folder, and ends those that are left."""

    folder: Path
    port: int = field(default_factory=free_port)
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def __call__(
        self, number: int, *arguments: str, processes: int = 2, file: str = "t.kina"
    ) -> subprocess.Popen[str]:
        place = ("--coordinator", f"127.0.0.1:{self.port}", "--processes", str(processes))
        return self.alone(file, *place, "--process", str(number), *arguments)

    def alone(self, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kina", "run", *arguments, "--engine", "xla", "--platform", "cpu"]
        process = subprocess.Popen(
            command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        self.started.append(process)
        return process


@pytest.fixture
def launch(tmp_path: Path) -> Iterator[Launcher]:
    (tmp_path / "t.kina").write_text(TRAIN)
    (tmp_path / "other.kina").write_text(TRAIN.replace("multiply", "add"))
    (tmp_path / "m.mlir").write_text(MOVED)
    np.savez(tmp_path / "in.npz", x=np.zeros((8, 8), np.int32))
    found = Launcher(tmp_path)
    yield found
    for process in found.started:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str], code: int = 1, within: float = 30) -> str:
    """What a process says, that ends with a code within some seconds."""
    _, words = process.communicate(timeout=within)
    assert process.returncode == code, words
    return words


def child_of(process: subprocess.Popen[str]) -> int:
    path = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return int(path.read_text().split()[0])


def runs(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def wait_for_step(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    while line := process.stdout.readline():
        if line.startswith("step "):
            return
    pytest.fail("no step was run")


def ends(pid: int, within: float = 5) -> bool:
    end = time.monotonic() + within
    while runs(pid) and time.monotonic() < end:
        time.sleep(0.1)
    return not runs(pid)


@needs_jax
@needs_proc
@pytest.mark.parametrize(
    ("lost", "by"),
    [
        (1, signal.SIGKILL),
        (0, signal.SIGKILL),
        pytest.param(1, signal.SIGTERM, marks=pytest.mark.deep),
        pytest.param(1, signal.SIGINT, marks=pytest.mark.deep),
        pytest.param(0, signal.SIGINT, marks=pytest.mark.deep),
    ],
)
def test_a_process_that_is_ended_takes_its_child_and_the_others_with_it(
    launch: Launcher, lost: int, by: signal.Signals
) -> None:
    both = [launch(number, *LONG) for number in (0, 1)]
    wait_for_step(both[lost])
    child = child_of(both[lost])
    both[lost].send_signal(by)
    words = said(both[1 - lost])
    assert f"error: process {lost} of the run has ended" in words
    assert "its own output says why" in words
    assert ends(child)


@needs_jax
@needs_proc
@pytest.mark.deep
def test_a_child_that_is_killed_is_told_from_one_that_fails(launch: Launcher) -> None:
    both = [launch(number, *LONG) for number in (0, 1)]
    wait_for_step(both[1])
    os.kill(child_of(both[1]), signal.SIGKILL)
    words = said(both[1], 2)
    assert "error: the process that runs XLA was killed by signal 9 (SIGKILL)" in words
    assert "lack of memory" in words
    assert "error: process 1 of the run has ended" in said(both[0])


@needs_jax
@needs_proc
def test_alone_the_child_ends_with_its_parent(launch: Launcher) -> None:
    process = launch.alone("t.kina", *LONG)
    wait_for_step(process)
    child = child_of(process)
    process.kill()
    assert ends(child)


@needs_jax
@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--seed", "3"), "process 1 was given `--seed 3`, process 0 `--seed 0`"),
        pytest.param(
            ("--steps", "2"),
            "process 1 was given `--steps 2`, process 0 `--steps 1`",
            marks=pytest.mark.deep,
        ),
        pytest.param(
            ("--verify",), "process 1 was given `--verify`, process 0 no `--verify`", marks=pytest.mark.deep
        ),
    ],
)
def test_processes_that_are_given_other_options(
    launch: Launcher, given: tuple[str, ...], message: str
) -> None:
    both = [launch(0), launch(1, *given)]
    for process in both:
        words = said(process)
        assert f"error: {message}\n" in words
        assert "start every process with the same program and the same options" in words


@needs_jax
def test_processes_that_run_other_programs(launch: Launcher) -> None:
    for process in [launch(0), launch(1, file="other.kina")]:
        assert "error: process 1 runs another program than process 0\n" in said(process)


@needs_jax
@pytest.mark.deep
def test_processes_that_count_otherwise(launch: Launcher) -> None:
    for process in [launch(0), launch(1, processes=4)]:
        assert "process 1 was given `--processes 4`, process 0 `--processes 2`\n" in said(process)


@needs_jax
@pytest.mark.deep
def test_inputs_of_one_process_only(launch: Launcher) -> None:
    for process in [launch(0, file="m.mlir"), launch(1, "--inputs", "in.npz", file="m.mlir")]:
        assert "process 1 was given `--inputs`, process 0 no `--inputs`\n" in said(process)


@needs_jax
@pytest.mark.deep
def test_a_process_that_cannot_read_its_inputs(launch: Launcher) -> None:
    here = launch(0, "--inputs", "in.npz", file="m.mlir")
    assert "no.npz" in said(launch(1, "--inputs", "no.npz", file="m.mlir"), 2)
    assert "error: process 1 of the run has ended" in said(here)


@needs_jax
def test_two_processes_with_the_number_0(launch: Launcher) -> None:
    launch(0)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", launch.port), 1):
            break
        time.sleep(0.1)
    words = said(launch(0), 2)
    assert f"error: process 0 cannot listen at port {launch.port}: address already in use" in words
    assert "another process of the run was given `--process 0` too" in words


@needs_jax
@pytest.mark.deep
def test_two_processes_with_another_number(launch: Launcher) -> None:
    first = [launch(0, *LONG), launch(1, *LONG)]
    wait_for_step(first[0])
    launch(1, *LONG)
    # whichever hears of it first ends the other
    words = [said(process) for process in first]
    assert any("two processes of the run have the number 1" in each for each in words), words


@needs_jax
@pytest.mark.deep
def test_two_processes_with_one_number_before_the_others_come(launch: Launcher) -> None:
    # one of four devices each: the others are never there
    first, _ = launch(1, processes=4), launch(0, processes=4)
    time.sleep(7)
    launch(1, processes=4)
    words = said(first)
    assert f"waits at `127.0.0.1:{launch.port}` for the other processes, at most 120 seconds\n" in words
    assert "another process of the run has the number of this one" in words


@needs_jax
@pytest.mark.parametrize(
    ("place", "message"),
    [
        pytest.param(
            ("nowhere.invalid:9000", "2"),
            "no machine named `nowhere.invalid` is known here",
            marks=pytest.mark.deep,
        ),
        (("127.0.0.1:9000", "3"), "the mesh has 4 devices, which 3 processes do not divide"),
    ],
)
def test_places_that_cannot_be(launch: Launcher, place: tuple[str, str], message: str) -> None:
    arguments = ("--coordinator", place[0], "--processes", place[1], "--process", "1")
    assert message in said(launch.alone("t.kina", *arguments), 2)


def test_how_a_child_ended_is_told_by_its_signal_and_not_by_news() -> None:
    news = "W1130 19:47:45.362066    3330 spmd.cc:147] GSPMD is going to be deprecated\n"
    killed = ended(-9, news)
    assert isinstance(killed, EndedError)
    assert killed.message == "the process that runs XLA was killed by signal 9 (SIGKILL)"
    assert "lack of memory" in killed.help
    assert ended(-15, news).help == ""
    assert ended(-11, news).message.endswith("signal 11 (SIGSEGV)")
    assert ended(-6, "terminate: out of range\n" + news).message.endswith("module: terminate: out of range")
    assert ended(3, news).message.endswith("its process ended with exit code 3")


def test_how_jax_ends_a_process_for_another_one() -> None:
    def fatal(status: str) -> str:
        return f"F1130 19:47:45.3 1 client.h:80] {_FATAL} absl::Status: {status}\n"

    assert ended(-6, fatal("UNAVAILABLE: Failed to send RPC to coordination service.")).message == (
        "process 0 of the run has ended"
    )
    twice = ended(-6, fatal("ABORTED: 1 unexpectedly tried to connect with a different incarnation."))
    assert twice.message == "two processes of the run have the number 1"
    newer = fatal("ALREADY_EXISTS: Aborted connect attempt as there is a request from a newer incarnation.")
    assert ended(-6, newer).message == "another process of the run has the number of this one"
    unheard = (
        "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats):\n{}\nThe tasks have"
    )
    for named in ("3\n5", "/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:5"):
        quiet = ended(-6, fatal(unheard.format(named)))
        assert isinstance(quiet, ApartError)
        assert quiet.message == "processes 3, 5 of the run have ended"
    waited = ended(-6, fatal("DEADLINE_EXCEEDED: Deadline Exceeded\n\nRPC: /x/RegisterTask"))
    assert isinstance(waited, EndedError)
    assert waited.waiting


_FATAL = "Terminating process because the JAX distributed service detected fatal errors. See the logs."


def test_a_barrier_tells_which_process_is_not_heard_of() -> None:
    said = "INTERNAL: Barrier failed because: task is set to ERROR: UNAVAILABLE: Task 1 heartbeat timeout. 7"
    assert silent(said) == [1]
    assert silent("Gloo all-reduce failed: Connection closed by peer [127.0.0.1]:4") == []


class Store:
    """A store of texts whose other processes answer a call as they are told to."""

    def __init__(self, answering: tuple[int, ...], gone: bool = False) -> None:
        self.texts: dict[str, str] = {}
        self.answering, self.gone = answering, gone

    def key_value_set(self, key: str, value: str) -> None:
        if key in self.texts:
            raise RuntimeError("ALREADY_EXISTS")
        self.texts[key] = value
        if key == "kina/call":
            self.texts.update({f"kina/here/{number}": "" for number in self.answering})

    def key_value_dir_get(self, _: str) -> list[tuple[str, str]]:
        if self.gone:
            raise RuntimeError("UNAVAILABLE")
        return list(self.texts.items())


def test_those_that_do_not_answer_a_call_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xla_meeting, "_CALLED", 0.3)
    closed = RuntimeError("UNKNOWN: Gloo all-to-all failed: Connection closed by peer [127.0.0.1]:4")
    store = Store((0, 2))
    assert Meeting(store, 2, 4).lost(closed) == "processes 1, 3 of the run have ended"
    # the others learn what was found, and call no more
    assert Meeting(store, 0, 4).heard() == "processes 1, 3 of the run have ended"
    assert Meeting(Store((0, 1)), 0, 2).lost(closed) == ""
    assert Meeting(Store(()), 0, 2).lost(RuntimeError("INVALID_ARGUMENT: no")) == ""
    assert Meeting(Store((), gone=True), 1, 2).lost(closed) == "process 0 of the run has ended"
    assert Meeting(Store((), gone=True), 0, 2).lost(closed) == ""
    helped = last_words(Meeting(Store((0, 1)), 0, 2), closed)
    assert "the network between them may be at fault" in helped.help


def test_a_process_that_ends_first_is_the_one_that_is_named() -> None:
    store = Store(())
    Meeting(store, 3, 4).post("the mesh is too large")
    Meeting(store, 1, 4).post("")
    found = last_words(Meeting(store, 0, 4), RuntimeError("Gloo"))
    assert (str(found), found.code) == ("process 3 of the run has ended: the mesh is too large", 1)


def test_what_differs_is_named_part_by_part() -> None:
    expected = [("jax", "runs", "jax 1"), ("seed", "was given", "`--seed 0`"), ("program", "runs", "a")]
    given = [("jax", "runs", "jax 2"), ("seed", "was given", "`--seed 0`"), ("program", "runs", "b")]
    assert differences(4, given, expected) == (
        "process 4 runs jax 2, process 0 jax 1; process 4 runs another program than process 0"
    )
    assert differences(4, expected, expected) == ""
