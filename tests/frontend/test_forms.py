"""What surface forms become: types, values against NumPy, names, and located refusals."""

from __future__ import annotations

import numpy as np
import pytest

from kina.diagnostics.finding import ProgramError
from kina.frontend.builder import Builder
from kina.frontend.forms import FORMS, WORDS
from kina.frontend.ir import TensorType
from kina.source import Source, Span
from tests.frontend.ops_trial import PLACE, Trial, close, refusal

# Elementwise forms.


@pytest.mark.parametrize(
    "shapes",
    [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 3), ()), ((2, 1), (1, 3)), ((1,), (4, 0)), ((1, 1), (5,))],
)
def test_elementwise_forms_broadcast_as_numpy_does(shapes: tuple[tuple[int, ...], ...]) -> None:
    trial = Trial()
    a, b = (trial.random(*shape) for shape in shapes)
    left, right = (trial.inputs[each.values[0]] for each in (a, b))
    close(trial.value(trial.call("sub", a, b)), left - right)


def test_numbers_take_the_dtype_and_shape_of_what_they_meet() -> None:
    trial = Trial()
    a, n = trial.random(2, 3), trial.array([1, 2], "i32")
    assert trial.type(trial.call("add", a, 1)) == "f32[2,3]"
    assert trial.type(trial.call("mul", 2, n)) == "i32[2]"
    assert trial.type(trial.call("less", n, 3)) == "bool[2]"
    assert trial.type(trial.call("exp", 1.0)) == "f32[]"
    assert trial.type(trial.call("add", 1, 2.0)) == "f32[]"
    assert trial.type(trial.call("add", a, (1, 2, 3))) == "f32[2,3]"
    close(trial.value(trial.call("sub", 10, a)), 10 - trial.inputs[a.values[0]])
    constants = [value for value in trial.builder.values if value.splat is not None]
    assert {value.splat for value in constants} >= {"1", "2", "10"}


def test_where_and_clamp() -> None:
    trial = Trial()
    a = trial.random(3, 4)
    data = trial.inputs[a.values[0]]
    positive = trial.call("greater", a, 0)
    close(trial.value(trial.call("where", positive, a, -1)), np.where(data > 0, data, -1))
    close(trial.value(trial.call("clamp", -1, a, 2)), np.clip(data, -1, 2))
    assert trial.type(trial.call("where", positive, 1, 0)) == "i32[3,4]"


def test_literals_that_do_not_fit_are_refused() -> None:
    trial = Trial()
    n, h = trial.array([1], "i32"), trial.array([1], "f16")
    for value, tensor in ((0.5, n), (2**31, n), (1e6, h)):
        with pytest.raises(ProgramError) as caught:
            trial.call("add", tensor, value)
        assert caught.value.findings[0].code == "K118"
    assert refusal("constant", ((1, 2), (3,)), "f32").code == "K118"


# Shaping.


def test_shaping_forms_against_numpy() -> None:
    trial = Trial()
    a = trial.random(4, 6)
    data = trial.inputs[a.values[0]]
    close(trial.value(trial.call("reshape", a, (2, -1, 3))), data.reshape(2, -1, 3))
    close(trial.value(trial.call("transpose", a)), data.T)
    close(trial.value(trial.call("expand_dims", a, 1)), data[:, None])
    close(trial.value(trial.call("slice", a, (1, 0), (4, 6), (2, 3))), data[1:4:2, 0:6:3])
    close(trial.value(trial.call("slice_dim", a, 1, 2, 5)), data[:, 2:5])
    close(trial.value(trial.call("concatenate", a, a, dimension=1)), np.concatenate([data, data], 1))
    close(trial.value(trial.call("broadcast_to", a, (2, 4, 6))), np.broadcast_to(data, (2, 4, 6)))
    assert trial.type(trial.call("pad", a, 0, (1, 0), (0, -2))) == "f32[5,4]"
    assert trial.type(trial.call("dynamic_slice", a, (2, 2), 0, 1)) == "f32[2,2]"
    assert trial.type(trial.call("dynamic_update_slice", a, a, 0, 0)) == "f32[4,6]"


# Reductions, indexing, creation.


def test_reductions() -> None:
    trial = Trial()
    a = trial.random(3, 4)
    data = trial.inputs[a.values[0]]
    close(trial.value(trial.call("sum", a)), data.sum())
    close(trial.value(trial.call("mean", a, (0,))), data.mean(0))
    close(trial.value(trial.call("mean", a, (1,), keepdims=True)), data.mean(1, keepdims=True))
    close(trial.value(trial.call("reduce_max", a, 1)), data.max(1))
    assert trial.type(trial.call("argmax", a, 1)) == "i32[3]"
    assert trial.type(trial.call("cumsum", a, 1)) == "f32[3,4]"
    assert trial.type(trial.call("top_k", a, 2)) == "f32[3,2] i32[3,2]"
    assert trial.type(trial.call("sort", a, a, 0, "descending")) == "f32[3,4] f32[3,4]"


def test_mean_of_more_elements_than_f16_counts() -> None:
    trial = Trial()
    assert trial.type(trial.call("mean", trial.call("zeros", "f16", (70000,)))) == "f16[]"


def test_lookups() -> None:
    trial = Trial()
    table, ids = trial.random(5, 3), trial.array([[0, 4], [1, 1]], "i32")
    rows, index = trial.inputs[table.values[0]], trial.inputs[ids.values[0]]
    close(trial.value(trial.call("take", table, ids)), rows[index])
    close(trial.value(trial.call("take", table, trial.array([2, 0], "i32"), dim=1)), rows[:, [2, 0]])
    updates = trial.random(2, 2, 3)
    expected = rows.copy()
    np.add.at(expected, index, trial.inputs[updates.values[0]])
    close(trial.value(trial.call("scatter_add", table, ids, updates)), expected)
    close(trial.value(trial.call("one_hot", ids, 5)), np.eye(5)[index])
    assert trial.type(trial.call("scatter_add", trial.random(4), trial.array([0, 3], "i32"), 1.0)) == "f32[4]"


def test_constants() -> None:
    trial = Trial()
    close(trial.value(trial.call("constant", ((1, 2), (3, 4)), "f32")), [[1, 2], [3, 4]])
    close(trial.value(trial.call("ones", "i32", (2,))), [1, 1])
    assert trial.type(trial.call("constant", (True, False))) == "bool[2]"
    assert trial.type(trial.call("constant", (), "f32")) == "f32[0]"
    assert trial.type(trial.call("zeros", "bf16", ())) == "bf16[]"


def test_stop_gradient_is_a_barrier_that_says_so() -> None:
    trial = Trial()
    trial.call("stop_gradient", trial.random(2))
    assert trial.builder.ops[0].attributes == (("stop_gradient", True),)


# Random numbers.


def test_uniform_numbers_depend_on_seed_and_index_alone() -> None:
    trial = Trial()
    large = trial.value(trial.call("rng_uniform", 7, "f32", (64, 96)))
    assert large.min() >= 0
    assert large.max() < 1
    assert abs(large.mean() - 0.5) < 0.02
    assert len(np.unique(large)) > 6000
    close(trial.value(trial.call("rng_uniform", 7, "f32", (8, 16))), large[:8, :16])
    seed = trial.array(7, "i32")
    close(trial.value(trial.call("rng_uniform", seed, "f32", (8, 16))), large[:8, :16])
    other = trial.value(trial.call("rng_uniform", 8, "f32", (64, 96)))
    assert abs(np.corrcoef(large.ravel(), other.ravel())[0, 1]) < 0.05
    assert abs(np.corrcoef(large[:-1].ravel(), large[1:].ravel())[0, 1]) < 0.05


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16"])
def test_normal_numbers(dtype: str) -> None:
    trial = Trial()
    numbers = trial.value(trial.call("rng_normal", 3, dtype, (4000,))).astype(np.float64)
    assert np.isfinite(numbers).all()
    assert abs(numbers.mean()) < 0.06
    assert abs(numbers.std() - 1) < 0.05


def test_the_hash_is_the_one_of_the_seed() -> None:
    trial = Trial()
    scalar = trial.value(trial.call("rng_uniform", 1, "f64", ()))
    assert 0 <= scalar < 1


# Names, places, documentation.


def test_names_follow_the_form() -> None:
    trial = Trial()
    a = trial.random(4, 4)
    trial.call("mean", a, (0,))
    trial.call("mean", a, (0,))
    names = [value.name for value in trial.builder.values[1:]]
    assert names == ["mean.reduce", "mean.constant", "mean", "mean.reduce#2", "mean.constant#2", "mean#2"]


def test_findings_are_at_the_call_and_name_both_shapes() -> None:
    finding = refusal("add", [8, 64], [8, 32])
    assert finding.message == "`add` takes tensors of one shape: f32[8,64] and f32[8,32] differ at dim 1"
    assert finding.primary == PLACE


def test_library_code_is_blamed_on_the_call() -> None:
    builder = Builder(span_for=lambda span: PLACE)
    inner = Span(Source("library:nn.kina", "(add x y)"), 0, 9)
    a = builder.parameter("a", TensorType("f32", (2,)), PLACE)
    b = builder.parameter("b", TensorType("f32", (3,)), PLACE)
    with pytest.raises(ProgramError) as caught:
        builder.emit("add", (a, b), {}, inner)
    finding = caught.value.findings[0]
    assert finding.primary == PLACE
    assert finding.notes == ("inside `(add x y)` at library:nn.kina:1:1",)


REFUSALS = [
    ("K101", "where", ([3], [4], [4])),
    ("K104", "add", ([2],)),
    ("K104", "add", ([2], [2], [2])),
    ("K105", "expand_dims", ([2], 3)),
    ("K105", "take", ([2], [2], 1)),
    ("K107", "reshape", ([4], (3, -1))),
    ("K107", "reshape", ([4], (-1, -1))),
    ("K108", "broadcast_to", ([2, 2], (2,))),
    ("K109", "matmul", ([2, 3], [2, 3])),
    ("K109", "matmul", ([4, 2, 3], [5, 3, 2])),
    ("K119", "matmul", ([2, 3], [])),
    ("K110", "einsum", ("i1->i", [2])),
    ("K110", "einsum", ("ii->i", [2, 2])),
    ("K110", "einsum", ("i->ii", [2])),
    ("K110", "einsum", ("i->j", [2])),
    ("K110", "einsum", ("i,j->ij", [2])),
    ("K110", "einsum", ("i->j->k", [2])),
    ("K111", "einsum", ("ij->i", [2])),
    ("K111", "einsum", ("i,i->i", [2], [3])),
    ("K115", "conv2d", ([4, 3, 8], [6, 3, 3])),
    ("K121", "convert", ([2], "f31")),
    ("K120", "conv2d", ([4, 3, 8, 8], [6, 3, 3, 3], (1, 1, 1))),
    ("K123", "sum", ([2], [2])),
    ("K123", "add", ([2], "x")),
    ("K123", "sum", ([2], (0.5,))),
    ("K103", "rng_uniform", (1, "i32", (2,))),
    ("K103", "one_hot", ([2], 4)),
]


@pytest.mark.parametrize(("code", "name", "args"), REFUSALS)
def test_refusals(code: str, name: str, args: tuple[object, ...]) -> None:
    assert refusal(name, *args).code == code


def test_keywords() -> None:
    assert refusal("sum", [2], axis=0).message == "`sum` has no option `:axis`"
    assert refusal("sum", [2], 0, dims=0).message == "`dims` of `sum` is given twice"


def test_every_form_is_documented() -> None:
    for form in FORMS.values():
        assert form.doc, form.name
        assert form.signature.startswith(f"({form.name}"), form.name
    assert FORMS["conv2d"].signature == "(conv2d x kernel :stride 1 :padding 0 :groups 1 :dilation 1)"
    assert {"f32", "EQ", "descending"} <= WORDS


def test_every_kind_can_be_written() -> None:
    from kina.frontend.ops import OPS

    assert set(OPS) <= set(FORMS)
