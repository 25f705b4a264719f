"""`kina compile` and `kina run` as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.command import kina_command

PROGRAM = """\
(mesh (x 2))
(defn f ((a (tensor f32 [4 6]) @sharded(axis=0)) (ids (tensor i32 [4]))
         (p (tensor f32 [3]) @pending(mesh=x, kind=sum)))
  (values (sum (take a ids) [0]) (multiply a 2) (multiply p 3)))
"""
TRAIN = """\
(mesh (x 2))
(defn loss (w a) (mean (multiply (matmul a w) (matmul a w))))
(defn train ((w (tensor f32 [8 4]) @sharded(axis=1)) (a (tensor f32 [4 8])))
  (train_step (loss w a) sgd :frozen a))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "f.kina"
    path.write_text(PROGRAM)
    return path


def test_a_program_runs_as_one_device_does(program: Path) -> None:
    done = kina_command("run", str(program), "--verify")
    assert done.returncode == 0, done.stderr
    assert "memory estimate" in done.stdout
    assert "compared with one device: all 3 results equal" in done.stdout
    assert "tolerance: f32 0.0002" in done.stdout


def test_json_has_everything(program: Path) -> None:
    done = kina_command("run", str(program), "--verify", "--format", "json")
    out = json.loads(done.stdout)
    assert out["ok"]
    assert out["verified"]
    assert out["mesh"] == [{"axis": "x", "size": 2}]
    assert [row["name"] for row in out["results"]][1] == "f.multiply"
    assert {row["kind"] for row in out["collectives"]}
    assert done.stderr == ""


def test_a_compiled_module_gives_the_same_as_the_program(program: Path, tmp_path: Path) -> None:
    module = tmp_path / "f.mlir"
    assert kina_command("compile", str(program), "-o", str(module)).returncode == 0
    one, two = tmp_path / "1.npz", tmp_path / "2.npz"
    assert kina_command("run", str(program), "--seed", "5", "--outputs", str(one)).returncode == 0
    assert kina_command("run", str(module), "--seed", "5", "--outputs", str(two)).returncode == 0
    with np.load(one) as first, np.load(two) as second:
        assert set(first.files) == set(second.files)
        for name in first.files:
            np.testing.assert_array_equal(first[name], second[name])


def test_inputs_come_from_a_file_and_parts_go_to_one(program: Path, tmp_path: Path) -> None:
    given = {"a": np.ones((4, 6), np.float32), "f.ids": np.zeros(4, np.int32), "p": np.ones(3, np.float32)}
    np.savez(tmp_path / "in.npz", **given)
    done = kina_command(
        "run",
        str(program),
        "--inputs",
        str(tmp_path / "in.npz"),
        "--outputs",
        str(tmp_path / "out.npz"),
        "--per-device",
    )
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as out:
        assert out["f.multiply@1"].shape == (2, 6)
        np.testing.assert_array_equal(out["f.sum@0"], np.full(6, 4, np.float32))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"a": None}, "has no array `f.a`"),
        ({"a": np.ones((4, 5), np.float32)}, "is f32[4,5], not f32[4,6]"),
        ({"a": np.ones((4, 6))}, "is f64[4,6], not f32[4,6]"),
        ({"b": np.ones(3)}, "has an array `b`, which is no argument"),
    ],
)
def test_arrays_that_do_not_fit_are_located(
    program: Path, tmp_path: Path, change: dict[str, np.ndarray | None], message: str
) -> None:
    given = {
        "a": np.ones((4, 6), np.float32),
        "ids": np.zeros(4, np.int32),
        "p": np.ones(3, np.float32),
    } | change
    np.savez(tmp_path / "in.npz", **{name: array for name, array in given.items() if array is not None})
    done = kina_command("run", str(program), "--inputs", str(tmp_path / "in.npz"))
    assert done.returncode == 1
    assert "error[K701]" in done.stderr
    assert message in " ".join(done.stderr.split())
    assert "f.kina:2:" in done.stderr


def test_nan_inputs_are_equal_and_it_is_said(program: Path, tmp_path: Path) -> None:
    a = np.ones((4, 6), np.float32)
    a[1, 1] = np.nan
    np.savez(tmp_path / "in.npz", a=a, ids=np.zeros(4, np.int32), p=np.ones(3, np.float32))
    done = kina_command("run", str(program), "--inputs", str(tmp_path / "in.npz"), "--verify")
    assert done.returncode == 0, done.stderr
    assert "`f.multiply`: 1 element is NaN in both runs, from step 1 on, which counts as equal" in done.stdout


def test_steps_carry_parameters_and_print_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.kina"
    path.write_text(TRAIN)
    done = kina_command("run", str(path), "--steps", "3", "--verify", "--trace", str(tmp_path / "t.json"))
    assert done.returncode == 0, done.stderr
    assert "step 3 of 3  train.loss" in done.stdout
    assert "and 1 that are carried to the next step" in done.stdout
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {event["tid"] for event in events} == {0, 1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--devices", "3"), "contradicts the mesh, which has 2 devices"),
        (("--inputs", "nowhere.npz"), "cannot be read"),
        (("--steps", "0"), "--steps"),
    ],
)
def test_the_surroundings_are_at_fault(program: Path, arguments: tuple[str, ...], message: str) -> None:
    done = kina_command("run", str(program), *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_a_module_cannot_be_compared(program: Path, tmp_path: Path) -> None:
    module = tmp_path / "f.mlir"
    kina_command("compile", str(program), "-o", str(module))
    done = kina_command("run", str(module), "--verify")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--verify`" in done.stderr


def test_a_program_with_a_conflict_is_not_compiled(tmp_path: Path) -> None:
    path = tmp_path / "c.kina"
    path.write_text(
        "(mesh (x 2))\n"
        "(defn f ((a (tensor f32 [4 4]) @sharded(axis=0)) (b (tensor f32 [4 4]) @sharded(axis=1)))\n"
        "  (add (exp a) (exp b)))\n"
    )
    done = kina_command("compile", str(path), "-o", str(tmp_path / "c.mlir"))
    assert done.returncode == 1
    assert "error[K201]" in done.stderr
    assert not (tmp_path / "c.mlir").exists()
    assert kina_command("run", str(path)).returncode == 1


def test_a_module_without_layouts_runs(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(
        "module attributes {mhlo.num_partitions = 2 : i32} {\n"
        "  func.func public @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "    %y = stablehlo.negate %x : tensor<2xf32>\n    return %y : tensor<2xf32>\n  }\n}\n"
    )
    np.savez(tmp_path / "in.npz", **{"x@0": np.float32([1, 2]), "x@1": np.float32([3, 4])})
    done = kina_command(
        "run",
        str(path),
        "--devices",
        "2",
        "--inputs",
        str(tmp_path / "in.npz"),
        "--outputs",
        str(tmp_path / "o.npz"),
    )
    assert done.returncode == 0, done.stderr
    assert "of unknown layout" in done.stdout
    with np.load(tmp_path / "o.npz") as out:
        assert out["result0@1"].tolist() == [-3, -4]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('axes = [["x"], []]', 'axes = [["z"], []]'),
        ('axes = [["x"], []]', 'axes = [["x"], ["x"]]'),
        ("array<i64: 4, 6>", "array<i64: 8, 6>"),
        ('[["x", 2 : i64]]', '[["x", 3 : i64]]'),
        ('["x", "sum"]', '["x", "mean"]'),
    ],
)
def test_layouts_that_contradict_the_module(program: Path, tmp_path: Path, old: str, new: str) -> None:
    module = tmp_path / "f.mlir"
    kina_command("compile", str(program), "-o", str(module))
    text = module.read_text()
    assert old in text
    module.write_text(text.replace(old, new, 1))
    done = kina_command("run", str(module))
    assert done.returncode == 1
    assert "error[K709]" in done.stderr
