"""Whole processes measured from outside: wall time and peak memory; results as a table and as JSON."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Measured:
    """One command: the fastest of its runs in seconds, the peak of resident memory in MiB, its exit code."""

    name: str
    engine: str
    seconds: float
    memory_mib: float
    code: int


def measure(name: str, engine: str, command: Sequence[str], runs: int = 3) -> Measured:
    """Run `command` `runs` times from the top of the checkout."""
    best, memory, code = float("inf"), 0.0, 0
    for _ in range(runs):
        with tempfile.TemporaryFile() as nowhere:
            start = time.perf_counter()
            process = subprocess.Popen(command, cwd=ROOT, stdout=nowhere, stderr=nowhere)
            _, status, usage = os.wait4(process.pid, 0)
            spent = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        best, code = min(best, spent), process.returncode
        memory = max(memory, usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2))
    return Measured(name, engine, best, memory, code)


def machine() -> str:
    """The machine in one line, to be printed above every table."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, load {load:.1f}"


def show(title: str, rows: Sequence[Measured]) -> None:
    """Print a table and leave it as JSON in `bench/results/`."""
    print(f"\n{title} ({machine()})\n")
    print(f"{'':32}{'engine':10}{'seconds':>9}{'MiB':>8}  exit")
    for row in rows:
        print(f"{row.name:32}{row.engine:10}{row.seconds:9.3f}{row.memory_mib:8.0f}  {row.code}")
    RESULTS.mkdir(exist_ok=True)
    out = {"machine": machine(), "rows": [asdict(row) for row in rows]}
    (RESULTS / f"{title.split()[0]}.json").write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
