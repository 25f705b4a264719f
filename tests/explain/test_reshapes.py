"""Reshapes that gather: what the note says, and helps that mean the same and move less."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kina
from kina import cli
from kina.diagnostics.finding import Finding
from kina.pipeline import Options, check
from kina.source import Source

#: Products of something flattened whose result is given the dims back.
FLATTENED = {
    "an einsum": '(let ((F (reshape h [16 4])) (Y (einsum "ik,kj->ij" F W)) (Z (reshape Y [2 8 6]))) Z)',
    "a matmul, all in one": "(let ((Z (reshape (matmul (reshape h [16 4]) W) [2 8 6]))) Z)",
    "the other operand first": '(let ((Z (reshape (einsum "kj,ik->ji" W (reshape h [16 4])) [6 2 8]))) Z)',
}
#: Others, of which the dims cannot be kept apart.
OTHERS = {
    "a contracted dim is flattened": "(let ((F (reshape h [16 4]))"
    ' (Z (reshape (einsum "ik,ij->kj" F V) [2 2 6]))) Z)',
    "the dims do not come back": "(let ((Z (matmul (reshape h [16 4]) W))) Z)",
    "used twice": "(let ((F (reshape h [16 4])) (Z (reshape (matmul F W) [2 8 6]))) (values F Z))",
}


def text(body: str) -> str:
    return (
        "(mesh (x 2))\n(defn f ((h (tensor f32 [2 8 4]) @sharded(axis=1))"
        f" (W (tensor f32 [4 6])) (V (tensor f32 [16 6])))\n  {body})\n"
    )


def noted(program: str) -> Finding:
    (finding,) = [
        each for each in check(Source("case.kina", program), Options()).findings if each.code == "K312"
    ]
    return finding


@pytest.mark.parametrize("body", FLATTENED.values(), ids=FLATTENED.keys())
def test_dims_are_kept_apart(body: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = noted(text(body)).helps[0]
    assert first.verified
    assert "keep the dims apart" in first.message
    case = tmp_path / "case.kina"
    case.write_text(text(body), encoding="utf-8")
    before = kina.check(case).run(seed=3)["Z"]
    assert cli.run(["check", str(case), "--fix", "1", "--format", "concise"]) == 0
    assert "K312" not in capsys.readouterr().out
    fixed = kina.check(case)
    assert fixed.collectives == ()
    np.testing.assert_allclose(fixed.run(seed=3)["Z"], before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("body", OTHERS.values(), ids=OTHERS.keys())
def test_dims_are_not_kept_apart_where_that_means_something_else(body: str) -> None:
    helps = noted(text(body)).helps
    assert helps
    assert not any("keep the dims apart, which" in help_.message for help_ in helps)


def test_a_name_that_means_something_else_there_is_not_used() -> None:
    body = "(let ((F (reshape h [16 4])) (Y (matmul F W)) (W (exp W)) (Z (reshape Y [2 8 6]))) (values Z W))"
    assert not any("keep the dims apart, which" in help_.message for help_ in noted(text(body)).helps)


def test_another_dim_may_be_split() -> None:
    program = (
        "(mesh (x 4))\n(defn f ((t (tensor f32 [12 8]) @sharded(axis=1)))\n  (exp (reshape t [16 6])))\n"
    )
    finding = noted(program)
    assert "dim 1 (8) is minor in [12,8] and has no factor boundary in common with [16,6]" in finding.message
    assert finding.helps[0].verified
    assert "split `t` on dim 0 over `x`, not on dim 1; the plan then has no" in finding.helps[0].message
