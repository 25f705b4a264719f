"""What runs jaxlib: each measurement in a process of its own, since some modules end it.

`python -m bench.peers.child shardy FILE` prints the seconds of Shardy's passes on an annotated module.
`python -m bench.peers.child xla FILE` compiles the module with XLA; the times of its passes are in the log.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

#: Shardy's whole pipeline up to explicit reshards, and the one pass that propagates.
PASSES = {
    "pipeline": "builtin.module(sdy-propagation-pipeline)",
    "propagate": "builtin.module(sdy-user-priority-propagate)",
}


def shardy(text: str) -> dict[str, tuple[float, float]]:
    """Wall and processor seconds of Shardy's passes, each on a module parsed afresh."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager

    spent = {}
    for name, pipeline in PASSES.items():
        with mlir.make_ir_context():
            module = ir.Module.parse(text)
            manager = passmanager.PassManager.parse(pipeline)
            start, used = time.perf_counter(), time.process_time()
            manager.run(module.operation)
            spent[name] = time.perf_counter() - start, time.process_time() - used
    return spent


def xla(text: str, devices: int) -> Any:
    """The module as XLA compiles it for so many CPU devices, with Shardy as its partitioner."""
    import jax
    import numpy as np
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    options = xla_client.CompileOptions()
    options.num_partitions, options.num_replicas = devices, 1
    options.executable_build_options.num_partitions = devices
    options.executable_build_options.use_spmd_partitioning = True
    options.executable_build_options.use_shardy_partitioner = True
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(devices).reshape(1, devices))
    found = jax.devices()[:devices]
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        return found[0].client.compile_and_load(module, xla_client.DeviceList(tuple(found)), options)


def main() -> None:
    """Do what the arguments say."""
    what, file, *rest = sys.argv[1:]
    text = Path(file).read_text(encoding="utf-8")
    match what:
        case "shardy":
            print(json.dumps(shardy(text)))
        case "xla":
            xla(text, int(rest[0]))


if __name__ == "__main__":
    main()
