"""Executes a module in XLA on CPU devices, in a process of its own: some modules abort the process.

`python -m kina.run.xla_child FOLDER` compiles FOLDER/module.mlir and says `ready`. For each line that it
reads it takes FOLDER/inputs.npz (arrays `DEVICE.INDEX`), runs, writes FOLDER/outputs.npz, and says how many
seconds the run took.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from kina.sim.dtypes import BF16

_COUNT = re.compile(r"mhlo\.num_partitions = (\d+)")


def main() -> None:
    """Serve runs until the standard input ends."""
    folder = Path(sys.argv[1])
    text = (folder / "module.mlir").read_text(encoding="utf-8")
    found = _COUNT.search(text)
    count = int(found[1]) if found else 1
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={count}"
    os.environ["JAX_ENABLE_X64"] = "1"
    os.environ["JAX_PLATFORMS"] = "cpu"
    loaded, devices = compiled(text, count)
    _say("ready")
    for _ in sys.stdin:
        rows = _inputs(folder / "inputs.npz", count)
        start = perf_counter()
        outputs = _executed(loaded, devices, rows)
        seconds = perf_counter() - start
        np.savez(
            folder / "outputs.npz",
            **{f"{device}.{index}": x for device, row in enumerate(outputs) for index, x in enumerate(row)},
        )
        _say(f"{seconds:.6f}")


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def compiled(text: str, count: int) -> tuple[Any, list[Any]]:
    """What XLA makes of a module, and the devices that it runs on."""
    import jax
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    options = xla_client.CompileOptions()
    options.num_partitions, options.num_replicas = count, 1
    options.executable_build_options.num_partitions = count
    options.executable_build_options.use_spmd_partitioning = True
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(count).reshape(1, count))
    devices = list(jax.devices()[:count])
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        loaded = devices[0].client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
    return loaded, devices


def _inputs(path: Path, count: int) -> list[list[Any]]:
    with np.load(path, allow_pickle=False) as data:
        each = len(data.files) // count
        rows = [[data[f"{device}.{index}"] for index in range(each)] for device in range(count)]
    # NumPy writes types that it does not know as bare bytes
    return [[x.view(BF16) if x.dtype == np.dtype("V2") else x for x in row] for row in rows]


def placed(devices: list[Any], rows: list[list[Any]]) -> list[Any]:
    """One array over all devices for each argument; `rows` holds the parts of each device."""
    import jax

    mesh = jax.sharding.Mesh(np.array(devices), ("device",))
    whole: Any = jax.sharding.PartitionSpec
    everywhere = jax.sharding.NamedSharding(mesh, whole())
    arguments = []
    for index in range(len(rows[0])):
        parts = [jax.device_put(rows[number][index], device) for number, device in enumerate(devices)]
        arguments.append(jax.make_array_from_single_device_arrays(parts[0].shape, everywhere, parts))
    return arguments


def _executed(loaded: Any, devices: list[Any], rows: list[list[Any]]) -> list[list[Any]]:
    arguments = placed(devices, rows)
    results = loaded.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [[np.asarray(result[number]) for result in results] for number in range(len(devices))]


if __name__ == "__main__":
    main()
