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
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Measured:
    """One command with its children: its fastest run, the least processor time, the peak of resident memory.

    `seconds` is time on the wall, `processor` of all cores together; memory is that of the largest process.
    """

    name: str
    engine: str
    seconds: float
    processor: float
    memory_mib: float
    code: int


def measure(name: str, engine: str, command: Sequence[str], runs: int = 3) -> Measured:
    """Run `command` `runs` times from the top of the checkout."""
    best, processor, memory, code = float("inf"), float("inf"), 0.0, 0
    for _ in range(runs):
        with tempfile.TemporaryFile() as nowhere:
            start = time.perf_counter()
            process = subprocess.Popen(command, cwd=ROOT, stdout=nowhere, stderr=nowhere)
            _, status, usage = os.wait4(process.pid, 0)
            spent = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        best, code = min(best, spent), process.returncode
        processor = min(processor, usage.ru_utime + usage.ru_stime)
        memory = max(memory, resident_mib(usage))
    return Measured(name, engine, best, processor, memory, code)


def resident_mib(usage: Any) -> float:
    """The peak of resident memory of a process that has ended, in MiB."""
    return float(usage.ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2))


def machine() -> str:
    """The machine in one line, to be printed above every table."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = os.getloadavg()[0]
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, load {load:.1f}"


def show(name: str, title: str, rows: Sequence[Measured], notes: Sequence[str] = ()) -> None:
    """Print a table with notes below it, and leave it as `bench/results/NAME.json`."""
    print(f"\n{title} ({machine()})\n")
    print(f"{'':24}{'engine':10}{'seconds':>9}{'processor':>11}{'MiB':>8}  exit")
    for row in rows:
        times = f"{row.seconds:9.3f}{row.processor:11.3f}"
        print(f"{row.name:24}{row.engine:10}{times}{row.memory_mib:8.0f}  {row.code}")
    for note in notes:
        print(note)
    RESULTS.mkdir(exist_ok=True)
    out = {"machine": machine(), "rows": [asdict(row) for row in rows], "notes": list(notes)}
    (RESULTS / f"{name}.json").write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")
