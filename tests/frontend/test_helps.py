"""What a message says to do next, where JAX and NumPy write it in another way."""

from __future__ import annotations

import pytest

from kina.pipeline import Options, check
from kina.source import Source

A = "(a (tensor f32 [2 8]))"


@pytest.mark.parametrize(
    ("expression", "code", "said"),
    [
        ("(* a a)", "K021", "`multiply` does it with tensors"),
        ("(- a)", "K021", "`negate` does it with tensors"),
        ("(< a 1)", "K021", "`less` does it with tensors"),
        ("(concatenate [a a] 0)", "K021", "without brackets"),
        ("(softmax a :axis 1)", "K013", "its parameters are `x`, `dim`"),
        ('(einsum "...j,kj->...k" a a)', "K110", "name the dims that `...` stands for"),
        ("(@ (exp a) @sharded(0, x))", "K410", "a dim is written `axis=0`"),
        ("(@ (exp a) @sharded(x))", "K410", "a mesh axis is written `mesh=x`"),
        ("(@ (exp a) @pending(sum))", "K410", "a kind of pending value is written `kind=sum`"),
        ("(@ (exp a) @sharded(-1, x))", "K410", "a dim is written `axis=1`, counted from 0"),
        ("(@ (exp a) @sharded(axis=0))", "K404", "write `mesh=x` or `mesh=y`, or `mesh=(x,y)`"),
    ],
)
def test_a_message_says_what_to_write(expression: str, code: str, said: str) -> None:
    text = f"(mesh (x 2) (y 2)) (defn f ({A}) {expression})"
    (finding,) = check(Source("t.kina", text), Options(solver="clingo")).findings
    assert finding.code == code
    assert any(said in each for each in (*finding.notes, *(help_.message for help_ in finding.helps)))
