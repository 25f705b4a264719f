"""Runs modules in XLA or in the StableHLO interpreter, in a process of its own: bad modules abort it.

`child.py ENGINE FOLDER`: for each NAME.mlir and NAME.in.npz (arrays `device.index`) in the folder writes
NAME.ENGINE.npz, or NAME.ENGINE.err with the error; ENGINE print writes NAME.generic and NAME.pretty.
Modules that were begun are skipped, so that a child that was aborted can be started again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_ENABLE_X64"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _stablehlo


def inputs(path: Path, devices: int) -> list[list[Any]]:
    with np.load(path) as data:
        count = len(data.files) // devices
        return [[data[f"{device}.{i}"] for i in range(count)] for device in range(devices)]


def main_of(module: Any) -> Any:
    return next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")


def partitions(module: Any) -> int:
    return int(module.operation.attributes["mhlo.num_partitions"].value)


def run_xla(text: str, path: Path) -> list[list[Any]]:
    module = ir.Module.parse(text)
    count = partitions(module)
    options = xla_client.CompileOptions()
    options.num_partitions, options.num_replicas = count, 1
    options.executable_build_options.num_partitions = count
    options.executable_build_options.use_spmd_partitioning = True
    options.device_assignment = xla_client.DeviceAssignment.create(np.arange(count).reshape(1, count))
    devices = jax.devices()[:count]
    client = devices[0].client
    loaded = client.compile_and_load(module, xla_client.DeviceList(tuple(devices)), options)
    given = inputs(path, count)
    everywhere = jax.sharding.NamedSharding(
        jax.sharding.Mesh(np.array(devices), ("d",)), jax.sharding.PartitionSpec()
    )
    arguments = []
    for index in range(len(given[0])):
        parts = [jax.device_put(given[d][index], device) for d, device in enumerate(devices)]
        arguments.append(jax.make_array_from_single_device_arrays(parts[0].shape, everywhere, parts))
    results = loaded.execute_sharded(arguments).disassemble_into_single_device_arrays()
    return [[np.asarray(result[d]) for result in results] for d in range(count)]


def run_interpreter(text: str, path: Path) -> list[list[Any]]:
    module = ir.Module.parse(text)
    count = partitions(module)
    type_ = main_of(module).type
    takes = [str(t) for t in type_.inputs] * count
    gives = [str(t) for t in type_.results] * count
    names = [f"%a{i}" for i in range(len(takes))]
    programs = ", ".join(["@on_device"] * count)
    arguments = ", ".join(f"{name}: {t}" for name, t in zip(names, takes, strict=True))
    driver = (
        f"func.func public @main({arguments}) -> ({', '.join(gives)}) {{\n"
        f'%r:{len(gives)} = "interpreter.run_parallel"({", ".join(names)}) <{{programs = [[{programs}]]}}> : '
        f"({', '.join(takes)}) -> ({', '.join(gives)})\n"
        f"return {', '.join(f'%r#{i}' for i in range(len(gives)))} : {', '.join(gives)}\n}}\n"
    )
    end = text.rindex("}")
    whole = ir.Module.parse(text[:end].replace("@main(", "@on_device(") + driver + "}")
    given = [as_attribute(x) for row in inputs(path, count) for x in row]
    results = [to_array(result) for result in _stablehlo.eval_module(whole, given)]
    each = len(type_.results)
    return [results[d * each : (d + 1) * each] for d in range(count)]


def as_attribute(x: Any) -> Any:
    """The array as an attribute of its own type; rank 0 and unsigned types must be said."""
    signless = x.dtype.kind != "u"
    kind = None if signless else ir.IntegerType.get_unsigned(x.dtype.itemsize * 8)
    return ir.DenseElementsAttr.get(
        np.ascontiguousarray(x), signless=signless, type=kind, shape=list(x.shape)
    )


def to_array(attribute: Any) -> Any:
    shape = tuple(ir.RankedTensorType(attribute.type).shape)
    return np.array(attribute).reshape(shape)


def print_forms(text: str, path: Path) -> None:
    module = ir.Module.parse(text)
    module.operation.verify()
    base = path.with_suffix("")
    base.with_suffix(".generic").write_text(module.operation.get_asm(print_generic_op_form=True))
    base.with_suffix(".pretty").write_text(module.operation.get_asm(enable_debug_info=True))


def main() -> None:
    engine, folder = sys.argv[1], Path(sys.argv[2])
    with mlir.make_ir_context() as context:
        _stablehlo.register_interpreter_dialect(context)
        for path in sorted(folder.glob("*.mlir")):
            begun = path.with_suffix(f".{engine}.begun")
            if begun.exists():
                continue
            begun.touch()
            try:
                if engine == "print":
                    print_forms(path.read_text(), path)
                    continue
                run = run_xla if engine == "xla" else run_interpreter
                outputs = run(path.read_text(), path.with_suffix(".in.npz"))
            except Exception as error:
                path.with_suffix(f".{engine}.err").write_text(f"{type(error).__name__}: {error}")
                continue
            arrays = {f"{d}.{i}": x for d, row in enumerate(outputs) for i, x in enumerate(row)}
            np.savez(path.with_suffix(f".{engine}.npz"), **arrays)


if __name__ == "__main__":
    main()
