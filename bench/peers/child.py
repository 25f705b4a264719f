"""What runs jaxlib: each measurement in a process of its own, since some modules end it.

`python -m bench.peers.child shardy FILE` prints the seconds of Shardy's passes on an annotated module.
`… partitioned FILE OUT` writes what Shardy's own partitioner makes of it, with Shardy's collectives.
`… emitted FILE DEVICES` prints the bytes that XLA needs for a module that Kina has emitted.
`… xla FILE DEVICES [OUT]` compiles the module with XLA, and writes the optimised module of one device and
the bytes that XLA says it needs; the times of its passes are in the log.
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

#: As Shardy joins its passes for collectives; at the end an all-reduce and a slice become a reduce-scatter.
PARTITION = (
    "builtin.module(sdy-propagation-pipeline,"
    "func.func(sdy-insert-explicit-reshards{enable-full-version=true},sdy-reshard-to-collectives),"
    "canonicalize{enable-patterns=sdy-collective},cse)"
)


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


def partitioned(text: str) -> str:
    """The module with shardings on every value and with collectives between them."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir, passmanager

    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        passmanager.PassManager.parse(PARTITION).run(module.operation)
        return str(module.operation.get_asm(large_elements_limit=16))


def memory(loaded: Any) -> dict[str, int]:
    """Bytes that XLA says one device needs: arguments, results, and what lies between them."""
    stats = loaded.get_compiled_memory_stats()
    return {
        "arguments": stats.argument_size_in_bytes,
        "results": stats.output_size_in_bytes,
        "temporaries": stats.temp_size_in_bytes,
        "shared": stats.alias_size_in_bytes,
    }


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
        case "partitioned":
            Path(rest[0]).write_text(partitioned(text), encoding="utf-8")
        case "emitted":
            import jax

            from kina.run.xla_child import compiled

            print(json.dumps(memory(compiled(text, jax.devices()[: int(rest[0])]))))
        case "xla":
            loaded = xla(text, int(rest[0]))
            if len(rest) > 1:
                Path(rest[1]).write_text(loaded.hlo_modules()[0].to_string(), encoding="utf-8")
                print(json.dumps(memory(loaded)))


if __name__ == "__main__":
    main()
