"""matmul and einsum against NumPy, and the ops that they become."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina.frontend.builder import Arg
from tests.frontend.ops_trial import PLACE, Trial, close


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((6, 1, 2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 0), (0, 4)),
    ],
)
def test_matmul_is_that_of_numpy(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    trial = Trial()
    a, b = trial.random(*left), trial.random(*right)
    expected = np.matmul(trial.inputs[a.values[0]], trial.inputs[b.values[0]])
    close(trial.value(trial.call("matmul", a, b)), expected)


EQUATIONS = [
    "ij->ji",
    "ij->",
    "ij->j",
    "ij,jk->ik",
    "ij,jk->ki",
    "bsd,dhe->bshe",
    "bshe,bthe->bhst",
    "bhst,bthe->bshe",
    "i,j->ij",
    "i,ij->ij",
    "ij,ij->",
    "ij,kl->",
    "fh,fd,f->hd",
    "ab,bc,cd->ad",
    "i,ij,j->",
    "abc,cb->a",
    ",ij->ij",
    "ij,jk",
    "i,i,i->i",
    "ab,ab,ab,bc->c",
]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_is_that_of_numpy(equation: str) -> None:
    trial = Trial()
    terms = equation.partition("->")[0].split(",")
    sizes = {letter: 2 + i for i, letter in enumerate(sorted(set("".join(terms))))}
    args = [trial.random(*[sizes[letter] for letter in term]) for term in terms]
    expected = np.einsum(equation, *[trial.inputs[each.values[0]] for each in args])
    close(trial.value(trial.call("einsum", equation, *args)), expected)


@st.composite
def equations(draw: st.DrawFn) -> str:
    terms = draw(st.lists(st.permutations("abcd").map(lambda x: "".join(x[:3])), min_size=1, max_size=4))
    terms = [term[: draw(st.integers(0, 3))] for term in terms]
    letters = sorted(set("".join(terms)))
    output = draw(st.permutations(letters))[: draw(st.integers(0, len(letters)))]
    return f"{','.join(terms)}->{''.join(output)}"


@given(equations())
@settings(max_examples=60, deadline=None)
def test_any_einsum_is_that_of_numpy(equation: str) -> None:
    test_einsum_is_that_of_numpy(equation)


def test_common_einsums_need_no_transpose() -> None:
    for equation in ("bsd,dhe->bshe", "dhe,bsd->bshe", "bshe,bthe->bhst", "ij,jk->ik", "ij,jk->ki"):
        trial = Trial()
        terms = equation.partition("->")[0].split(",")
        trial.call("einsum", equation, *[trial.random(*[2 for _ in term]) for term in terms])
        assert trial.kinds() == ["dot_general"], equation


def test_a_vector_is_multiplied_into_the_smaller_matrix() -> None:
    trial = Trial()
    result = trial.call("einsum", "fh,fd,f->hd", trial.random(6, 10), trial.random(6, 14), trial.random(6))
    assert trial.kinds() == ["broadcast_in_dim", "multiply", "dot_general"]
    assert trial.type(Arg(PLACE, trial.builder.ops[1].results)) == "f32[6,10]"
    assert trial.type(result) == "f32[10,14]"
