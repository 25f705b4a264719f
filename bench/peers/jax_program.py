"""The GPT training step in JAX, lowered to StableHLO with the annotations of a scheme.

`python -m bench.peers.jax_program SCHEME SIZES OUT` writes the text, which is what XLA and Shardy are given;
SIZES is a number of layers, or `large`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.peers.schemes import (
    ALL_SCHEMES,
    FROZEN,
    LARGE,
    LARGE_SIZES,
    Parameter,
    Scheme,
    Sizes,
    inner,
    parameters,
    shardy_attribute,
)

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RATE = 0.1


def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    """As `layer_norm` of Kina's library."""
    centered = x - jnp.mean(x, -1, keepdims=True)
    variance = jnp.mean(centered * centered, -1, keepdims=True)
    return centered * lax.rsqrt(variance + 1e-5) * gamma + beta


def chosen(where: Any, x: Any, other: float) -> Any:
    """`jnp.where`, without a function of its own in the module: not every pass follows calls."""
    return lax.select(where, x, jnp.full_like(x, other))


def attention(q: Any, k: Any, v: Any) -> Any:
    """As `attention` of Kina's library, with a causal mask."""
    scores = jnp.einsum("bshe,bthe->bhst", q, k) * q.shape[3] ** -0.5
    length = q.shape[1]
    seen = lax.broadcasted_iota(jnp.int32, (length, length), 0) >= lax.broadcasted_iota(
        jnp.int32, (length, length), 1
    )
    masked = chosen(jnp.broadcast_to(seen, scores.shape), scores, -jnp.inf)
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
    return jnp.mean(total - jnp.sum(chosen(hit, shifted, 0.0), -1))


def step(sizes: Sizes, scheme: Scheme) -> Callable[..., Any]:
    """A function from all arguments in order to the loss, the norm if asked for, and the next parameters."""
    names = [each.name for each in parameters(sizes, scheme)]
    trained = [name for name in names if name not in FROZEN]

    def loss(weights: dict[str, Any], given: dict[str, Any]) -> Any:
        p = weights | given
        if scheme.embeds:
            x = p["table"].at[p["tokens"]].get(mode="promise_in_bounds") + p["positions"]
        else:
            x = p["left"] + p["right"]
        for layer in range(sizes.layers):
            x = block(x, {name: p[f"layer[{layer}].{name}"] for name, _, _ in inner(sizes)})
        logits = jnp.einsum("bsd,vd->bsv", layer_norm(x, p["gamma"], p["beta"]), p["table"])
        return cross_entropy(constrained(logits, scheme), p["targets"])

    def train(*arguments: Any) -> Any:
        p = dict(zip(names, arguments, strict=True))
        weights = {name: p.pop(name) for name in trained}
        value, gradients = jax.value_and_grad(loss)(weights, p)
        norm = [jnp.sqrt(sum(jnp.sum(each * each) for each in gradients.values()))] if sizes.norm else []
        return value, *norm, *(weights[name] - RATE * gradients[name] for name in trained)

    return train


def constrained(logits: Any, scheme: Scheme) -> Any:
    """The logits, laid out as the scheme says if it says anything."""
    notes = {dim: axis for dim, axis, _ in scheme.on("logits")}
    if not notes:
        return logits
    mesh = jax.sharding.Mesh(
        np.array(jax.devices()[: scheme.devices]).reshape([size for _, size in scheme.mesh]),
        [axis for axis, _ in scheme.mesh],
    )
    open_ = jax.sharding.PartitionSpec.UNCONSTRAINED
    spec = jax.sharding.PartitionSpec(*(notes.get(dim, open_) for dim in range(logits.ndim)))  # type: ignore[no-untyped-call]
    sharding = jax.sharding.NamedSharding(mesh, spec)
    return lax.with_sharding_constraint(logits, sharding)  # type: ignore[no-untyped-call]


def lowered(sizes: Sizes, scheme: Scheme) -> str:
    """The step as StableHLO text with a mesh and annotated arguments; results that are carried likewise."""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    given = parameters(sizes, scheme)
    dtypes = {"i32": jnp.int32, "f32": jnp.float32}
    shapes = [jax.ShapeDtypeStruct(each.shape, dtypes[each.dtype]) for each in given]  # type: ignore[no-untyped-call]
    text = jax.jit(step(sizes, scheme)).lower(*shapes).as_text()
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        annotate(module, scheme, given, 2 if sizes.norm else 1)
        return str(module)


def annotate(module: Any, scheme: Scheme, given: Sequence[Parameter], numbers: int) -> None:
    """Give the module the mesh, and the annotations to arguments and to parameters among the results."""
    from jaxlib.mlir import ir

    axes = ", ".join(f'"{axis}"={size}' for axis, size in scheme.mesh)
    if not any(op.operation.name == "sdy.mesh" for op in module.body.operations):
        mesh = ir.Operation.parse(f"sdy.mesh @mesh = <[{axes}]>")
        ir.InsertionPoint.at_block_begin(module.body).insert(mesh)
    attributes = module.operation.attributes
    attributes["mhlo.num_partitions"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), scheme.devices)
    main = next(op for op in module.body.operations if op.operation.name == "func.func")
    notes = [shardy_attribute(each) for each in given]
    main.arg_attrs = ir.ArrayAttr.get([_dictionary(note) for note in notes])
    # numbers such as the loss, and then every parameter that is trained
    trained = [note for note, each in zip(notes, given, strict=True) if each.name not in FROZEN]
    carried = [_dictionary(note) for note in (*[None] * numbers, *trained)]
    main.attributes["res_attrs"] = ir.ArrayAttr.get(carried)


def _dictionary(note: str | None) -> Any:
    from jaxlib.mlir import ir

    return ir.DictAttr.get({} if note is None else {"sdy.sharding": ir.Attribute.parse(note)})


def main() -> None:
    """Write the lowered step."""
    scheme, sizes, out = sys.argv[1:]
    large = sizes == "large"
    text = lowered(LARGE_SIZES if large else Sizes(int(sizes)), LARGE if large else ALL_SCHEMES[scheme])
    Path(out).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
