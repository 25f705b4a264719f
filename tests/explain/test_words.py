"""Ops in the words of the program."""

from __future__ import annotations

from kina.diagnose.words import OpWords
from kina.frontend.ir import Program
from kina.pipeline import Options, build
from kina.source import Source

TEXT = """(mesh (x 4))
(defn f ((a (tensor f32 [8 8])) (w (tensor f32 [8 8])))
  (reduce_sum (gelu (@ (exp (matmul a w)) @sharded(axis=0)))))
"""


def words(program: Program, kind: str, origin: str = "written") -> set[str]:
    named = OpWords(program)
    return {named.of(op) for op in program.ops if op.kind == kind and op.origin == origin}


def test_an_op_goes_by_the_form_that_was_written() -> None:
    program = build(Source("case.kina", TEXT), Options())
    assert words(program, "exponential") == {"`exp`"}
    assert words(program, "dot_general") == {"`matmul`"}
    assert words(program, "erf") | words(program, "tanh") <= {"`erf` of `gelu`", "`tanh` of `gelu`"}
    assert "`multiply` of `gelu`" in words(program, "multiply")


def test_a_gradient_is_told_from_its_value() -> None:
    text = TEXT + "(defn g ((a (tensor f32 [8 8])) (w (tensor f32 [8 8]))) (grad f a w))\n"
    program = build(Source("case.kina", text), Options())
    assert words(program, "dot_general") == {"`matmul`"}
    assert words(program, "dot_general", "derived") == {"`dot_general` in the gradient of `matmul`"}
