"""What Shardy, XLA and JAX's explicit mode say of a case, in a process of its own.

`python -m bench.peers.conflict_child NUMBER` prints JSON: tool -> what it says, or what it does in silence.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any

from bench.peers.cases import CASES, Case

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
from jax.interpreters import mlir
from jaxlib.mlir import ir, passmanager

from bench.peers import child
from bench.peers.counted import Moved, in_hlo

#: Characters of a message.
_LENGTH = 160


def shardy(case: Case) -> str:
    """Diagnostics of Shardy's pipeline, or the layout that it chooses for the result."""
    said: list[str] = []

    def heard(diagnostic: Any) -> bool:
        said.append(str(diagnostic.message))
        return True

    with mlir.make_ir_context() as context:
        context.attach_diagnostic_handler(heard)
        module = ir.Module.parse(case.text("stablehlo.mlir"))
        passmanager.PassManager.parse(child.PASSES["pipeline"]).run(module.operation)
        main = next(op for op in module.body.operations if op.operation.name == "func.func")
        result = main.regions[0].blocks[0].operations[-1].operands[0].owner
        attributes = result.attributes
        chosen = str(attributes["sdy.sharding"]) if "sdy.sharding" in attributes else "none"
    layout = re.search(r"@mesh, (\[.*?\])[>\]]", chosen)
    return "; ".join(said) or f"nothing; the result is {layout[1] if layout else chosen}"


def xla(case: Case) -> str:
    """What the compiler raises, or the collectives that it inserts."""
    loaded = child.xla(case.text("stablehlo.mlir"), 4)
    return _moves(list(in_hlo(loaded.hlo_modules()[0].to_string())))


def _moves(moved: list[Moved]) -> str:
    each = ", ".join(f"{one.kind} of {one.bytes} bytes" for one in moved)
    return f"nothing; {each or 'no collective'}"


def explicit(case: Case) -> str:
    """What JAX raises with a mesh of explicit axes, or the layout that it gives the result."""
    mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    jax.set_mesh(mesh)
    spec: Any = jax.sharding.PartitionSpec
    arrays = [
        jax.device_put(jnp.ones(shape), jax.sharding.NamedSharding(mesh, spec(*names)))
        for shape, names in zip(case.shapes, case.specs, strict=True)
    ]
    result = case.jax(jnp, *arrays)
    return f"nothing; the result is {jax.typeof(result)}"


def said(tool: Any, case: Case) -> str:
    """What the tool does, or the first line of what it raises."""
    try:
        return str(tool(case))[:_LENGTH]
    except Exception as problem:
        return f"error: {(str(problem).strip() or type(problem).__name__).splitlines()[0][:_LENGTH]}"


def main() -> None:
    """Ask all three."""
    case = CASES[int(sys.argv[1])]
    tools = {"Shardy": shardy, "XLA": xla, "JAX explicit": explicit}
    print(json.dumps({name: said(tool, case) for name, tool in tools.items()}))


if __name__ == "__main__":
    main()
