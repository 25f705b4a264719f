"""The library's formulas give the numbers that their papers' formulas give in NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from kina.frontend.form import form
from kina.frontend.ir import Op, Program
from kina.frontend.reader import read
from kina.frontend.spec import check_ir
from kina.source import Source

Array = Any
RANDOM = np.random.default_rng(7)
DTYPES = {"f32": np.float64, "i32": np.int32, "bool": np.bool_}
REDUCE = {"sum": np.sum, "max": np.max}
UNARY = {
    "exponential": np.exp, "log": np.log, "tanh": np.tanh, "rsqrt": lambda x: 1 / np.sqrt(x), "sqrt": np.sqrt,
    "negate": np.negative, "abs": np.abs, "log_plus_one": np.log1p,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf), "optimization_barrier": lambda x: x, "reshard": lambda x: x,
}  # fmt: skip
BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "power": np.power,
}  # fmt: skip


def computed(op: Op, program: Program, args: list[Array]) -> Array:
    """The result of an op in double precision."""
    attributes = dict(op.attributes)
    type_ = program.type_of(op.results[0])
    match op.kind:
        case kind if kind in UNARY:
            return UNARY[kind](args[0])
        case kind if kind in BINARY:
            return BINARY[kind](*args)
        case "constant":
            return np.full(type_.shape, float(str(attributes["value"]))).astype(DTYPES[type_.dtype])
        case "iota":
            dim = int(str(attributes["iota_dimension"]))
            shape = [-1 if i == dim else 1 for i in range(type_.rank)]
            values = np.arange(type_.shape[dim], dtype=DTYPES[type_.dtype])
            return np.broadcast_to(values.reshape(shape), type_.shape)
        case "reduce":
            return REDUCE[str(attributes["kind"])](args[0], axis=attributes["dimensions"])
        case "reshape":
            return args[0].reshape(type_.shape)
        case "transpose":
            return args[0].transpose(attributes["permutation"])
        case "select":
            return np.where(*args)
        case "compare":
            return {"GE": np.greater_equal, "EQ": np.equal}[str(attributes["comparison_direction"])](*args)
        case "convert":
            return args[0].astype(DTYPES[type_.dtype])
        case "broadcast_in_dim":
            dims = list(attributes["broadcast_dimensions"])  # type: ignore[arg-type]
            shape = [args[0].shape[dims.index(i)] if i in dims else 1 for i in range(type_.rank)]
            return np.broadcast_to(args[0].reshape(shape), type_.shape)
        case "dot_general":
            return dot_general(attributes, *args)
        case "gather":
            return args[0][args[1].reshape(args[1].shape)]
    raise AssertionError(f"the test does not compute {op.kind}")


def dot_general(attributes: dict[str, Any], lhs: Array, rhs: Array) -> Array:
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left: dict[int, str] = {}
    right: dict[int, str] = {}
    for of in ("batching", "contracting"):
        pairs = zip(attributes[f"lhs_{of}_dimensions"], attributes[f"rhs_{of}_dimensions"], strict=True)
        for i, j in pairs:
            left[i] = right[j] = next(letters)
    batch = [left[i] for i in attributes["lhs_batching_dimensions"]]
    shared = set(left.values())
    for names, array in ((left, lhs), (right, rhs)):
        for i in range(array.ndim):
            if i not in names:
                names[i] = next(letters)
    lhs_names = "".join([left[i] for i in range(lhs.ndim)])
    rhs_names = "".join([right[i] for i in range(rhs.ndim)])
    free = [name for name in lhs_names + rhs_names if name not in shared]
    return np.einsum(f"{lhs_names},{rhs_names}->{''.join(batch + free)}", lhs, rhs)


def run(call: str, **inputs: Array) -> list[Array]:
    """The results of a call of the library on NumPy arrays."""
    params = []
    for name, array in inputs.items():
        dtype = "i32" if array.dtype == np.int32 else "f32"
        params.append(f"({name} (tensor {dtype} [{' '.join(map(str, array.shape))}]))")
    program = form(read(Source("t.kina", f"(mesh (m 1)) (defn entry ({' '.join(params)}) {call})")))
    check_ir(program)
    known = dict(zip(program.parameters, inputs.values(), strict=True))
    for op in program.ops:
        known[op.results[0]] = computed(op, program, [known[operand] for operand in op.operands])
        assert known[op.results[0]].shape == program.type_of(op.results[0]).shape
    return [known[result] for result in program.results]


def softmax(x: Array, axis: int = -1) -> Array:
    raised = np.exp(x - x.max(axis, keepdims=True))
    return raised / raised.sum(axis, keepdims=True)


def normal(*shape: int) -> Array:
    return RANDOM.normal(size=shape)


def gelu(x: Array, exact: bool = False) -> Array:
    if exact:
        return x * 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def layer_norm(x: Array, gamma: Array, beta: Array) -> Array:
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gamma + beta


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("(relu x)", lambda x: np.maximum(x, 0)),
        ("(leaky_relu x 0.1)", lambda x: np.where(x > 0, x, 0.1 * x)),
        ("(silu x)", lambda x: x / (1 + np.exp(-x))),
        ("(gelu x)", gelu),
        ("(gelu x :exact true)", lambda x: gelu(x, True)),
        ("(softplus x)", lambda x: np.log(1 + np.exp(x))),
        ("(softmax x)", softmax),
        ("(softmax x 0)", lambda x: softmax(x, 0)),
        ("(log_softmax x)", lambda x: np.log(softmax(x))),
        ("(log_softmax x :dim 1)", lambda x: np.log(softmax(x, 1))),
        ("(logsumexp x)", lambda x: np.log(np.exp(x).sum(-1))),
        ("(logsumexp x 0)", lambda x: np.log(np.exp(x).sum(0))),
        ("(variance x)", lambda x: np.var(x, -1)),
        ("(variance x :dim 1)", lambda x: np.var(x, 1)),
    ],
)
def test_activations_and_reductions(call: str, expected: Any) -> None:
    x = normal(2, 3, 5)
    np.testing.assert_allclose(run(call, x=x)[0], expected(x), rtol=1e-6)


def test_softmax_does_not_overflow() -> None:
    x = np.array([[1000.0, 999.0]])
    np.testing.assert_allclose(run("(softmax x)", x=x)[0], softmax(x), rtol=1e-6)


def test_norms_and_linear() -> None:
    x, gamma, beta, w = normal(2, 3, 5), normal(5), normal(5), normal(5, 4)
    np.testing.assert_allclose(
        run("(layer_norm x g b)", x=x, g=gamma, b=beta)[0], layer_norm(x, gamma, beta), rtol=1e-6
    )
    rms = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * gamma
    np.testing.assert_allclose(run("(rms_norm x g)", x=x, g=gamma)[0], rms, rtol=1e-6)
    bias = normal(4)
    np.testing.assert_allclose(run("(linear x w :bias b)", x=x, w=w, b=bias)[0], x @ w + bias)
    np.testing.assert_allclose(run("(linear x w)", x=x, w=w)[0], x @ w)


def test_mlps_and_embedding() -> None:
    x, up, gate, down = normal(2, 5), normal(5, 7), normal(5, 7), normal(7, 5)
    np.testing.assert_allclose(run("(mlp x u d)", x=x, u=up, d=down)[0], gelu(x @ up) @ down, rtol=1e-6)
    gated = (x @ gate / (1 + np.exp(-(x @ gate)))) * (x @ up) @ down
    np.testing.assert_allclose(run("(gated_mlp x g u d)", x=x, g=gate, u=up, d=down)[0], gated)
    table, ids = normal(9, 4), np.array([[3, 0], [8, 3]], np.int32)
    np.testing.assert_allclose(run("(embedding t i)", t=table, i=ids)[0], table[ids])


def attention(q: Array, k: Array, v: Array, causal: bool) -> Array:
    k, v = (np.repeat(each, q.shape[2] // each.shape[2], axis=2) for each in (k, v))
    scores = np.einsum("bshe,bthe->bhst", q, k) / math.sqrt(q.shape[3])
    if causal:
        s, t = scores.shape[2:]
        scores = np.where(np.tril(np.ones((s, t), bool), t - s), scores, -np.inf)
    return np.einsum("bhst,bthe->bshe", softmax(scores), v)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("queries", "keys", "heads"), [(4, 4, 4), (4, 4, 2), (4, 4, 1), (2, 5, 4)])
def test_attention(causal: bool, queries: int, keys: int, heads: int) -> None:
    q, k, v = normal(2, queries, 4, 3), normal(2, keys, heads, 3), normal(2, keys, heads, 3)
    result = run(f"(attention q k v :causal {str(causal).lower()})", q=q, k=k, v=v)[0]
    np.testing.assert_allclose(result, attention(q, k, v, causal), rtol=1e-6)


def test_transformer_block() -> None:
    shapes = {
        "x": (2, 4, 6), "g1": (6,), "b1": (6,), "wq": (6, 2, 3), "wk": (6, 1, 3), "wv": (6, 1, 3),
        "wo": (2, 3, 6), "g2": (6,), "b2": (6,), "u": (6, 8), "d": (8, 6),
    }  # fmt: skip
    given = {name: normal(*shape) for name, shape in shapes.items()}
    x, g1, b1, wq, wk, wv, wo, g2, b2, u, d = given.values()
    h = layer_norm(x, g1, b1)
    q, k, v = (np.einsum("bsd,dhe->bshe", h, w) for w in (wq, wk, wv))
    middle = x + np.einsum("bshe,hed->bsd", attention(q, k, v, True), wo)
    expected = middle + gelu(layer_norm(middle, g2, b2) @ u) @ d
    result = run(f"(transformer_block {' '.join(given)})", **given)[0]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_cross_entropy() -> None:
    logits, targets, weights = (
        normal(3, 4, 7),
        RANDOM.integers(0, 7, (3, 4)).astype(np.int32),
        normal(3, 4) ** 2,
    )
    picked = np.take_along_axis(np.log(softmax(logits)), targets[..., None], -1)[..., 0]
    np.testing.assert_allclose(run("(cross_entropy x t)", x=logits, t=targets)[0], -picked.mean(), rtol=1e-6)
    weighted = run("(cross_entropy x t :weights w)", x=logits, t=targets, w=weights)[0]
    np.testing.assert_allclose(weighted, -(picked * weights).sum() / weights.sum(), rtol=1e-6)
    logits[..., 0] = -np.inf
    targets[:] = 1
    assert np.isfinite(run("(cross_entropy x t)", x=logits, t=targets)[0])


def test_optimizers() -> None:
    p, g, m, v, step = normal(3), normal(3), normal(3), normal(3) ** 2, np.array(4.0)
    np.testing.assert_allclose(run("(sgd p g 0.1)", p=p, g=g)[0], p - 0.1 * g)
    new_p, new_m, new_v = run("(adamw p g m v s :lr 0.01)", p=p, g=g, m=m, v=v, s=step)
    expected_m, expected_v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    np.testing.assert_allclose((new_m, new_v), (expected_m, expected_v), rtol=1e-5)
    pull = (expected_m / (1 - 0.9**4)) / (np.sqrt(expected_v / (1 - 0.999**4)) + 1e-8) + 0.01 * p
    np.testing.assert_allclose(new_p, p - 0.01 * pull, rtol=1e-5)
    assert run("(squared_error p g)", p=p, g=g)[0] == pytest.approx(((p - g) ** 2).mean())
