"""Arrays that are given for a run: what may be left out, what a restart takes, and what does not fit."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kina
from kina.mlir.reader import read_module
from kina.run.given import Origin, from_arrays
from kina.run.inputs import read_npz
from kina.run.ports import signature
from kina.source import Source
from tests.command import kina_command

TRAIN = """\
(mesh (x 2))
(defn loss (w a) (mean (multiply (matmul a w) (matmul a w))))
(defn train ((w (tensor f32 [8 4]) @sharded(axis=1)) (a (tensor f32 [4 8])) (step (tensor f32 [])))
  (train_step (loss w a) adamw :frozen a :lr 0.1 :step step
              :also (carry step (add step 1) :first 1)))
"""
PLAIN = """\
(mesh (x 2))
(defn f ((a (tensor f32 [4]) @sharded(axis=0)) (ids (tensor i32 [4])) (b (tensor bf16 [2]))
         (s (tensor f32 [])) (n (tensor i32 [])) (t (tensor bool [])))
  (values (exp a) (add ids n) (exp b) (exp s) (not t)))
"""
T = "(tensor f32 [4])"
ONES = np.ones(4, np.float32)
LAYERS = """\
(mesh (x 2))
(defn f ((a (tensor f32 [4 4])))
  (repeat (layer i 2) ((h a)) :params ((w (tensor f32 [4 4]))) (matmul h w)))
"""


@pytest.fixture(scope="module")
def train() -> kina.Check:
    return kina.check(TRAIN)


@pytest.fixture(scope="module")
def plain() -> kina.Check:
    return kina.check(PLAIN)


def data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {name: rng.random(shape, np.float32) for name, shape in (("w", (8, 4)), ("a", (4, 8)))}


def fine() -> dict[str, Any]:
    return {
        "a": np.ones(4, np.float32),
        "ids": np.zeros(4, np.int32),
        "b": np.zeros(2, ml_dtypes.bfloat16),
        "s": np.float32(1),
        "n": np.int32(1),
        "t": True,
    }


def refused(check: kina.Check, inputs: dict[str, Any]) -> list[kina.Finding]:
    with pytest.raises(kina.ProgramError) as caught:
        check.run(inputs)
    assert {finding.code for finding in caught.value.findings} == {"K701"}
    return list(caught.value.findings)


def said(check: kina.Check, inputs: dict[str, Any]) -> str:
    (finding,) = refused(check, inputs)
    assert finding.primary is not None
    return finding.message


def test_parameters_with_a_first_value_may_be_left_out(train: kina.Check) -> None:
    short = train.run(data(), verify=True, steps=2)
    assert short.ok
    states = {"w.m": np.zeros((8, 4), np.float32), "w.v": np.zeros((8, 4), np.float32), "step": 1}
    whole = train.run({**data(), **states}, steps=2)
    np.testing.assert_array_equal(short["w.next"], whole["w.next"])
    other = train.run({**data(), "step": 3}, steps=2)
    assert other["step.next"] == 5
    found = refused(train, {})
    assert [finding.message for finding in found] == [
        "`inputs` has no array `train.w`",
        "`inputs` has no array `train.a`",
    ]


def test_results_are_taken_for_what_they_are_carried_into(train: kina.Check) -> None:
    both = train.run(data(), steps=2)
    one = train.run(data())
    again = train.run({**one.outputs, "a": data()["a"]})
    assert list(again.outputs) == list(both.outputs)
    for name, array in both.outputs.items():
        np.testing.assert_array_equal(again.outputs[name], array)


@pytest.mark.parametrize("option", [(), ("--per-device",)])
def test_a_file_of_results_restarts_a_run(tmp_path: Path, option: tuple[str, ...]) -> None:
    (tmp_path / "t.kina").write_text(TRAIN)
    np.savez(tmp_path / "in.npz", **data())
    given = ("run", "t.kina", "--inputs", "in.npz", "--outputs")
    assert kina_command(*given, "2.npz", "--steps", "2", cwd=tmp_path).returncode == 0
    assert kina_command(*given, "1.npz", *option, cwd=tmp_path).returncode == 0
    with np.load(tmp_path / "1.npz") as saved:
        np.savez(tmp_path / "merged.npz", **saved, a=data()["a"])
    done = kina_command("run", "t.kina", "--inputs", "merged.npz", "--outputs", "3.npz", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "2.npz") as two, np.load(tmp_path / "3.npz") as three:
        assert set(two.files) == set(three.files)
        for name in two.files:
            np.testing.assert_array_equal(two[name], three[name])


def test_what_is_given_twice_is_said(train: kina.Check, plain: kina.Check) -> None:
    carried = {**data(), "train.w.next": data()["w"]}
    assert said(train, carried) == (
        "`train.w` is given twice: as `w` and `train.w.next`, the result that a step carries into it"
    )
    twice = {**fine(), "f.a": fine()["a"]}
    assert said(plain, twice) == "`f.a` is given twice: as `a` and `f.a`"
    half = fine()["a"][:2]
    assert said(plain, {**fine(), "a@0": half}) == "`f.a` is given both whole, as `a`, and in parts, as `a@0`"
    parts = {**fine(), "a@0": half, "f.a@0": half, "a@1": half}
    del parts["a"]
    assert said(plain, parts) == "`f.a@0` is given twice: as `a@0` and `f.a@0`"


def test_only_results_are_left_aside(train: kina.Check) -> None:
    assert train.run({**data(), "train.loss": np.float32(3)}).ok
    for name in ("loss", "train.los", "train.w.next@2", "nothing", "a@2"):
        assert said(train, {**data(), name: np.ones(3, np.float32)}) == (
            f"`inputs` has an array `{name}`, which is no argument"
        )


def test_an_ending_that_several_arguments_have(train: kina.Check) -> None:
    layers = kina.check(LAYERS)
    array = np.ones((4, 4), np.float32)
    found = refused(layers, {"a": array, "w": array})
    assert found[-1].message == "`inputs` has an array `w`, which is the name of 2 arguments"
    assert found[-1].helps[0].message == "say which: `layer[0].w`, `layer[1].w`"
    assert layers.run({"a": array, "layer[0].w": array, "layer[1].w": array}).ok


def test_a_long_list_says_how_many_more(plain: kina.Check) -> None:
    given = {f"n{number}": np.ones(1) for number in range(11)}
    found = refused(plain, given)
    assert found[0].helps[0].message == (
        "arrays that were given: `n0`, `n1`, `n10`, `n2`, `n3`, `n4`, `n5`, `n6`, and 3 more"
    )
    assert all(not finding.helps for finding in found[1:6])
    near = refused(plain, {**fine(), "idz": np.ones(1)})[0]
    assert near.helps[0].message == "the nearest name is `f.ids`"


@pytest.mark.parametrize(
    ("name", "value", "message", "help_"),
    [
        ("a", np.ones(4), "`f.a` of `inputs` is f64[4], not f32[4]", "`.astype(np.float32)` converts it"),
        ("ids", np.ones(4, np.int64), "`f.ids` of `inputs` is i64[4], not i32[4]", ".astype(np.int32)"),
        ("b", np.ones(2, np.float32), "is f32[2], not bf16[2]", ".astype(ml_dtypes.bfloat16)"),
        ("a", np.ones(3, np.float32), "`f.a` of `inputs` is f32[3], not f32[4]", ""),
        ("ids", np.ones(4), "`f.ids` of `inputs` is f64[4], not i32[4]", ""),
        ("a", np.ones(4, complex), "is complex128[4], not f32[4]", ""),
        ("s", 0.1, "`f.s` of `inputs` is 0.1, which f32 does not hold exactly", "`np.float32(…)` rounds it"),
        ("s", 2**24 + 1, "is 16777217, which f32 does not hold exactly", "rounds it"),
        ("n", 2**40, "is 1099511627776, which i32 does not hold exactly", ""),
        ("n", 1.5, "is f64[], not i32[]", ""),
        ("n", True, "is bool[], not i32[]", ""),
        ("t", 1, "is i64[], not bool[]", ""),
        ("s", 10**400, "is object[], not f32[]", ""),
    ],
)
def test_what_does_not_fit_says_what_would(
    plain: kina.Check, name: str, value: object, message: str, help_: str
) -> None:
    (finding,) = refused(plain, {**fine(), name: value})
    assert message in finding.message
    assert help_ in "".join(help_.message for help_ in finding.helps)
    assert bool(help_) == bool(finding.helps)


def test_numbers_fit_where_they_are_exact(plain: kina.Check) -> None:
    for value in (2, 2.0, np.float64(2), np.int8(2), np.asarray(2.0), np.float16(2)):
        assert plain.run({**fine(), "s": value})["exp#3"] == np.exp(np.float32(2))
        assert plain.run({**fine(), "n": value})["add"].tolist() == [2] * 4
    assert np.isnan(plain.run({**fine(), "s": float("nan")})["exp#3"])
    assert plain.run({**fine(), "a": np.ones(4, ">f4")}).ok


def test_arrays_without_numbers_are_named(plain: kina.Check) -> None:
    masked = np.ma.masked_array(fine()["a"], [0, 1, 0, 0])
    for value, message in (
        (fine()["a"].astype(object), r"`inputs\['a'\]` is an array of objects, not of numbers"),
        (np.array(["x"]), r"`inputs\['a'\]` is an array of strings, not of numbers"),
        (masked, r"`inputs\['a'\]` is a masked array, whose masked elements have no value"),
    ):
        with pytest.raises(kina.ArgumentError, match=message):
            plain.run({**fine(), "a": value})


def test_parts_of_the_same_elements_are_equal(plain: kina.Check) -> None:
    ids = np.arange(4, dtype=np.int32)
    given = {**fine(), "ids@0": ids, "ids@1": ids.copy()}
    del given["ids"]
    assert plain.run(given).ok
    message = (
        "`f.ids@1` of `inputs` differs from `f.ids@0` at [1]; both devices hold the same part of `f.ids`"
    )
    assert said(plain, {**given, "ids@1": ids * 2}) == message
    lost = np.full(4, np.nan, np.float32)
    pending = kina.check("(mesh (x 2))(defn f ((p (tensor f32 [4]) @pending(mesh=x, kind=sum))) (exp p))")
    assert pending.run({"p@0": lost, "p@1": np.ones(4, np.float32)}).ok
    grid = "(mesh (x 2) (y 2))(defn f ((p (tensor f32 [4]) @pending(mesh=y, kind=sum))) (exp p))"
    parts = {f"p@{device}": np.full(4, device % 2, np.float32) for device in range(4)}
    assert kina.check(grid).run(parts).ok
    parts["p@3"] += 1
    assert "`f.p@3` of `inputs` differs from `f.p@1` at [0]" in said(kina.check(grid), parts)


def test_parts_of_a_result_that_lies_otherwise_are_put_together(train: kina.Check) -> None:
    ports = signature(read_module(Source("t.mlir", train.compile())))
    number = ports.carries[0]
    moved = replace(
        ports.results[number],
        layout=(("x",), ()),
        type=replace(ports.results[number].type, shape=(4, 4)),
    )
    results = tuple(moved if index == number else port for index, port in enumerate(ports.results))
    changed, whole = replace(ports, results=results), data()["w"]
    given = {"train.w.next@0": whole[:4], "train.w.next@1": whole[4:], "a": data()["a"]}
    found = from_arrays(given, changed, (0, 1), Origin("inputs", "arrays"))
    np.testing.assert_array_equal(found[0], whole)  # type: ignore[arg-type]
    del given["train.w.next@1"]
    with pytest.raises(kina.ProgramError, match=r"has no array `train\.w\.next@1`"):
        from_arrays(given, changed, (0, 1), Origin("inputs", "arrays"))


def test_a_result_that_is_returned_twice_has_two_names() -> None:
    text = "(mesh (x 2))(defn f ((a (tensor f32 [4]) @sharded(axis=0))) (let ((b (exp a))) (values b b)))"
    check = kina.check(text)
    assert list(check.run()) == ["f.b", "f.b#1"]
    assert check.run({"a": fine()["a"], "f.b#1": fine()["a"], "f.b@0": fine()["a"]}).ok


@pytest.mark.parametrize("returned", ["w", "x"])
def test_a_program_that_returns_what_it_is_given_restarts(returned: str) -> None:
    text = f"(mesh (x 2)) (defn f ((w {T}) (x {T})) (values {returned} (carry w (add w x))))"
    check, state = kina.check(text), {"w": ONES}
    for _ in range(3):
        state = {**check.run({**state, "x": ONES})}
    assert np.array_equal(state["f.w.next"], check.run({"w": ONES, "x": ONES}, steps=3)["f.w.next"])
    # what is given besides goes before what was returned
    assert np.array_equal(check.run({**state, "x": 2 * ONES})["f.w.next"], state["f.w.next"] + 2)


def test_first_values_are_exact() -> None:
    largest = 2**63 - 1
    text = f"(mesh (x 2)) (defn f ((t (tensor i64 [2]))) (carry t (add t 1) :first {largest - 1}))"
    assert kina.check(text).run()["t.next"].tolist() == [largest, largest]


def test_a_file_with_two_arrays_of_one_name_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "twice.npz"
    np.savez(place, a=ONES)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(place, "a") as archive:
        archive.writestr("a.npy", b"")
    with pytest.raises(kina.SetupError, match="two arrays `a`"):
        read_npz(str(place))


@pytest.mark.parametrize("kind", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED])
def test_damaged_archives_are_no_archives(kind: int, tmp_path: Path) -> None:
    place = tmp_path / "damaged.npz"
    with zipfile.ZipFile(place, "w", kind) as archive:
        archive.writestr("a.npy", bytes(range(256)) * 40)
    data = bytearray(place.read_bytes())
    data[60:90] = bytes(30)
    place.write_bytes(data)
    with pytest.raises(kina.SetupError):
        read_npz(str(place))
