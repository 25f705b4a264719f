"""A small NumPy meaning of the typed IR, written apart from Kina's kernels, to test what forms become."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from kina.frontend.builder import Builder
from kina.frontend.ir import Op, TensorType

DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
}
UNARY = {
    "negate": np.negative, "exponential": np.exp, "log": np.log, "sqrt": np.sqrt, "cosine": np.cos,
    "tanh": np.tanh, "abs": np.abs, "not": np.logical_not,
}  # fmt: skip
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "power": np.power, "xor": np.bitwise_xor,
}  # fmt: skip
COMPARE = {
    "EQ": np.equal, "NE": np.not_equal, "LT": np.less, "LE": np.less_equal, "GT": np.greater,
    "GE": np.greater_equal,
}  # fmt: skip
REDUCE = {"sum": np.sum, "max": np.max, "min": np.min, "prod": np.prod}


def evaluate(builder: Builder, inputs: dict[int, np.ndarray], wanted: Sequence[int]) -> list[np.ndarray]:
    """The values `wanted`, in NumPy, from those of the parameters."""
    values = dict(inputs)
    for op in builder.ops:
        operands = [values[operand] for operand in op.operands]
        with np.errstate(over="ignore"):
            results = _run(op, operands, builder.type_of(op.results[0]))
        for result, array in zip(op.results, results, strict=True):
            type_ = builder.type_of(result)
            assert array.shape == type_.shape, (op.kind, array.shape, type_)
            values[result] = array.astype(DTYPES[type_.dtype])
    return [values[value] for value in wanted]


def _run(op: Op, operands: list[np.ndarray], result: TensorType) -> list[np.ndarray]:
    at = dict(op.attributes)
    match op.kind:
        case kind if kind in UNARY:
            return [UNARY[kind](*operands)]
        case kind if kind in BINARY:
            return [BINARY[kind](*operands)]
        case "divide":
            return [operands[0] / operands[1]]
        case "compare":
            return [COMPARE[at["comparison_direction"]](*operands)]
        case "select":
            return [np.where(*operands)]
        case "clamp":
            return [np.minimum(np.maximum(operands[1], operands[0]), operands[2])]
        case "convert" | "reshard" | "optimization_barrier":
            return operands
        case "shift_right_logical":
            return [(operands[0].view(np.uint32) >> operands[1].view(np.uint32)).view(np.int32)]
        case "constant":
            data = (at["value"] or at["data"]).split()
            return [np.broadcast_to(np.array([float(x) for x in data]).reshape(_fit(data, at)), at["shape"])]
        case "iota":
            sizes = [1] * result.rank
            sizes[at["iota_dimension"]] = -1
            return [
                np.broadcast_to(np.arange(result.shape[at["iota_dimension"]]).reshape(sizes), result.shape)
            ]
        case "broadcast_in_dim":
            shape = [1] * result.rank
            for dim, target in enumerate(at["broadcast_dimensions"]):
                shape[target] = operands[0].shape[dim]
            order = np.argsort(at["broadcast_dimensions"]).tolist()
            return [np.broadcast_to(operands[0].transpose(order).reshape(shape), result.shape)]
        case "transpose":
            return [operands[0].transpose(at["permutation"])]
        case "reshape":
            return [operands[0].reshape(at["shape"])]
        case "slice":
            bounds = zip(at["start_indices"], at["limit_indices"], at["strides"], strict=True)
            return [operands[0][tuple(slice(*each) for each in bounds)]]
        case "concatenate":
            return [np.concatenate(operands, at["dimension"])]
        case "reduce":
            return [REDUCE[at["kind"]](operands[0], axis=at["dimensions"])]
        case "dot_general":
            return [_dot(operands, at)]
        case "gather":
            return [np.take(operands[0], operands[1], at["start_index_map"][0])]
        case "scatter":
            out = operands[0].copy()
            np.add.at(out, operands[1], operands[2])
            return [out]
    raise AssertionError(f"no meaning for {op.kind}")


def _fit(data: list[str], attributes: dict) -> tuple[int, ...]:
    return attributes["shape"] if len(data) == math.prod(attributes["shape"]) else ()


def _dot(operands: list[np.ndarray], at: dict) -> np.ndarray:
    lhs, rhs = operands
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left = [next(letters) for _ in lhs.shape]
    right = [next(letters) for _ in rhs.shape]
    for role in ("batching", "contracting"):
        for i, j in zip(at[f"lhs_{role}_dimensions"], at[f"rhs_{role}_dimensions"], strict=True):
            right[j] = left[i]
    batch = [left[i] for i in at["lhs_batching_dimensions"]]
    summed = {left[i] for i in at["lhs_contracting_dimensions"]}
    out = (
        batch
        + [x for x in left if x not in {*batch, *summed}]
        + [x for x in right if x not in {*batch, *summed}]
    )
    return np.einsum(f"{''.join(left)},{''.join(right)}->{''.join(out)}", lhs, rhs)
