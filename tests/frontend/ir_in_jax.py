"""The typed IR in JAX, to compare Kina's gradients with those of `jax.grad`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from kina.frontend.ir import Op, Program

jax.config.update("jax_enable_x64", True)

DTYPES = {"f32": jnp.float32, "f64": jnp.float64, "i32": jnp.int32, "i64": jnp.int64, "bool": jnp.bool_}
_PLAIN: dict[str, Callable[..., Any]] = {
    "abs": lax.abs, "negate": lax.neg, "exponential": lax.exp, "exponential_minus_one": lax.expm1,
    "log": lax.log, "log_plus_one": lax.log1p, "logistic": lax.logistic, "tanh": lax.tanh, "sine": lax.sin,
    "cosine": lax.cos, "tan": lax.tan, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt, "cbrt": lax.cbrt,
    "sign": lax.sign, "floor": lax.floor, "ceil": lax.ceil, "erf": lax.erf, "add": lax.add,
    "subtract": lax.sub, "multiply": lax.mul, "divide": lax.div, "maximum": lax.max, "minimum": lax.min,
    "power": lax.pow, "remainder": lax.rem, "atan2": lax.atan2, "and": lax.bitwise_and,
    "select": lambda p, a, b: lax.select(jnp.broadcast_to(p, a.shape), a, b),
    "clamp": lambda low, x, high: lax.clamp(
        jnp.broadcast_to(low, x.shape), x, jnp.broadcast_to(high, x.shape)
    ),
}  # fmt: skip
_COMPARE = {"EQ": lax.eq, "NE": lax.ne, "LT": lax.lt, "LE": lax.le, "GT": lax.gt, "GE": lax.ge}
_REDUCE: dict[str, Callable[..., Any]] = {"sum": jnp.sum, "max": jnp.max, "min": jnp.min, "prod": jnp.prod}
_CUMULATIVE: dict[str, Callable[..., Any]] = {
    "sum": lax.cumsum, "prod": lax.cumprod, "max": lax.cummax, "min": lax.cummin
}  # fmt: skip


def function(program: Program, result: int) -> Callable[..., Any]:
    """The program's value `result` as a function of its parameters."""
    needed = {result}
    ops: list[Op] = []
    for op in reversed(program.ops):
        if not needed.isdisjoint(op.results):
            needed.update(op.operands)
            ops.append(op)

    def run(*inputs: Any) -> Any:
        values: dict[int, Any] = dict(zip(program.parameters, inputs, strict=True))
        for op in reversed(ops):
            made = _run(op, [values[operand] for operand in op.operands])
            values.update(zip(op.results, made if isinstance(made, tuple) else (made,), strict=True))
        return values[result]

    return run


def _run(op: Op, x: Sequence[Any]) -> Any:
    at: dict[str, Any] = dict(op.attributes)
    if op.kind in _PLAIN:
        return _PLAIN[op.kind](*x)
    match op.kind:
        case "constant":
            data = np.array([float(each) for each in (at["value"] or at["data"]).split()])
            data = data.reshape(()) if at["value"] else data.reshape(at["shape"])
            return jnp.asarray(np.broadcast_to(data, at["shape"]), DTYPES[at["dtype"]])
        case "iota":
            return lax.broadcasted_iota(DTYPES[at["dtype"]], at["shape"], at["iota_dimension"])
        case "convert":
            return lax.convert_element_type(x[0], DTYPES[at["dtype"]])
        case "compare":
            return _COMPARE[at["comparison_direction"]](*x)
        case "reshard":
            return x[0]
        case "optimization_barrier":
            return tuple(lax.stop_gradient(each) if at["stop_gradient"] else each for each in x)
        case "reduce":
            return _REDUCE[at["kind"]](x[0], axis=at["dimensions"])
        case "cumulative":
            return _CUMULATIVE[at["kind"]](x[0], axis=at["dimension"], reverse=at["reverse"])
        case "argmax":
            return lax.argmax(x[0], at["dimension"], jnp.int32)
        case "top_k":
            return tuple(lax.top_k(x[0], at["k"]))
        case "sort":
            assert at["direction"] == "ascending"
            return tuple(lax.sort(tuple(x), dimension=at["dimension"], num_keys=1))
    return _moving(op.kind, x, at)


def _moving(kind: str, x: Sequence[Any], at: dict[str, Any]) -> Any:
    match kind:
        case "broadcast_in_dim":
            order = np.argsort(at["broadcast_dimensions"])
            operand = x[0].transpose(order)
            return lax.broadcast_in_dim(operand, at["shape"], sorted(at["broadcast_dimensions"]))
        case "transpose":
            return x[0].transpose(at["permutation"])
        case "reshape":
            return x[0].reshape(at["shape"])
        case "reverse":
            return lax.rev(x[0], at["dimensions"])
        case "slice":
            return lax.slice(x[0], at["start_indices"], at["limit_indices"], at["strides"])
        case "concatenate":
            return lax.concatenate(x, at["dimension"])
        case "pad":
            names = ("edge_padding_low", "edge_padding_high", "interior_padding")
            return lax.pad(*x, list(zip(*[at[name] for name in names], strict=True)))
        case "dynamic_slice":
            return lax.dynamic_slice(x[0], x[1:], at["slice_sizes"])
        case "dynamic_update_slice":
            return lax.dynamic_update_slice(x[0], x[1], x[2:])
        case "dot_general":
            contracting = (at["lhs_contracting_dimensions"], at["rhs_contracting_dimensions"])
            batching = (at["lhs_batching_dimensions"], at["rhs_batching_dimensions"])
            return lax.dot_general(*x, (contracting, batching))
        case "convolution":
            return _convolution(x, at)
        case "gather":
            return _gather(x, at)
    assert kind == "scatter"
    return _scatter(x, at)


def _convolution(x: Sequence[Any], at: dict[str, Any]) -> Any:
    def dims(side: str, first: str, second: str) -> tuple[int, ...]:
        return (at[f"{side}_{first}"], at[f"{side}_{second}"], *at[f"{side}_spatial_dimensions"])

    spec = lax.ConvDimensionNumbers(
        dims("input", "batch_dimension", "feature_dimension"),
        dims("kernel", "output_feature_dimension", "input_feature_dimension"),
        dims("output", "batch_dimension", "feature_dimension"),
    )
    flags = zip(at["kernel_spatial_dimensions"], at["window_reversal"], strict=True)
    kernel = lax.rev(x[1], [dim for dim, flag in flags if flag])
    padding = list(zip(at["padding"][::2], at["padding"][1::2], strict=True))
    return lax.conv_general_dilated(
        x[0], kernel, at["window_strides"], padding, at["lhs_dilation"], at["rhs_dilation"], spec,
        at["feature_group_count"], at["batch_group_count"],
    )  # fmt: skip


def _indices(x: Any, at: dict[str, Any]) -> Any:
    """JAX wants the parts of an index in the last dim."""
    return x[..., None] if at["index_vector_dim"] == x.ndim else jnp.moveaxis(x, at["index_vector_dim"], -1)


def _gather(x: Sequence[Any], at: dict[str, Any]) -> Any:
    numbers = lax.GatherDimensionNumbers(
        at["offset_dims"], at["collapsed_slice_dims"], at["start_index_map"],
        at["operand_batching_dims"], at["start_indices_batching_dims"],
    )  # fmt: skip
    return lax.gather(x[0], _indices(x[1], at), numbers, at["slice_sizes"], mode="clip")


def _scatter(x: Sequence[Any], at: dict[str, Any]) -> Any:
    numbers = lax.ScatterDimensionNumbers(
        at["update_window_dims"], at["inserted_window_dims"], at["scatter_dims_to_operand_dims"],
        at["input_batching_dims"], at["scatter_indices_batching_dims"],
    )  # fmt: skip
    made = {"add": lax.scatter_add, "set": lax.scatter}[at["combiner"]]
    return made(x[0], _indices(x[1], at), x[2], numbers, mode="drop")
