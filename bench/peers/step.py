"""Training steps in a process of its own, one for each line that it reads, with the inputs in place before.

`python -m bench.peers.step ENGINE MODULE [STABLEHLO]`: MODULE is what Kina emits, STABLEHLO the JAX program.
After each step it prints seconds on the wall, seconds of the processor, and the loss.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from kina.mlir.reader import read_module
from kina.mlir.syntax import Module, Op
from kina.run.inputs import Draw
from kina.run.ports import Signature, signature
from kina.run.shards import shard
from kina.sim.blas import limited
from kina.sim.dtypes import DTYPES, Array
from kina.sim.heap import kept
from kina.sim.regions import prepared_attributes
from kina.source import Source

#: The result of a step that is its loss, in Kina and in JAX.
LOSS = 0


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds on the wall, and of all cores together; the latter say more on a machine that others use."""

    seconds: float
    processor: float
    loss: float = float("nan")


Step = Callable[[], Times]


def wholes(ports: Signature) -> list[Array]:
    """Drawn inputs, the same for every engine."""
    draw = Draw(0)
    return [draw.whole(port, 0, index) for index, port in enumerate(ports.arguments)]


def simulator(module: Module, _: Path | None) -> Step:
    """A step in the simulator."""
    from kina.sim.prepare import prepare
    from kina.sim.run import run

    prepared, ports = prepare(module), signature(module)
    columns = [
        shard(ports.grid, port, whole, Draw(0).generator(0, index))
        for index, (port, whole) in enumerate(zip(ports.arguments, wholes(ports), strict=True))
    ]
    rows = [list(row) for row in zip(*columns, strict=True)]

    def step() -> Times:
        outputs: list[Any] = []
        times = timed(lambda: outputs.append(run(prepared, rows).outputs))
        return Times(times.seconds, times.processor, float(outputs[0][0][LOSS]))

    return step


def xla(module: Module, _: Path | None) -> Step:
    """A step of the emitted module in XLA on CPU devices."""
    from kina.run.xla_child import Served, compiled

    ports, devices = signature(module), cpu_devices(module.devices)
    served, loaded = Served(devices), compiled(module.source.text, devices)
    given = []
    for index, (port, whole) in enumerate(zip(ports.arguments, wholes(ports), strict=True)):
        parts = shard(ports.grid, port, whole, Draw(0).generator(0, index))
        given.append(served._placed(parts))
    return lambda: executed(loaded, given)


def jax(module: Module, stablehlo: Path | None) -> Step:
    """A step of the JAX program as XLA partitions it by itself, each argument laid out as XLA asks for it."""
    from jax import device_put
    from jax._src.sharding_impls import GSPMDSharding

    from bench.peers.child import xla as compiled

    assert stablehlo is not None
    ports, devices = signature(module), cpu_devices(module.devices)
    loaded = compiled(stablehlo.read_text(encoding="utf-8"), module.devices)
    shardings = loaded.get_parameter_shardings()
    given = [
        device_put(whole, GSPMDSharding(tuple(devices), sharding))
        for whole, sharding in zip(wholes(ports), shardings, strict=True)
    ]
    return lambda: executed(loaded, given)


def cpu_devices(count: int) -> list[Any]:
    """So many CPU devices."""
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["JAX_ENABLE_X64"] = "1"
    import jax

    return list(jax.devices())


def executed(loaded: Any, given: list[Any]) -> Times:
    """One run, its results left on the devices."""
    results: list[Any] = []

    def step() -> None:
        results.extend(loaded.execute_sharded(given).disassemble_into_single_device_arrays())
        for array in results:
            for part in array:
                part.block_until_ready()

    times = timed(step)
    return Times(times.seconds, times.processor, float(np.asarray(results[LOSS][0])))


def products(module: Module, _: Path | None) -> Step:
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


ENGINES: dict[str, Callable[[Module, Path | None], Step]] = {
    "sim": simulator,
    "xla": xla,
    "jax": jax,
    "products": products,
}


def main() -> None:
    """Do a step for each line of the standard input, and print its times and its loss."""
    engine, module, *rest = sys.argv[1:]
    text = Path(module).read_text(encoding="utf-8")
    step = ENGINES[engine](read_module(Source("step.mlir", text)), Path(rest[0]) if rest else None)
    # as the command that runs steps in the simulator does
    with kept() if engine == "sim" else nullcontext():
        for _ in sys.stdin:
            times = step()
            print(times.seconds, times.processor, times.loss, flush=True)


if __name__ == "__main__":
    main()
