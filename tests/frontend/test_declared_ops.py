"""Ops that a program declares: their types, attributes and bodies, and every mistake at its place."""

from __future__ import annotations

import numpy as np
import pytest

from kina.diagnostics.finding import Finding, ProgramError
from kina.frontend.ast import OpForm
from kina.frontend.form import form
from kina.frontend.ir import Op, Program
from kina.frontend.printer import print_module
from kina.frontend.reader import read
from kina.frontend.spec import check_ir
from kina.sim.reference import run_program
from kina.source import Source
from tests.declared_ops import SAMPLES

PAIR = """(defop pair ((a (tensor t [n d])) (b (tensor t [n (* 2 d)]))
              (k (number :default (+ d 1) :least 1 :most n)))
  (tensor t [n (* 3 d)])
  (concatenate a b 1))
"""


def formed(text: str) -> Program:
    program = form(read(Source("t.kina", f"(mesh (x 2))\n{text}")))
    check_ir(program)
    return program


def faults(text: str) -> tuple[Finding, ...]:
    with pytest.raises(ProgramError) as caught:
        formed(text)
    return caught.value.findings


def only(program: Program, kind: str) -> Op:
    (found,) = (op for op in program.ops if op.kind == kind)
    return found


def test_an_op_is_one_op_whose_attributes_are_complete() -> None:
    program = formed(PAIR + "(defn f ((x (tensor f32 [8 4])) (y (tensor f32 [8 8]))) (pair x y))")
    op = only(program, "pair")
    assert op.attributes == (("k", 5),)
    assert str(program.type_of(op.results[0])) == "f32[8,12]"
    assert [each.kind for each in program.ops] == ["pair"]


def test_attributes_are_given_by_place_or_by_name() -> None:
    text = PAIR + "(defn f ((x (tensor i32 [8 4])) (y (tensor i32 [8 8]))) (pair x y %s))"
    assert only(formed(text % "2"), "pair").attribute("k") == 2
    assert only(formed(text % ":k 3"), "pair").attribute("k") == 3
    named = PAIR + "(defn f ((x (tensor i32 [8 4])) (y (tensor i32 [8 8]))) (pair :b y :a x))"
    assert only(formed(named), "pair").operands == (0, 1)


def test_every_kind_of_attribute() -> None:
    text = """(defop kinds ((a (tensor f32 [n])) (k (number)) (r (real :default (** n 0.5)))
    (on (flag :default false)) (w (word near far :default far)) (to (dtype :default f64))
    (dims (numbers :default [1 2])) (p (position :default 0)))
  (tensor to [n]) (convert a to))
(defn f ((a (tensor f32 [4]))) (kinds a 3 :w near :on true :p 7 :r 2))"""
    op = only(formed(text), "kinds")
    assert dict(op.attributes) == {
        "k": 3, "r": 2.0, "on": True, "w": "near", "to": "f64", "dims": (1, 2), "p": 7
    }  # fmt: skip


def test_sizes_shadow_constants_and_words() -> None:
    text = """(define n 3)
(defop same ((a (tensor f32 [n sum]))) (tensor f32 [n sum]) (multiply a (/ n sum)))
(defn f ((a (tensor f32 [8 4]))) (same a))"""
    assert only(formed(text), "same").kind == "same"


def test_an_op_may_use_functions_and_other_ops() -> None:
    text = """(defop twice ((a (tensor t [n]))) (tensor t [n]) (add a a))
(defn quad (a) (twice (twice a)))
(defop eight ((a (tensor t [n]))) (tensor t [n]) (add (quad a) (quad a)))
(defn f ((a (tensor f32 [4]))) (eight a))"""
    program = formed(text)
    assert [op.kind for op in program.ops] == ["eight"]
    (found,) = run_program(program, [np.arange(4, dtype=np.float32)]).outputs
    assert found.tolist() == [0, 8, 16, 24]


def test_an_op_takes_the_place_of_a_library_function() -> None:
    text = """(defop relu ((a (tensor t [n]))) (tensor t [n]) (maximum a 0))
(defn f ((a (tensor f32 [4]))) (relu a))"""
    assert [op.kind for op in formed(text).ops] == ["relu"]


def test_names_may_be_odd() -> None:
    text = """(defop |a "b"\n%c| ((|x y| (tensor f32 [|n m|])) (|k"| (number :default |n m|)))
  (tensor f32 [|n m|]) |x y|)
(defn f ((a (tensor f32 [4]))) (|a "b"\n%c| a 2))"""
    (op,) = formed(text).ops
    assert op.attributes == (('k"', 2),)


@pytest.mark.parametrize("text", [PAIR, *(sample.kina for sample in SAMPLES)])
def test_declarations_print_as_they_read(text: str) -> None:
    module = read(Source("t.kina", text))
    again = read(Source("t.kina", print_module(module)))
    assert again == module
    assert isinstance(again.forms[0], OpForm)


def test_a_gradient_is_that_of_the_body() -> None:
    body = "(mul (tanh a) (broadcast (sum (mul a b) [1]) [n d] [0]))"
    op = f"(defop made ((a (tensor f64 [n d])) (b (tensor f64 [n d]))) (tensor f64 [n d]) {body})"
    plain = f"(defn made (a b) (let (((n d) (shape a))) {body}))"
    use = """
(defn loss (a b) (sum (mul (made (sin a) b) (made b (cos a)))))
(defn f ((a (tensor f64 [3 4])) (b (tensor f64 [3 4]))) (value_and_grad loss a b))"""
    rng = np.random.default_rng(0)
    inputs = [rng.normal(size=(3, 4)), rng.normal(size=(3, 4))]
    found, expected = (run_program(formed(text + use), inputs).outputs for text in (op, plain))
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_gradients_of_gradients_and_of_several_results() -> None:
    text = """(defop two ((a (tensor f64 [n])) (b (tensor f64 [n]))) (values (tensor f64 [n]) (tensor f64 []))
  (values (mul a b) (sum (mul (mul a a) b))))
(defn inner (a b) (let (((c d) (two a b))) (add (sum (sin c)) d)))
(defn outer (a b) (sum (mul (grad inner a b :wrt a) (grad inner a b :wrt a))))
(defn f ((a (tensor f64 [3])) (b (tensor f64 [3]))) (grad outer a b :wrt b))"""
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=3), rng.normal(size=3)
    (found,) = run_program(formed(text), [a, b]).outputs

    def squares(b: np.ndarray) -> float:
        slope = b * np.cos(a * b) + 2 * a * b
        return float((slope * slope).sum())

    step = 1e-6
    numeric = [(squares(b + step * row) - squares(b - step * row)) / (2 * step) for row in np.eye(3)]
    np.testing.assert_allclose(found, numeric, rtol=1e-5)


def test_an_op_that_gives_an_operand_back_has_a_gradient() -> None:
    text = """(defop same ((a (tensor f32 [n])) (k (tensor i32 [n])))
  (values (tensor f32 [n]) (tensor i32 [n])) (values a k))
(defn loss (a k) (let (((b c) (same a k))) (sum (mul b b))))
(defn f ((a (tensor f32 [3])) (k (tensor i32 [3]))) (grad loss a k))"""
    (found,) = run_program(
        formed(text), [np.arange(3, dtype=np.float32), np.arange(3, dtype=np.int32)]
    ).outputs
    assert found.tolist() == [0, 2, 4]


CALL = "\n(defn f ((a (tensor f32 [8 4])) (b (tensor f32 [8 8]))) %s)"
BAD = [
    # the form
    ("(defop g)", "K008", "(defop g)"),
    ("(defop g a (tensor f32 [2]) a)", "K008", "a"),
    ("(defop g (a) (tensor f32 [2]) a)", "K008", "a"),
    ("(defop g ((a (tensor f32 [2]) @sharded(axis=0))) (tensor f32 [2]) a)", "K008", "@sharded(axis=0)"),
    ("(defop g ((a 2)) (tensor f32 [2]) a)", "K008", "2"),
    ("(defop g ((a (tensor f32 [2]))) f32 a)", "K008", "f32"),
    ("(defop g ((a (tensor f32 [2]))) (values) a)", "K008", "(values)"),
    ("(defop g ((a (tensor f32 [2])) (k (num))) (tensor f32 [2]) a)", "K013", "num"),
    ("(defop g ((a (tensor f32 [2])) (k (number :lowest 1))) (tensor f32 [2]) a)", "K013", ":lowest"),
    ("(defop g ((a (tensor f32 [2])) (k (flag :least 1))) (tensor f32 [2]) a)", "K013", ":least"),
    ("(defop g ((a (tensor f32 [2])) (k (word))) (tensor f32 [2]) a)", "K008", "(word)"),
    ("(defop g ((a (tensor f32 [2])) (k (number 3))) (tensor f32 [2]) a)", "K008", "3"),
    ("(defop g ((a (tensor f32 [2])) (k (number :least))) (tensor f32 [2]) a)", "K008", ":least"),
    ("(defop g ((a (tensor f32 [2])) (k (number :least 1 :least 2))) (tensor f32 [2]) a)", "K014", ":least"),
    ("(defop g ((a (tensor f32 [2])) (a (flag))) (tensor f32 [2]) a)", "K014", "a"),
    ("(defop g ((a (tensor f32 [a]))) (tensor f32 [2]) a)", "K014", "a"),
    ("(defop matmul ((a (tensor f32 [2]))) (tensor f32 [2]) a)", "K030", "matmul"),
    ("(defop let ((a (tensor f32 [2]))) (tensor f32 [2]) a)", "K030", "let"),
    ("(defn g (a) a) (defop g ((a (tensor f32 [2]))) (tensor f32 [2]) a)", "K014", "g"),
    # an op that nobody calls
    ("(defop g ((a (tensor f32 [n]))) (tensor f32 [m]) a)", "K010", "m"),
    ("(defop g ((a (tensor f32 [n]))) (tensor u [n]) a)", "K010", "u"),
    ("(defop g ((a (tensor f32 [n])) (k (number :default m))) (tensor f32 [n]) a)", "K010", "m"),
    ("(defop g ((a (tensor f32 [n]))) (tensor f32 [n]) (relux a))", "K011", "relux"),
    ("(defop g ((a (tensor f32 [n]))) (tensor f32 [n]) (g a))", "K015", "(g a)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "at"), BAD)
def test_a_wrong_declaration_is_found(text: str, code: str, at: str) -> None:
    found = faults(text + CALL % "a")
    assert [each.code for each in found] == [code]
    assert found[0].primary is not None
    assert found[0].primary.text == at


CALLS = [
    ("(pair a)", "K012", "(pair a)"),
    ("(pair a b 1 2)", "K012", "(pair a b 1 2)"),
    ("(pair a b :q 1)", "K013", ":q 1"),
    ("(pair a b :a a)", "K014", ":a a"),
    ("(pair a 1.0)", "K028", "1.0"),
    ("(pair a (top_k b 2))", "K026", "(top_k b 2)"),
    ("(pair a b :k a)", "K021", "a"),
    ("(pair a b :k 1.5)", "K120", "1.5"),
    ("(pair a b :k true)", "K120", "true"),
    ("(pair a b :k 0)", "K120", "(pair a b :k 0)"),
    ("(pair a b :k 9)", "K120", "(pair a b :k 9)"),
    ("(pair a b :k 99999999999)", "K120", "(pair a b :k 99999999999)"),
    ("(pair a a)", "K125", "(pair a a)"),
    ("(pair b b)", "K125", "(pair b b)"),
    ("(pair a (convert b f64))", "K125", "(pair a (convert b f64))"),
    ("(pair a (sum b [1]))", "K125", "(pair a (sum b [1]))"),
    ("(grad pair a b)", "K011", "pair"),
    ("(add pair a)", "K010", "pair"),
]


@pytest.mark.parametrize(("call", "code", "at"), CALLS)
def test_a_wrong_call_is_found(call: str, code: str, at: str) -> None:
    found = faults(PAIR + CALL % call)
    assert [each.code for each in found] == [code]
    assert found[0].primary is not None
    assert found[0].primary.text == at


REPEAT = "(repeat (l i 2) ((s a)) :params ((w (tensor f32 [2]))) s)"
BODIES = [
    ("(tensor f32 [n d])", "(sum a [1])", "K126", "(sum a [1])"),
    ("(tensor f32 [n d])", "(values a a)", "K126", "(values a a)"),
    ("(tensor f32 [n d])", "(+ n 1)", "K126", "(+ n 1)"),
    ("(tensor f64 [n d])", "a", "K126", "a"),
    ("(tensor f32 [n (/ d 3)])", "a", "K022", "(/ d 3)"),
    ("(tensor f32 [n -1])", "a", "K117", "(g a)"),
    ("(tensor f32 [n 1.5])", "a", "K021", "1.5"),
    ("(tensor f99 [n d])", "a", "K010", "f99"),
    ("(tensor f32 [n d])", "(@ (exp a) @closed)", "K040", "@closed"),
    ("(tensor f32 [n d])", "(carry a a)", "K040", "carry"),
    ("(tensor f32 [n d])", REPEAT, "K040", "(w (tensor f32 [2]))"),
    ("(tensor f32 [n d])", "(matmul a a)", "K109", "(matmul a a)"),
    ("(tensor f32 [n d])", "(let ((x (g a))) x)", "K015", "(g a)"),
    ("(tensor f32 [n d])", "(first a)", "K015", "(g a)"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "body", "code", "at"), BODIES)
def test_a_wrong_body_is_found_where_it_is_called(result: str, body: str, code: str, at: str) -> None:
    text = f"(defop g ((a (tensor f32 [n d]))) {result}\n {body})\n(defn first (a) (g a))" + CALL % "(g a)"
    found = faults(text)
    assert [each.code for each in found][:1] == [code], [each.message for each in found]
    assert found[0].primary is not None
    assert found[0].primary.text == at


def test_a_misfit_says_what_the_names_stand_for() -> None:
    (found,) = faults(PAIR + CALL % "(pair a a)")
    assert found.message == "dim 1 of `b` of `pair` is declared `(* 2 d)`, which is 8, and is given 4"
    assert [label.message for label in found.labels][:1] == ["declared here"]
    (found,) = faults(PAIR + CALL % "(pair a (slice b [0 0] [4 8]))")
    assert found.message == "dim 0 of `b` of `pair` is declared `n`, which is 8 by `a`, and is given 4"
