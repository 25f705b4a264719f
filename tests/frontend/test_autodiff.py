"""Gradients are slopes, on every op and on random programs, and what differentiation makes reads well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina.frontend.autodiff.reverse import FLAT, RULES
from kina.frontend.ir import Program
from kina.frontend.ops import OPS
from tests.frontend.gradient_cases import CASES
from tests.frontend.gradients import Case, differences, formed, inputs, run

#: Where a function has corners, jumps or a stopped gradient, differences say nothing.
_OTHER = ("floor", "ceil", "sign", "convert", "stop_gradient")
_SMOOTH = [case for case in CASES if not case.ties and case.name not in _OTHER]


@pytest.mark.parametrize("case", _SMOOTH, ids=str)
def test_gradient_is_the_slope(case: Case) -> None:
    program = formed(case.text)
    data = inputs(program, case, 1)
    found = run(program, data)
    for one, other in zip(found[1:], differences(program, data), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_every_kind_is_known_or_has_no_slope() -> None:
    whole = {"not", "and", "or", "xor", "compare", "is_finite", "argmax", "iota", "constant"}
    whole |= {"shift_left", "shift_right_logical", "shift_right_arithmetic"}
    assert set(OPS) == set(RULES) | FLAT | whole


_UNARY = ("tanh", "sine", "logistic", "negate", "erf", "softmax", "abs", "exp")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")
_MOVE = (
    *("(transpose {})", "(reverse {} [1])", "(cumsum {} 0)", "(sort {} 1)", "(cumprod {} 1)"),
    "(pad (slice {} [1 0] [3 4] :strides [1 2]) 0.5 [1 0] [1 1] [0 1])",
)
_REDUCE = ("reduce_sum", "reduce_max", "mean", "prod")


@st.composite
def chains(draw: st.DrawFn) -> str:
    """The body of a function of `x` [4 4] and `w` [4 4]: a few steps, each on values made before."""
    names = ["x", "w"]
    bindings: list[str] = []
    for step in range(draw(st.integers(2, 7))):
        first, second = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        name = f"v{step}"
        form = draw(st.sampled_from(("unary", "binary", "matmul", "reduce", "move", "join")))
        match form:
            case "unary":
                made = f"({draw(st.sampled_from(_UNARY))} {first})"
            case "binary":
                made = f"({draw(st.sampled_from(_BINARY))} {first} {second})"
            case "matmul":
                equation = draw(
                    st.sampled_from(("ab,bc->ac", "ab,bc->ca", "ab,ac->bc", "ab,ab->ab", "ab,bc->a"))
                )
                made = f'(multiply (einsum "{equation}" {first} {second}) 0.3)'
            case "reduce":
                kind, dim = draw(st.sampled_from(_REDUCE)), draw(st.integers(0, 1))
                made = f"(multiply ({kind} {first} [{dim}] :keepdims true) {second})"
            case "move":
                made = draw(st.sampled_from(_MOVE)).format(first)
            case _:
                made = f"(slice (concatenate {first} {second} 0) [2 0] [6 4])"
        if form == "matmul" and equation.endswith("->a"):
            made = f"(add {made} {second})"
        bindings.append(f"({name} {made})")
        names.append(name)
    return f"(let ({' '.join(bindings)}) (sum (tanh {names[-1]})))"


@settings(max_examples=60, deadline=None)
@given(chains(), st.integers(0, 100))
def test_gradient_of_a_random_chain_is_its_slope(body: str, seed: int) -> None:
    program = formed(Case("chain", "x f64 4 4; w f64 4 4", body).text)
    rng = np.random.default_rng(seed)
    data = [rng.normal(size=(4, 4)) for _ in range(2)]
    way = [rng.normal(size=(4, 4)) for _ in range(2)]
    found = run(program, data)
    slope = sum(float((g * v).sum()) for g, v in zip(found[1:], way, strict=True))
    ends = [
        run(program, [x + sign * 1e-6 * v for x, v in zip(data, way, strict=True)])[0] for sign in (1, -1)
    ]
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-5)


def _names(program: Program) -> list[str]:
    return [program.values[result].name for op in program.ops for result in op.results]


MLP = """(mesh (x 1))
(defn loss (w1 w2 x) (mean (tanh (matmul (tanh (matmul x w1)) w2))))
(defn main ((w1 (tensor f32 [4 6])) (w2 (tensor f32 [6 2])) (x (tensor f32 [3 4])))
  (value_and_grad loss w1 w2 x :wrt [w1 w2]))"""


def test_cotangents_are_named_after_their_values_and_derived() -> None:
    program = formed(MLP)
    assert [program.values[each].name for each in program.results] == ["main.loss", "main.w1'", "main.w2'"]
    derived = [op for op in program.ops if op.origin == "derived"]
    assert [op.origin for op in program.ops] == ["written"] * (len(program.ops) - len(derived)) + [
        "derived"
    ] * len(derived)
    assert all("'" in program.values[op.results[0]].name for op in derived)
    spans = {op.span for op in program.ops if op.origin == "written"}
    assert {op.span for op in derived} <= spans | {
        program.values[each].span for each in program.parameters
    } | {derived[0].span}


def test_a_name_for_a_gradient_is_its_name() -> None:
    text = MLP.replace("(value_and_grad", "(let (((l d1 d2) (value_and_grad").replace(
        "[w1 w2]))", "[w1 w2]))) (values d1 d2)))"
    )
    assert [formed(text).values[each].name for each in formed(text).results] == ["main.d1", "main.d2"]


def test_each_value_has_one_cotangent_of_its_own() -> None:
    program = formed(MLP)
    values, cotangents = zip(*program.cotangents, strict=True)
    assert len(set(values)) == len(values)
    assert len(set(cotangents)) == len(cotangents)
    assert set(program.parameters[:2]) <= set(values)


def test_common_products_need_no_transpose() -> None:
    for text in ('(einsum "bsd,dhe->bshe" x w)', '(einsum "bsd,df->bsf" x w)', "(matmul x w)"):
        rank = "4 2 3" if "dhe" in text else "4 3"
        program = formed(Case("", f"x f64 2 3 4; w f64 {rank}", f"(sum (tanh {text}))").text)
        assert not [op for op in program.ops if op.kind == "transpose"]


def test_sums_of_products_are_added_before_all_else() -> None:
    body = "(sum (tanh (add (matmul x a) (add (multiply x 2.0) (matmul x b)))))"
    program = formed(Case("", "x f64 3 3; a f64 3 3; b f64 3 3", body).text)
    (gradient,) = [op for op in program.ops if op.results[0] == program.results[1]]
    makers = {result: op for op in program.ops for result in op.results}
    first = makers[gradient.operands[0]]
    assert (gradient.kind, first.kind) == ("add", "add")
    assert [makers[each].kind for each in first.operands] == ["dot_general", "dot_general"]


def test_gradient_of_a_gradient() -> None:
    text = """(mesh (x 1))
(defn f (x) (sum (multiply (multiply x x) (sine x))))
(defn slope (x) (sum (tanh (grad f x))))
(defn main ((x (tensor f64 [5]))) (values (slope x) (grad slope x)))"""
    program = formed(text)
    data = [np.linspace(-1, 2, 5)]
    np.testing.assert_allclose(run(program, data)[1], differences(program, data)[0], rtol=1e-5)


def test_one_tensor_given_twice_has_two_gradients() -> None:
    text = """(mesh (x 1))
(defn f (a b) (sum (multiply a (sine b))))
(defn main ((x (tensor f64 [5]))) (grad f x x))"""
    program = formed(text)
    x = np.linspace(-1, 2, 5)
    first, second = run(program, [x])
    np.testing.assert_allclose(first, np.sin(x))
    np.testing.assert_allclose(second, x * np.cos(x))


def test_gradients_of_values_in_sight() -> None:
    text = """(mesh (x 1))
(defn main ((w (tensor f64 [5])) (unused (tensor f64 [2])))
  (let ((h (tanh w))
        (loss (sum (multiply h h)))
        ((dh du) (gradients loss :wrt [h unused])))
    (values loss dh du)))"""
    x = np.linspace(-1, 2, 5)
    _, dh, du = run(formed(text), [x, np.ones(2)])
    np.testing.assert_allclose(dh, 2 * np.tanh(x))
    np.testing.assert_array_equal(du, np.zeros(2))


def test_a_gradient_changes_no_op_before_it() -> None:
    plain = formed(MLP.replace("(value_and_grad loss w1 w2 x :wrt [w1 w2])", "(loss w1 w2 x)"))
    program = formed(MLP)
    written = [op for op in program.ops if op.origin == "written"]
    assert [(op.kind, op.operands, op.attributes) for op in written] == [
        (op.kind, op.operands, op.attributes) for op in plain.ops
    ]
    assert _names(program)[: len(plain.ops)] == _names(plain)
