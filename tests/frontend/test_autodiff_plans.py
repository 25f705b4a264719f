"""Training steps: their collectives are the cheap ones, and gradients leave forward layouts alone."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from kina.pipeline import Options, Result, check
from kina.source import Source
from tests.frontend.gradients import formed

ROOT = Path(__file__).parents[2]
PROGRAMS = re.findall(r"```kina\n(.*?)```", (ROOT / "docs" / "autodiff.md").read_text(encoding="utf-8"), re.S)


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_of_the_document_form(text: str) -> None:
    assert formed(text).cotangents


def checked(text: str) -> Result:
    result = check(Source("t.kina", text), Options(solver="clingo"))
    assert result.ok, result.findings
    return result


def example(name: str) -> str:
    return (ROOT / "examples" / f"{name}.kina").read_text(encoding="utf-8")


def matrices(result: Result) -> Counter[str]:
    """The collectives of tensors of more than a vector, by kind."""
    assert result.program is not None
    assert result.decisions is not None
    types = result.program.values
    return Counter(each.kind for each in result.decisions.collectives if types[each.value].type.rank > 1)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpt_train", {}),
        # Two in the forward pass, two in the backward pass: q, k and v share one.
        ("gpt_train_tensor", {"all_reduce": 4}),
        # One for each matrix, the positions and the table.
        ("gpt_train_data", {"all_reduce": 8}),
        # Each matrix is gathered once and its gradient scattered; positions and table are not split.
        ("gpt_train_fsdp", {"all_gather": 6, "reduce_scatter": 6, "all_reduce": 2}),
    ],
)
def test_collectives_of_a_training_step(name: str, expected: dict[str, int]) -> None:
    assert matrices(checked(example(name))) == expected


def with_adamw(text: str) -> str:
    """A training example with AdamW, its step counter and clipping in the place of sgd."""
    also = ":also (carry step (add step 1) :first 1)"
    text = text.replace(" sgd :lr 0.1)", f" adamw :step step :clip 1.0 :norm true {also})")
    return text.replace(
        "(beta (tensor f32 [width])))\n  (let", "(beta (tensor f32 [width])) (step (tensor f32 [])))\n  (let"
    )


def test_optimizer_state_and_the_norm_move_nothing_but_a_number() -> None:
    result = checked(with_adamw(example("gpt_train_tensor")))
    assert matrices(result) == {"all_reduce": 4}
    assert result.program is not None
    assert result.decisions is not None
    found = result.decisions.collectives
    assert [each.bytes for each in found if result.program.type_of(each.value).rank == 0] == [6]
    layouts = {value.name: result.decisions.layouts[value.id] for value in result.program.values}
    prefix = "gpt.layer[0]."
    for name in ("wq", "wk", "wv", "wo", "w_up", "w_down"):
        own = layouts[prefix + name]
        assert ("model",) in own
        followers = [f"{name}{rest}" for rest in ("'", ".next", ".m", ".v", ".m.next", ".v.next")]
        assert [layouts[prefix + each] for each in followers] == [own] * 6


@pytest.mark.parametrize("name", ["gpt_train_tensor", "gpt_train_fsdp", "train_mlp"])
def test_gradients_change_no_forward_layout(name: str) -> None:
    step = example(name)
    forward = re.sub(r"\(train_step (\(.*?\)) sgd [^)]*\)", r"\1", step)
    assert forward != step
    layouts = []
    for text in (forward, step):
        result = checked(text)
        assert result.program is not None
        assert result.decisions is not None
        layouts.append({v.name: result.decisions.layouts[v.id] for v in result.program.values})
    same = [each for each in layouts[0] if each in layouts[1]]
    assert len(same) > 0.9 * len(layouts[0])
    assert [(each, layouts[0][each]) for each in same] == [(each, layouts[1][each]) for each in same]


def test_ninety_six_layers_fit_on_a_page() -> None:
    text = example("gpt_96").replace("(defn gpt (", "(defn gpt ((targets (tensor i32 [batch length])) ")
    head, body = text.split('    (einsum "bsd,vd->bsv"')
    text = f'{head}    (train_step (cross_entropy (einsum "bsd,vd->bsv"{body.rstrip()[:-2]} targets) sgd)))\n'
    program = formed(text)
    assert len(text.splitlines()) < 60
    assert len(program.carries) == 4 + 96 * 10
    assert 15_000 < len(program.ops) < 25_000


ZERO = """
(mesh (x 2))
(defn loss (a b c) (add (mean (multiply b (stop_gradient a))) (sum c)))
(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))
         (b (tensor f32 [8 8]))
         (c (tensor f32 [8 8]) @sharded(axis=1)))
  (grad loss a b c))
"""


def test_gradients_that_are_one_number_lie_as_their_parameters() -> None:
    result = checked(ZERO)
    assert result.program is not None
    assert result.decisions is not None
    names = [result.program.values[value].name for value in result.program.results]
    layouts = [result.decisions.layouts[value] for value in result.program.results]
    assert names == ["f.a'", "f.b'", "f.c'"]
    assert layouts[0] == (("x",), ())
    assert layouts[2] == ((), ("x",))
