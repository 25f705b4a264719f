"""The GPT training step in JAX, lowered to StableHLO with the annotations of a scheme.

`python -m bench.peers.jax_program SCHEME LAYERS OUT` writes the text; it is what XLA and Shardy are given.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.peers.schemes import SCHEMES, Parameter, Scheme, Sizes, inner, parameters, shardy_attribute

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax import lax

RATE = 0.1


def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    """As `layer_norm` of Kina's library."""
    centered = x - jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(centered * centered, -1, keepdims=True)
    return centered * lax.rsqrt(variance + 1e-5) * gamma + beta


def attention(q: Any, k: Any, v: Any) -> Any:
    """As `attention` of Kina's library, with a causal mask."""
    scores = jnp.einsum("bshe,bthe->bhst", q, k) * q.shape[3] ** -0.5
    length = q.shape[1]
    seen = lax.broadcasted_iota(jnp.int32, (length, length), 0) >= lax.broadcasted_iota(
        jnp.int32, (length, length), 1
    )
    masked = jnp.where(seen, scores, -jnp.inf)
    raised = jnp.exp(masked - lax.stop_gradient(jnp.max(masked, 3, keepdims=True)))
    weights = raised / jnp.sum(raised, 3, keepdims=True)
    return jnp.einsum("bhst,bthe->bshe", weights, v)


def gelu(x: Any) -> Any:
    """As `gelu` of Kina's library, by tanh."""
    return x * 0.5 * (jnp.tanh((x + x * x * (x * 0.044715)) * (2 / 3.141592653589793) ** 0.5) + 1)


def block(x: Any, p: dict[str, Any]) -> Any:
    """As `transformer_block` of Kina's library."""
    normal = layer_norm(x, p["gamma1"], p["beta1"])
    q, k, v = (jnp.einsum("bsd,dhe->bshe", normal, p[name]) for name in ("wq", "wk", "wv"))
    middle = x + jnp.einsum("bshe,hed->bsd", attention(q, k, v), p["wo"])
    normal = layer_norm(middle, p["gamma2"], p["beta2"])
    return middle + gelu(normal @ p["w_up"]) @ p["w_down"]


def cross_entropy(logits: Any, targets: Any) -> Any:
    """As `cross_entropy` of Kina's library."""
    shifted = logits - lax.stop_gradient(jnp.max(logits, -1, keepdims=True))
    total = jnp.log(jnp.sum(jnp.exp(shifted), -1))
    hit = lax.broadcasted_iota(jnp.int32, logits.shape, 2) == targets[:, :, None]
    return jnp.mean(total - jnp.sum(jnp.where(hit, shifted, 0.0), -1))


def step(sizes: Sizes) -> Callable[..., Any]:
    """A function from all arguments, in their order, to the loss and the next parameters."""
    names = [name for name, _, _ in inner(sizes)]

    def loss(weights: Sequence[Any], tokens: Any, targets: Any) -> Any:
        table, positions, gamma, beta, *rest = weights
        x = table.at[tokens].get(mode="promise_in_bounds") + positions
        for layer in range(sizes.layers):
            x = block(x, dict(zip(names, rest[layer * len(names) :], strict=False)))
        logits = jnp.einsum("bsd,vd->bsv", layer_norm(x, gamma, beta), table)
        return cross_entropy(logits, targets)

    def train(tokens: Any, targets: Any, *weights: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(weights, tokens, targets)
        return value, *(one - RATE * two for one, two in zip(weights, gradients, strict=True))

    return train


def lowered(sizes: Sizes, scheme: Scheme) -> str:
    """The step as StableHLO text with a mesh and annotated arguments; results that are carried likewise."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    given = parameters(sizes, scheme)
    dtypes = {"i32": jnp.int32, "f32": jnp.float32}
    shapes = [jax.ShapeDtypeStruct(each.shape, dtypes[each.dtype]) for each in given]  # type: ignore[no-untyped-call]
    text = jax.jit(step(sizes)).lower(*shapes).as_text()
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        annotate(module, scheme, given)
        return str(module)


def annotate(module: Any, scheme: Scheme, given: Sequence[Parameter]) -> None:
    """Give the module the mesh, and the annotations to arguments and to parameters among the results."""
    from jaxlib.mlir import ir

    axes = ", ".join(f'"{axis}"={size}' for axis, size in scheme.mesh)
    ir.InsertionPoint.at_block_begin(module.body).insert(ir.Operation.parse(f"sdy.mesh @mesh = <[{axes}]>"))
    attributes = module.operation.attributes
    attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), scheme.devices)
    main = next(op for op in module.body.operations if op.operation.name == "func.func")
    notes = [shardy_attribute(each) for each in given]
    main.arg_attrs = ir.ArrayAttr.get([_dictionary(note) for note in notes])
    # the loss, and then every parameter but tokens and targets
    main.attributes["res_attrs"] = ir.ArrayAttr.get([_dictionary(note) for note in (None, *notes[2:])])


def _dictionary(note: str | None) -> Any:
    from jaxlib.mlir import ir

    return ir.DictAttr.get({} if note is None else {"sdy.sharding": ir.Attribute.parse(note)})


def main() -> None:
    """Write the lowered step."""
    scheme, layers, out = sys.argv[1:]
    Path(out).write_text(lowered(Sizes(int(layers)), SCHEMES[scheme]), encoding="utf-8")


if __name__ == "__main__":
    main()
