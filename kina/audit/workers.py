"""Audits ops side by side, each in a process, and hands their reports on in the order of the ops."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from kina.audit.outcome import OpReport, from_json
from kina.diagnostics.finding import SetupError
from kina.rulebook.base import RuleBase

#: Seconds that a process has to end.
_GRACE = 5.0

#: Is told of each op when its audit is done.
Watch = Callable[[str], None]


def audit_ops(
    kinds: Sequence[str],
    base: RuleBase,
    seed: int,
    solver: str,
    jobs: int,
    watch: Watch,
    quick: bool = False,
) -> tuple[OpReport, ...]:
    """The reports of the ops, the same for any number of `jobs`.

    The rules are read here first, so that what is wrong with them is said once: ProgramError, SetupError.
    """
    _ = base.rulebook
    if not kinds:
        return ()
    with _children(min(jobs, len(kinds))) as children:
        idle: SimpleQueue[_Child] = SimpleQueue()
        for child in children:
            idle.put(child)

        def one(kind: str) -> OpReport:
            child = idle.get()
            try:
                rules = {"rules": str(base.folder), "added": [file.real for file in base.added]}
                request = {"op": kind, "seed": seed, "solver": solver, "quick": quick, **rules}
                report = _read(child.ask(request))
            finally:
                idle.put(child)
            watch(kind)
            return report

        with ThreadPoolExecutor(len(children)) as pool:
            return _all(pool, one, kinds, children)


def _all(
    pool: ThreadPoolExecutor, one: Callable[[str], OpReport], kinds: Sequence[str], children: Sequence[_Child]
) -> tuple[OpReport, ...]:
    """The reports in order; if anything fails, the processes end now and what waits is not begun."""
    try:
        return tuple(pool.map(one, kinds))
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in children:
            child.stop()
        raise


def _read(answer: dict[str, Any]) -> OpReport:
    if "setup" in answer:
        raise SetupError(*answer["setup"])
    if "program" in answer:
        raise SetupError(f"the rules fail on an instance: {answer['program'].strip()}")
    return from_json(OpReport, answer["report"])


@dataclass(slots=True)
class _Child:
    """A process that waits for requests."""

    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "kina.audit.child"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
            encoding="utf-8",
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request; SetupError if the process is gone."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise SetupError(
                f"the process that audits `{request['op']}` ended", "run it again with `--jobs 1`"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """Have the process end what it does."""
        self.process.terminate()

    def end(self) -> None:
        """Wait for the process, and not for long."""
        try:
            self.process.communicate(timeout=_GRACE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


@contextmanager
def _children(count: int) -> Iterator[list[_Child]]:
    """Processes that are gone afterwards."""
    children: list[_Child] = []
    try:
        children += [_Child() for _ in range(count)]
        yield children
    finally:
        for child in children:
            child.stop()
        for child in children:
            child.end()
