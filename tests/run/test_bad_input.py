"""What `kina run` is given that cannot be run: an exit code, a place, and nothing left behind."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.command import kina_command

TRAIN = """\
(mesh (x 2))
(defn loss (w a) (mean (multiply (matmul a w) (matmul a w))))
(defn train ((w (tensor f32 [8 4]) @sharded(axis=1)) (a (tensor f32 [4 8])))
  (train_step (loss w a) sgd :frozen a))
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A compiled training step."""
    folder = tmp_path_factory.mktemp("bad")
    (folder / "t.kina").write_text(TRAIN)
    done = kina_command("compile", str(folder / "t.kina"), "-o", str(folder / "t.mlir"))
    assert done.returncode == 0, done.stderr
    return (folder / "t.mlir").read_text()


def refused(folder: Path, name: str, *arguments: str) -> str:
    """The findings of a run that exits with 1; it prints no traceback and writes no file."""
    before = sorted(file.name for file in folder.iterdir())
    (folder / "tmp").mkdir()
    done = kina_command(
        "run",
        name,
        "--outputs",
        "o.npz",
        "--trace",
        "t.json",
        *arguments,
        cwd=folder,
        TMPDIR=str(folder / "tmp"),
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert list((folder / "tmp").iterdir()) == []
    assert sorted(file.name for file in folder.iterdir()) == sorted([*before, "tmp"])
    return done.stderr


def first_line(text: str, pattern: str) -> tuple[str, int]:
    """The first line of the text that the pattern matches, and its number."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(pattern, line):
            return line, number
    raise AssertionError(f"nothing matches {pattern}")


def test_a_module_that_breaks_off(module: str, tmp_path: Path) -> None:
    for share in (0.3, 0.7, 0.99):
        folder = tmp_path / f"{share}"
        folder.mkdir()
        cut = module[: int(len(module) * share)]
        (folder / "m.mlir").write_text(cut)
        said = refused(folder, "m.mlir")
        assert re.search(r"error\[K60\d\]", said)
        # at the end, or in the op that is not complete any more
        (line,) = re.findall(r"m\.mlir:(\d+):\d+", said)[:1]
        assert len(cut.splitlines()) - int(line) <= 2


@pytest.mark.parametrize(
    ("pattern", "old", "new", "code"),
    [
        # one more row in a type than the value has
        (
            r"= stablehlo\.dot_general .*-> tensor<4x2xf32>",
            "tensor<4x8xf32>",
            "tensor<5x8xf32>",
            "K606",
        ),
        (r"stablehlo\.multiply .* : tensor<4x2xf32>", "tensor<4x2xf32>", "tensor<4x2xf64>", "K606"),
        (r"= stablehlo\.dot_general %", "dot_general %", "dot_general %nowhere", "K604"),
        (r"= stablehlo\.dot_general", "dot_general", "frobnicate", "K602"),
        (r"replica_groups = dense<\[\[0, ?1\]\]>", "1]]", "0]]", "K610"),
        (r"replica_groups = dense<\[\[0, ?1\]\]>", "1]]", "7]]", "K610"),
    ],
)
def test_a_module_that_is_wrong(
    module: str, tmp_path: Path, pattern: str, old: str, new: str, code: str
) -> None:
    line, number = first_line(module, pattern)
    (tmp_path / "m.mlir").write_text(module.replace(line, line.replace(old, new, 1), 1))
    said = refused(tmp_path, "m.mlir")
    assert f"error[{code}]" in said
    assert f"m.mlir:{number}:" in said


def test_a_value_that_is_defined_twice(module: str, tmp_path: Path) -> None:
    line, number = first_line(module, r"= stablehlo\.dot_general ")
    (tmp_path / "m.mlir").write_text(module.replace(line, f"{line}\n{line}", 1))
    said = refused(tmp_path, "m.mlir")
    assert "error[K605]" in said
    assert f"m.mlir:{number + 1}:" in said


def test_a_module_for_more_devices_than_its_groups(module: str, tmp_path: Path) -> None:
    more = module.replace("mhlo.num_partitions = 2", "mhlo.num_partitions = 4")
    assert more != module
    (tmp_path / "m.mlir").write_text(more)
    assert re.search(r"error\[K(610|709)\]", refused(tmp_path, "m.mlir"))
    (tmp_path / "n.mlir").write_text(module)
    done = kina_command("run", str(tmp_path / "n.mlir"), "--devices", "4")
    assert (done.returncode, done.stdout) == (2, "")
    assert "`--devices 4` contradicts the mesh, which has 2 devices" in done.stderr


def test_arrays_that_are_missing_or_of_another_shape(tmp_path: Path) -> None:
    (tmp_path / "t.kina").write_text(TRAIN)
    np.savez(tmp_path / "in.npz", w=np.ones((4, 8), np.float32), b=np.ones(1))
    said = " ".join(refused(tmp_path, "t.kina", "--inputs", str(tmp_path / "in.npz")).split())
    assert "is f32[4,8], not f32[8,4]" in said
    assert "has no array `train.a`" in said
    assert "has an array `b`, which is no argument" in said
    assert "t.kina:3:" in said


def test_a_file_that_is_no_npz(tmp_path: Path) -> None:
    (tmp_path / "t.kina").write_text(TRAIN)
    with zipfile.ZipFile(tmp_path / "text.npz", "w") as archive:
        archive.writestr("a.npy", "no array")
    np.savez(tmp_path / "cut.npz", w=np.ones((8, 4), np.float32))
    damaged = (tmp_path / "cut.npz").read_bytes().replace(b"\x93NUMPY", b"\x93NUMBY")
    others = ((tmp_path / "text.npz").read_bytes(), damaged)
    for content in (b"", b"PK\x03\x04 and then nothing", b"\x93NUMPY", b"some words\n", *others):
        (tmp_path / "in.npz").write_bytes(content)
        done = kina_command("run", str(tmp_path / "t.kina"), "--inputs", str(tmp_path / "in.npz"))
        assert (done.returncode, done.stdout) == (2, "")
        assert "in.npz` is no `.npz` file of arrays\n  = help: `numpy.savez` writes one" in done.stderr
        assert "pickle" not in done.stderr
        assert "Traceback" not in done.stderr


def test_a_file_with_an_array_of_objects(tmp_path: Path) -> None:
    (tmp_path / "t.kina").write_text(TRAIN)
    np.savez(tmp_path / "in.npz", w=np.array([None, 1]))
    done = kina_command("run", "t.kina", "--inputs", "in.npz", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`w` of `in.npz` is an array of objects, not of numbers" in done.stderr
    assert "pickle" not in done.stderr


def test_memory_that_is_not_there_is_said_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "t.kina").write_text(
        "(mesh (x 2))\n(defn f ((a (tensor f32 [2000000 1000000]) @sharded(axis=0))) (exp a))\n"
    )
    said = refused(tmp_path, "t.kina")
    assert "error[K707]: 2 devices need about 16,000,000,000,000 bytes, 8,000,000,000,000 each" in said
    assert "t.kina:2:1" in said


def test_numbers_that_both_runs_lose_are_said(tmp_path: Path) -> None:
    (tmp_path / "t.kina").write_text(TRAIN)
    weights = np.ones((8, 4), np.float32)
    weights[3, 1] = np.nan
    np.savez(tmp_path / "in.npz", w=weights, a=np.ones((4, 8), np.float32))
    arguments = ("--inputs", str(tmp_path / "in.npz"), "--verify", "--steps", "2")
    done = kina_command("run", str(tmp_path / "t.kina"), *arguments)
    assert done.returncode == 0, done.stderr
    # the column of the gradient that the element is in, and so of the weights of the next step
    for name, said in (("train.loss", "1 element is"), ("train.w.next", "8 elements are")):
        assert f"`{name}`: {said} NaN in both runs, from step 1 on, which counts as equal" in done.stdout
