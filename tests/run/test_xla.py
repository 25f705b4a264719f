"""Runs on the devices of XLA: in one process, and in two that share a mesh over loopback."""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kina.diagnostics.finding import ProgramError
from kina.mlir.reader import read_module
from kina.run import xla
from kina.run.given import Given, Origin, from_arrays
from kina.run.inputs import Draw, read_npz
from kina.run.ports import Signature, signature
from kina.run.session import Session
from kina.run.xla import XlaOptions
from kina.sim.dtypes import Array
from kina.source import Source
from tests import readme
from tests.command import ROOT, kina_command
from tests.run.pipeline import Compiled, compiled
from tests.run.test_examples import SMALL

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not here")

#: Seconds after which processes that wait for each other are taken to hang.
LIMIT = 120

#: A parameter is carried in its layout; parts of a pending sum come in. All three values are compared.
TRAIN = """\
(mesh (x 2) (y 2))
(defn loss (w a p) (mean (multiply (matmul a w) (matmul p w))))
(defn train ((w (tensor f32 [8 4]) @sharded(axis=1, mesh=y))
             (a (tensor f32 [4 8]) @sharded(axis=0, mesh=x))
             (p (tensor f32 [4 8]) @pending(mesh=x, kind=sum)))
  (train_step (loss w a p) sgd :frozen [a p]))
"""
#: Results that are left pending over devices of both processes, and types that are added in their own way.
PENDING = """\
(mesh (x 2) (y 2))
(defn f ((p (tensor bf16 [4 2]) @pending(mesh=x, kind=sum))
           (b (tensor bool [4]) @sharded(axis=0, mesh=x)) (c (tensor f32 [4]) @sharded(axis=0, mesh=x)))
  (values (@ (multiply p 3) @pending(mesh=x, kind=sum)) (not b) (@ (sum (exp c)) @pending(mesh=x, kind=sum))))
"""

#: A bare module whose carried result has another layout than the argument, and comes from other devices.
MOVED = """\
module attributes {
    mhlo.num_partitions = 4 : i32, kina.mesh = [["x", 4 : i64]], kina.carries = [[0 : i64, 0 : i64]]} {
  func.func public @main(%x: tensor<2x8xi32> {mhlo.sharding = "{manual}", kina.layout = {
      name = "x", shape = array<i64: 8, 8>, axes = [["x"], []], pending = []}})
      -> (tensor<8x2xi32> {mhlo.sharding = "{manual}", kina.layout = {
      name = "y", shape = array<i64: 8, 8>, axes = [[], ["x"]], pending = []}}) {
    %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x8xi32>) -> tensor<8x2xi32>
    return %y : tensor<8x2xi32>
  }
}
"""


def in_xla(made: Compiled, steps: int) -> list[str]:
    """What differs from one device, in words."""
    ports = signature(made.module)
    with xla.executor(made.module, ports, XlaOptions("cpu")) as executor:
        run = Session(ports, executor, Draw(3), steps, None, made.program)
        run.run(lambda _: None)
    assert len(run.reports) == steps
    return [finding.message for report in run.reports for finding in report.findings]


def equals_one_device(path: Path) -> None:
    made = compiled(path.read_text(), name=path.name)
    if isinstance(made, Compiled):
        assert in_xla(made, 2 if made.program.carries else 1) == []


@needs_jax
@pytest.mark.parametrize("name", ["gpt_train_fsdp"])
def test_an_example_equals_one_device(name: str) -> None:
    equals_one_device(ROOT / "examples" / f"{name}.kina")


@needs_jax
@pytest.mark.deep
@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_example_equals_one_device(path: Path) -> None:
    if path.stem == "scatter_over_the_end":
        pytest.skip("XLA leaves out whole windows, see docs/limits.md")
    equals_one_device(path)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def two_processes(*arguments: str, folder: Path) -> list[subprocess.CompletedProcess[str]]:
    """`kina run ARGUMENTS` in two processes that share a mesh."""
    place = ("--engine", "xla", "--platform", "cpu", "--coordinator", f"127.0.0.1:{free_port()}")
    started = [
        subprocess.Popen(
            [
                sys.executable,
                "-m",
                "kina",
                "run",
                *arguments,
                *place,
                "--processes",
                "2",
                "--process",
                number,
            ],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for number in ("0", "1")
    ]
    try:
        said = [process.communicate(timeout=LIMIT) for process in started]
    finally:
        for process in started:
            process.kill()
    return [
        subprocess.CompletedProcess(process.args, process.returncode, *pair)
        for process, pair in zip(started, said, strict=True)
    ]


def npz(path: Path) -> dict[str, Array]:
    with np.load(path, allow_pickle=False) as data:
        return {name: data[name] for name in data.files}


@needs_jax
@pytest.mark.parametrize(
    ("program", "steps", "results"), [(TRAIN, 2, 4), pytest.param(PENDING, 1, 3, marks=pytest.mark.deep)]
)
def test_two_processes_give_what_one_gives(tmp_path: Path, program: str, steps: int, results: int) -> None:
    (tmp_path / "f.kina").write_text(program)
    whole = ("f.kina", "--steps", str(steps), "--outputs", "out.npz", "--per-device")
    alone = kina_command("run", *whole, "--engine", "xla", "--platform", "cpu", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    for number, done in enumerate(two_processes(*whole, "--verify", folder=tmp_path)):
        assert done.returncode == 0, done.stderr
        assert f"process {number} of 2 has {2 * number}, {2 * number + 1}" in done.stdout
        assert f"all {results} results equal" in done.stdout
    parts = [npz(tmp_path / f"out.{number}.npz") for number in (0, 1)]
    one = npz(tmp_path / "out.npz")
    # each process writes its own parts, and nothing else
    assert all(name.endswith(("@0", "@1")) for name in parts[0])
    assert all(name.endswith(("@2", "@3")) for name in parts[1])
    assert set(one) == set(parts[0]) | set(parts[1])
    for name, array in (parts[0] | parts[1]).items():
        np.testing.assert_array_equal(one[name], array, err_msg=name)


@needs_jax
def test_each_process_reads_its_parts_and_moves_what_is_carried(tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(MOVED)
    whole = np.arange(64, dtype=np.int32).reshape(8, 8)
    np.savez(tmp_path / "in.npz", x=whole)
    given = ("m.mlir", "--inputs", "in.npz", "--steps", "2", "--outputs", "out.npz")
    done = two_processes(*given, folder=tmp_path)
    assert [each.returncode for each in done] == [0, 0], done[0].stderr + done[1].stderr
    parts = npz(tmp_path / "out.0.npz") | npz(tmp_path / "out.1.npz")
    again = np.concatenate([parts[f"y@{device}"] for device in range(4)], axis=1)
    np.testing.assert_array_equal(again, whole)


def read_parts(path: Path, ports: Signature, devices: tuple[int, ...]) -> list[Given]:
    return from_arrays(read_npz(str(path), True), ports, devices, Origin(path.name, "arrays in the file"))


def test_parts_are_read_from_a_file_and_others_are_not_missed(tmp_path: Path) -> None:
    module = read_module(Source("m.mlir", MOVED))
    ports, whole = signature(module), np.arange(64, dtype=np.int32).reshape(8, 8)
    np.savez(tmp_path / "parts.npz", **{"x@2": whole[4:6], "x@3": whole[6:8]})
    np.savez(tmp_path / "whole.npz", x=whole)
    np.savez_compressed(tmp_path / "small.npz", x=whole)
    (parts,) = read_parts(tmp_path / "parts.npz", ports, (2, 3))
    assert isinstance(parts, dict)
    np.testing.assert_array_equal(np.concatenate([parts[2], parts[3]]), whole[4:])
    for name in ("whole", "small"):
        (found,) = read_parts(tmp_path / f"{name}.npz", ports, (2, 3))
        assert isinstance(found, np.memmap) == (name == "whole")
        np.testing.assert_array_equal(found, whole)
    with pytest.raises(ProgramError) as caught:
        read_parts(tmp_path / "parts.npz", ports, (1, 2))
    assert "has no array `x@1`" in caught.value.findings[0].message


@needs_jax
def test_no_device_sees_more_than_a_part(tmp_path: Path) -> None:
    """Asked of jax itself, in a child: the buffers of every device, and the program that gathers."""
    (tmp_path / "check.py").write_text(
        "import numpy as np\n"
        "from kina.run.xla_devices import begin\n"
        "from kina.run.xla_child import Served, _one_part\n"
        f"text = {MOVED!r}\n"
        "served = Served(begin([4], 'cpu'))\n"
        "served.answer({'do': 'compile', 'module': text}, [])\n"
        "import jax\n"
        "parts = [np.full((2, 8), n, np.int32) for n in range(4)]\n"
        "served.answer({'do': 'put', 'argument': 0, 'parts': [0, 1, 2, 3]}, parts)\n"
        "served.answer({'do': 'run'}, [])\n"
        "sizes = [p.data.nbytes for a in jax.live_arrays() for p in a.addressable_shards]\n"
        "assert sizes and max(sizes) == 64, sizes\n"
        "joined = jax.make_array_from_single_device_arrays((4, 8, 2), served._sharding('device'),\n"
        "    [part[None] for part in served.results[0].values()])\n"
        "text = jax.jit(_one_part, out_shardings=served._sharding()).lower(joined, 2).compile().as_text()\n"
        "assert 'all-reduce' in text and 'all-gather' not in text, text\n"
        "assert np.array_equal(served._gathered(served.results[0], 2), np.full((8, 2), 2))\n"
    )
    done = subprocess.run(
        [sys.executable, "check.py"], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@needs_jax
def test_the_document_shows_what_is_printed(tmp_path: Path) -> None:
    (tmp_path / "start.kina").write_text(readme.block("kina", readme.FILE.read_text())[1])
    shown = readme.block("console", (ROOT / "docs" / "xla.md").read_text())[1]
    command, *lines = shown.splitlines()
    done = kina_command(*command.removeprefix("$ kina ").split(), cwd=tmp_path)
    pattern = "\n".join(re.escape(line).replace("…", ".*") for line in lines)
    assert re.match(pattern, done.stdout), done.stdout
