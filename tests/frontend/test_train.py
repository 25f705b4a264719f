"""`carry` and `train_step`: next values, their layouts, optimizer state, and mistakes at their places."""

from __future__ import annotations

import numpy as np
import pytest

from kina.diagnostics.finding import Finding, ProgramError
from kina.frontend.ir import Program
from tests.frontend.gradients import formed, run


def carried(program: Program) -> dict[str, str]:
    """For each parameter with a next value, the name of that."""
    return {
        program.values[program.parameters[parameter]].name: program.values[program.results[result]].name
        for result, parameter in program.carries
    }


def notes(program: Program, name: str) -> list[tuple[object, ...]]:
    """What the annotations of the value of a name say."""
    return [
        (each.kind, each.dim, each.axes, each.priority)
        for each in program.annotations
        if program.values[each.value].name == name
    ]


def refusal(text: str) -> tuple[str, str]:
    """The code of the first finding and the text that it points at."""
    with pytest.raises(ProgramError) as caught:
        formed("(mesh (x 2))\n" + text)
    finding: Finding = caught.value.findings[0]
    assert finding.primary is not None
    return finding.code, finding.primary.text


LAYERS = """(mesh (data 2) (model 2))
(defn train ((x (tensor f32 [8 6]) @sharded(axis=0, mesh=data))
             (step (tensor f32 [])))
  (let ((y (repeat (layer i 3) ((x x))
             :params ((w (tensor f32 [6 6]) @sharded(axis=1, mesh=model, priority=1))
                      (b (tensor f32 [6])))
             (tanh (add (matmul x w) b)))))
    (train_step (mean (multiply y y)) OPTIMIZER :frozen x)))"""


def test_sgd_over_a_repeated_layer() -> None:
    program = formed(LAYERS.replace("OPTIMIZER", "sgd :lr 0.5"))
    expected = {f"layer[{i}].{name}": f"layer[{i}].{name}.next" for i in range(3) for name in "wb"}
    assert carried(program) == expected
    assert notes(program, "layer[1].w.next") == [("sharded", 1, ("model",), 1)]
    assert notes(program, "layer[1].b.next") == []
    rng = np.random.default_rng(0)
    data = [
        np.asarray(rng.normal(size=program.type_of(each).shape), np.float32) for each in program.parameters
    ]
    results = run(program, data)
    for result, parameter in program.carries:
        data[parameter] = results[result]
    assert run(program, data)[0] < results[0]


def test_adamw_makes_state_that_lies_as_its_parameter_and_begins_at_zero() -> None:
    also = ":also [(carry step (add step 1) :first 1)]"
    program = formed(LAYERS.replace("OPTIMIZER", f"adamw :step step {also}"))
    names = carried(program)
    assert len(names) == 1 + 6 * 3
    assert names["layer[2].w.m"] == "layer[2].w.m.next"
    assert notes(program, "layer[2].w.v") == [("sharded", 1, ("model",), 1)]
    assert notes(program, "layer[2].w.v.next") == [("sharded", 1, ("model",), 1)]
    first = {program.values[program.parameters[place]].name: text for place, text in program.initial}
    assert first.pop("train.step") == "1"
    assert first == {f"layer[{i}].{name}.{state}": "0" for i in range(3) for name in "wb" for state in "mv"}


def test_adamw_takes_the_steps_of_its_definition() -> None:
    text = """(mesh (x 1))
(defn train ((w (tensor f64 [3])) (t (tensor f64 [])))
  (train_step (sum (multiply w w)) adamw :step t :lr 0.1 :also (carry t (add t 1))))"""
    program = formed(text)
    w = np.array([1.0, -2.0, 0.5])
    data = [w, np.array(1.0), np.zeros(3), np.zeros(3)]
    m = v = np.zeros(3)
    for step in range(1, 4):
        results = run(program, data)
        g = 2 * w
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        pull = (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8) + 0.01 * w
        w = w - 0.1 * pull
        for result, parameter in program.carries:
            data[parameter] = results[result]
        np.testing.assert_allclose(data[0], w, rtol=1e-9)
        np.testing.assert_allclose(data[1], step + 1)


def test_norm_and_clip() -> None:
    text = """(mesh (x 1))
(defn train ((a (tensor f64 [3])) (b (tensor f64 [2])))
  (train_step (add (sum (multiply a a)) (sum b)) sgd :lr 1 :norm true :clip 0.5 :also (sum a)))"""
    a, b = np.array([3.0, 1.0, -2.0]), np.array([1.0, 2.0])
    loss, norm, also, new_a, new_b = run(formed(text), [a, b])
    expected = np.sqrt(4 * (a @ a) + 2)
    np.testing.assert_allclose([loss, norm, also], [a @ a + 3, expected, 2])
    np.testing.assert_allclose(new_a, a - 2 * a * 0.5 / expected, rtol=1e-5)
    np.testing.assert_allclose(new_b, b - 0.5 / expected, rtol=1e-5)


def test_carry_by_hand() -> None:
    text = """(mesh (x 2))
(defn loss (w x) (mean (matmul x w)))
(defn main ((w (tensor f32 [4 6]) @sharded(axis=1)) (x (tensor f32 [3 4])))
  (let (((l dw) (value_and_grad loss w x :wrt w)))
    (values l (carry w (sgd w dw 0.5)))))"""
    program = formed(text)
    assert program.carries == ((1, 0),)
    assert notes(program, "main.w.next") == [("sharded", 1, ("x",), 0)]


def test_two_parameters_change_places() -> None:
    text = """(mesh (x 2))
(defn main ((a (tensor f32 [4])) (b (tensor f32 [4]) @sharded(axis=0)))
  (values (carry a b) (carry b a)))"""
    program = formed(text)
    assert program.carries == ((0, 0), (1, 1))
    assert notes(program, "main.b.next") == [("sharded", 0, ("x",), 0)]
    assert notes(program, "main.a.next") == []


W = "(w (tensor f32 [4]))"


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        (f"(defn f ({W}) (grad sum w))", "K011", "sum"),
        (f"(defn f ({W}) (grad lost w))", "K011", "lost"),
        (f"(defn f ({W}) (grad))", "K012", "(grad)"),
        (f"(defn g (x) (multiply x x)) (defn f ({W}) (grad g w))", "K033", "(grad g w)"),
        (f"(defn g (x) 3.0) (defn f ({W}) (grad g w))", "K033", "(grad g w)"),
        (f"(defn g (x) (sum x)) (defn f ({W}) (grad g w :wrt y))", "K035", "y"),
        (f"(defn g (x y) (sum x)) (defn f ({W}) (grad g w 3 :wrt y))", "K035", "y"),
        (f"(defn g (x) (sum x)) (defn f ({W}) (grad g w :wrt [x x]))", "K014", "x"),
        (f"(defn g (x) (sum (g x))) (defn f ({W}) (grad g w))", "K015", "(g x)"),
        ("(defn f ((i (tensor i32 [4]))) (gradients (sum (convert i f32)) :wrt i))", "K035", "i"),
        (f"(defn f ({W}) (gradients (sum w) :wrt []))", "K035", "(gradients (sum w) :wrt [])"),
        (f"(defn f ({W}) (gradients (sum (convert (argmax w 0) f32))))", "K035",
         "(gradients (sum (convert (argmax w 0) f32)))"),
        ("(defn g (x) (sum (convert x f32))) (defn f ((i (tensor i32 [4]))) (value_and_grad g i))", "K035",
         "(value_and_grad g i)"),
        (f"(defn f ({W}) (gradients (sum w) :for w))", "K013", ":for w"),
        (f"(defn f ({W}) (gradients w))", "K033", "w"),
        ("(defn f ((i (tensor i32 [4]))) (train_step (sum (convert i f32)) sgd))", "K035",
         "(train_step (sum (convert i f32)) sgd)"),
        (f"(defn f ({W}) (train_step (sum w) sgd :rate 1))", "K013", ":rate 1"),
        (f"(defn f ({W}) (train_step (sum w) relu))", "K039", "relu"),
        (f"(defn o (p g) (sum p)) (defn f ({W}) (train_step (sum w) o))", "K039", "o"),
        (f"(defn f ({W}) (train_step (sum w) sgd :frozen (tanh w)))", "K036", "(tanh w)"),
        (f"(defn f ({W}) (let ((h (tanh w))) (train_step (sum h) sgd :wrt h)))", "K036", "h"),
        (f"(defn f ({W}) (carry w 3.0))", "K037", "3.0"),
        (f"(defn f ({W}) (values (carry w (tanh w)) (carry w (sine w))))", "K038", "(carry w (sine w))"),
        (f"(defn f ({W}) (carry w (tanh w) :first a))", "K010", "a"),
        (f"(defn f ({W}) (carry w (tanh w) :first [1]))", "K021", "[1]"),
        (f"(defn never (x) (grad lost x)) (defn f ({W}) (tanh w))", "K011", "lost"),
        (f"(defn never (x) (grad never x)) (defn f ({W}) (tanh w))", "K015", "(grad never x)"),
        (f"(defn grad (x) x) (defn f ({W}) (tanh w))", "K030", "grad"),
    ],
)  # fmt: skip
def test_mistakes(text: str, code: str, at: str) -> None:
    assert refusal(text) == (code, at)


def test_an_op_without_a_derivative_is_pointed_at() -> None:
    text = """(mesh (x 2))
(defn g (w i) (sum (scatter_max w i w)))
(defn f ((w (tensor f32 [4 4])) (i (tensor i32 [4]))) (grad g w i))"""
    with pytest.raises(ProgramError) as caught:
        formed(text)
    (finding,) = caught.value.findings
    assert finding.primary is not None
    assert (finding.code, finding.primary.text) == ("K124", "(scatter_max w i w)")
    assert finding.labels[0].span.text == "(grad g w i)"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (":frozen w", "all that would be trained is frozen"),
        (":wrt w :frozen w", "all that would be trained is frozen"),
        (":wrt []", "`:wrt` names no tensor"),
    ],
)
def test_nothing_to_train_says_why(options: str, why: str) -> None:
    with pytest.raises(ProgramError) as caught:
        formed(f"(mesh (x 2)) (defn f ({W}) (train_step (sum w) sgd {options}))")
    assert caught.value.findings[0].message == f"there is nothing to train: {why}"


def test_layers_that_say_the_same_are_one_finding() -> None:
    text = "(repeat (l i 9) ((h a)) :params ((w (tensor f32 [4]) @sharded(axis=0) @replicated)) (add h w))"
    with pytest.raises(ProgramError) as caught:
        formed(f"(mesh (x 2)) (defn f ((a (tensor f32 [4]))) {text})")
    assert [finding.code for finding in caught.value.findings] == ["K407"]
