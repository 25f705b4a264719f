"""Starts the tools on the same step, and reads off what their processes say and take."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.measure import ROOT, resident_mib
from bench.peers.schemes import LARGE_SIZES, Scheme, Sizes, kina_program

_PASS = re.compile(r"HLO pass: (\S+) time: .*\((\d+) us\) \(cumulative")
_BEGIN = re.compile(r"\]\s+HLO pass (\S+)$")

#: The passes of XLA that are about shardings.
XLA_PASSES = ("shardy-xla", "spmd-partitioning")


@dataclass(frozen=True, slots=True)
class Taken:
    """Seconds on the wall and of the processor; the latter say more on a machine that others use."""

    seconds: float
    processor: float


@dataclass(frozen=True, slots=True)
class Files:
    """One step under one scheme, as the tools read it."""

    kina: Path
    stablehlo: Path


@contextmanager
def written(sizes: Sizes, scheme: Scheme) -> Iterator[Files]:
    """The step as files that are there inside."""
    with tempfile.TemporaryDirectory(prefix="kina-bench-") as name:
        files = Files(Path(name) / "step.kina", Path(name) / "step.mlir")
        files.kina.write_text(kina_program(sizes, scheme), encoding="utf-8")
        which = "large" if sizes == LARGE_SIZES else str(sizes.layers)
        command = [sys.executable, "-m", "bench.peers.jax_program", scheme.name, which, str(files.stablehlo)]
        subprocess.run(command, cwd=ROOT, check=True, env=jax_environment(scheme.devices))
        yield files


def jax_environment(devices: int) -> dict[str, str]:
    """The environment of a process that runs jax on so many CPU devices."""
    flags = f"--xla_force_host_platform_device_count={devices}"
    return {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags, "TF_CPP_MIN_LOG_LEVEL": "2"}


def shardy(files: Files, devices: int) -> dict[str, Taken]:
    """What Shardy's passes take on a module parsed afresh, once each."""
    command = [sys.executable, "-m", "bench.peers.child", "shardy", str(files.stablehlo)]
    done = subprocess.run(
        command, cwd=ROOT, check=True, env=jax_environment(devices), stdout=subprocess.PIPE, text=True
    )
    return {name: Taken(*pair) for name, pair in json.loads(done.stdout).items()}


def xla_passes(files: Files, devices: int) -> tuple[dict[str, Taken], float]:
    """What XLA's passes about shardings take, and MiB of its process up to there; what follows is cut off."""
    logging = {"TF_CPP_MIN_LOG_LEVEL": "0", "TF_CPP_VMODULE": "hlo_pass_pipeline=1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.peers.child", "xla", str(files.stablehlo), str(devices)],
        cwd=ROOT,
        env={**jax_environment(devices), **logging},
        stderr=subprocess.PIPE,
        text=True,
    )
    found: dict[str, Taken] = {}
    begun: dict[str, float] = {}
    assert process.stderr is not None
    for line in process.stderr:
        if (begin := _BEGIN.search(line.rstrip())) and begin[1] in XLA_PASSES:
            begun[begin[1]] = _processor(process.pid)
        if (end := _PASS.search(line)) and end[1] in XLA_PASSES:
            used = _processor(process.pid) - begun.get(end[1], float("nan"))
            found[end[1]] = Taken(int(end[2]) / 1e6, used)
        if len(found) == len(XLA_PASSES):
            break
    process.kill()
    process.stderr.close()
    _, _, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    if len(found) < len(XLA_PASSES):
        raise SystemExit("XLA does not say how long its passes take")
    return found, resident_mib(usage)


def _processor(pid: int) -> float:
    """Processor seconds of a running process where /proc says so, else not a number."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Checked:
    """One `kina check`: the whole process, the engine alone, and the milliseconds of all stages."""

    whole: Taken
    engine: Taken
    stages: Mapping[str, float]
    memory_mib: float


def kina(files: Files, solver: str) -> Checked:
    """`kina check` of the step."""
    command = [sys.executable, "-m", "bench.peers.kina_child", "check", str(files.kina)]
    command += ["--solver", solver, "--format", "json", "--timings"]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        errors.seek(0)
        said = errors.read()
        if process.returncode:
            raise SystemExit(f"`kina check` ends with exit code {process.returncode}:\n{out.read()}\n{said}")
        report = json.load(out)
    _, wall, processor = said.strip().splitlines()[-1].split()
    return Checked(
        Taken(seconds, usage.ru_utime + usage.ru_stime),
        Taken(float(wall), float(processor)),
        report["timings_ms"],
        resident_mib(usage),
    )
