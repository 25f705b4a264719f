"""One training step of the large demo: the simulator, XLA on the same module, and its matrix products alone.

`python -m bench training_step`. Each of the three is a process of its own, so that its peak memory is known.
`python -m bench.training_step ENGINE MODULE` is that process; it prints seconds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
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
#: The first step warms up caches and memory; the fastest of the others counts.
STEPS = 3


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds on the wall, and of all cores together; the latter say more on a machine that others use."""

    seconds: float
    processor: float


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


def simulate(module: Module) -> Times:
    """A step in the simulator."""
    from kina.sim.prepare import prepare
    from kina.sim.run import run

    prepared, rows = prepare(module), device_inputs(module)
    return fastest(lambda: run(prepared, rows))


def run_in_xla(module: Module) -> Times:
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

    return fastest(step)


def multiply(module: Module) -> Times:
    """The matrix products alone, on matrices that lie ready for BLAS, each device in a thread of its own."""
    counts = Counter(product_sizes(module, op) for op in module.main.body.walk() if op.kind == "dot_general")
    rng = np.random.default_rng(0)
    seconds = processor = 0.0
    with limited(module.devices), ThreadPoolExecutor(module.devices) as threads:
        for (batch, rows, inner, columns, dtype), count in counts.items():
            left = rng.random((*batch, rows, inner)).astype(dtype)
            right = rng.random((*batch, inner, columns)).astype(dtype)
            outs = [np.empty((*batch, rows, columns), dtype) for _ in range(module.devices)]
            product = partial(np.matmul, left, right)
            one = fastest(lambda: list(threads.map(lambda out: product(out=out), outs)))  # noqa: B023
            seconds += count * one.seconds
            processor += count * one.processor
    return Times(seconds, processor)


def product_sizes(module: Module, op: Op) -> tuple[tuple[int, ...], int, int, int, np.dtype[Any]]:
    """Batch, rows, inner size and columns of a `dot_general` as a product of matrices."""
    values = module.main.values
    left, right = (values[number].type for number in op.operands)
    attributes = prepared_attributes(module.main, op)
    batch = tuple(left.shape[dim] for dim in attributes["lhs_batching_dimensions"])
    inner = prod(left.shape[dim] for dim in attributes["lhs_contracting_dimensions"])
    both = inner * prod(batch)
    return batch, left.elements // both, inner, right.elements // both, DTYPES[left.dtype]


def fastest(step: Callable[[], object]) -> Times:
    """The least seconds of some runs after a first one."""
    step()
    seconds = processor = float("inf")
    for _ in range(STEPS):
        start, used = time.perf_counter(), time.process_time()
        step()
        seconds = min(seconds, time.perf_counter() - start)
        processor = min(processor, time.process_time() - used)
    return Times(seconds, processor)


ENGINES: dict[str, Callable[[Module], Times]] = {"sim": simulate, "xla": run_in_xla, "products": multiply}


def asked(engine: str, module: Path) -> Measured:
    """What a process of its own finds for an engine."""
    command = [sys.executable, "-m", "bench.training_step", engine, str(module)]
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, cwd=ROOT, stdout=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        seconds, processor = map(float, said.read().split() or ("nan", "nan"))
    code = process.returncode
    return Measured("one step", engine, seconds, processor, resident_mib(usage), code)


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
        rows = [asked(engine, module) for engine in ENGINES]
    notes = [
        f"the simulator takes {rows[0].seconds / row.seconds:.2f} of the time of {row.engine}, "
        f"{rows[0].processor / row.processor:.2f} of its processor time"
        for row in rows[1:]
    ]
    show("training_step", f"{EXAMPLE}: a step on 4 devices", rows, notes)


if __name__ == "__main__":
    text = Path(sys.argv[2]).read_text(encoding="utf-8")
    times = ENGINES[sys.argv[1]](read_module(Source("step.mlir", text)))
    print(times.seconds, times.processor)
