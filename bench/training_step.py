"""One training step of the large demo: the simulator, XLA on the same module, and its matrix products alone.

`python -m bench training_step`. Each of the three is a process of its own, so that its peak memory is known,
and they take turns, so that what else the machine does strikes all of them.
`python -m bench.training_step ENGINE MODULE` is that process; it does a step for each line that it reads.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from bench.measure import ROOT, Measured, resident_mib, show
from kina.mlir.reader import read_module
from kina.mlir.syntax import Module, Op
from kina.run.inputs import Draw
from kina.run.ports import signature
from kina.sim.blas import limited
from kina.sim.dtypes import DTYPES, Array
from kina.sim.regions import prepared_attributes
from kina.source import Source

EXAMPLE = "examples/gpt_100m.kina"
#: Steps of each engine, after one that warms up caches and memory; the fastest counts.
ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds on the wall, and of all cores together; the latter say more on a machine that others use."""

    seconds: float
    processor: float


Step = Callable[[], Times]


def device_inputs(module: Module) -> list[list[Array]]:
    """Drawn inputs of each device, the same for every engine."""
    from kina.run.shards import shard

    ports = signature(module)
    draw = Draw(0)
    rows: list[list[Array]] = [[] for _ in range(ports.devices)]
    for index, port in enumerate(ports.arguments):
        parts = shard(ports.grid, port, draw.whole(port, 0, index), draw.generator(0, index))
        for row, part in zip(rows, parts, strict=True):
            row.append(part)
    return rows


def simulator(module: Module) -> Step:
    """A step in the simulator."""
    from kina.sim.prepare import prepare
    from kina.sim.run import run

    prepared, rows = prepare(module), device_inputs(module)
    return lambda: timed(lambda: run(prepared, rows))


def xla(module: Module) -> Step:
    """A step in XLA on CPU devices, with the inputs in place before and the results left there."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={module.devices}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["JAX_ENABLE_X64"] = "1"
    from kina.run.xla_child import compiled, placed

    loaded, devices = compiled(module.source.text, module.devices)
    arguments = placed(devices, device_inputs(module))

    def step() -> None:
        for array in loaded.execute_sharded(arguments).disassemble_into_single_device_arrays():
            for part in array:
                part.block_until_ready()

    return lambda: timed(step)


def products(module: Module) -> Step:
    """The matrix products alone, on matrices that lie ready for BLAS, each device in a thread of its own."""
    counts = Counter(product_sizes(module, op) for op in module.main.body.walk() if op.kind == "dot_general")
    rng = np.random.default_rng(0)

    def step() -> Times:
        seconds = processor = 0.0
        with limited(module.devices), ThreadPoolExecutor(module.devices) as threads:
            for (batch, rows, inner, columns, dtype), count in counts.items():
                left = rng.random((*batch, rows, inner)).astype(dtype)
                right = rng.random((*batch, inner, columns)).astype(dtype)
                outs = [np.empty((*batch, rows, columns), dtype) for _ in range(module.devices)]
                one = timed(partial(multiplied, threads, left, right, outs, count))
                seconds, processor = seconds + one.seconds, processor + one.processor
        return Times(seconds, processor)

    return step


def multiplied(
    threads: ThreadPoolExecutor, left: Array, right: Array, outs: Sequence[Array], count: int
) -> None:
    """Compute one product `count` times on each device."""

    def device(out: Array) -> None:
        for _ in range(count):
            np.matmul(left, right, out=out)

    list(threads.map(device, outs))


def product_sizes(module: Module, op: Op) -> tuple[tuple[int, ...], int, int, int, np.dtype[Any]]:
    """Batch, rows, inner size and columns of a `dot_general` as a product of matrices."""
    values = module.main.values
    left, right = (values[number].type for number in op.operands)
    attributes = prepared_attributes(module.main, op)
    batch = tuple(left.shape[dim] for dim in attributes["lhs_batching_dimensions"])
    inner = prod(left.shape[dim] for dim in attributes["lhs_contracting_dimensions"])
    both = inner * prod(batch)
    return batch, left.elements // both, inner, right.elements // both, DTYPES[left.dtype]


def timed(work: Callable[[], object]) -> Times:
    """How long the work takes."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return Times(time.perf_counter() - start, time.process_time() - used)


ENGINES: dict[str, Callable[[Module], Step]] = {"sim": simulator, "xla": xla, "products": products}


def serve(engine: str, module: Path) -> None:
    """Do a step for each line of the standard input, and print its times."""
    step = ENGINES[engine](read_module(Source("step.mlir", module.read_text(encoding="utf-8"))))
    for _ in sys.stdin:
        times = step()
        print(times.seconds, times.processor, flush=True)


def take_turns(module: Path) -> list[Measured]:
    """A row for each engine."""
    processes = {
        engine: subprocess.Popen(
            [sys.executable, "-m", "bench.training_step", engine, str(module)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for engine in ENGINES
    }
    rounds = [{engine: asked(process) for engine, process in processes.items()} for _ in range(ROUNDS + 1)]
    rows = []
    for engine, process in processes.items():
        assert process.stdin is not None
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = min(turn[engine].seconds for turn in rounds[1:])
        processor = min(turn[engine].processor for turn in rounds[1:])
        rows.append(Measured("one step", engine, seconds, processor, resident_mib(usage), process.returncode))
    return rows


def asked(process: subprocess.Popen[str]) -> Times:
    """The times of a process's next step; not a number if it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write("step\n")
        process.stdin.flush()
    words = process.stdout.readline().split() or ("nan", "nan")
    return Times(float(words[0]), float(words[1]))


def main() -> None:
    """Print the table, with the ratios that it is about."""
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "step.mlir"
        subprocess.run(
            [sys.executable, "-m", "kina", "compile", EXAMPLE, "-o", str(module)],
            cwd=ROOT,
            check=True,
            stderr=subprocess.DEVNULL,
        )
        rows = take_turns(module)
    notes = [
        f"the simulator takes {rows[0].seconds / row.seconds:.2f} of the time of {row.engine}, "
        f"{rows[0].processor / row.processor:.2f} of its processor time"
        for row in rows[1:]
    ]
    show("training_step", f"{EXAMPLE}: a step on 4 devices", rows, notes)


if __name__ == "__main__":
    serve(sys.argv[1], Path(sys.argv[2]))
