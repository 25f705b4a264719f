"""What goes wrong while devices run, from the command line: an end, an exit code, and nothing left behind."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, kina_command

#: Seconds after which a process is taken to hang.
LIMIT = 60

REGION = (
    "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32> "
    "stablehlo.return %s : tensor<f32> })"
)


def all_reduce(name: str, channel: int, groups: str) -> str:
    return (
        f'{name} = "stablehlo.all_reduce"(%x) <{{'
        f"channel_handle = #stablehlo.channel_handle<handle = {channel}, type = 1>, "
        f"replica_groups = dense<{groups}> : tensor<2x2xi64>, use_global_device_ids}}> {REGION} "
        ": (tensor<4xf32>) -> tensor<4xf32>"
    )


def branching(first: str, second: str) -> str:
    """A module in which devices with an odd number take the first branch."""
    return f"""module attributes {{mhlo.num_partitions = 4 : i32}} {{
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
    %n = stablehlo.partition_id : tensor<ui32>
    %k = stablehlo.constant dense<1> : tensor<ui32>
    %o = stablehlo.and %n, %k : tensor<ui32>
    %c = stablehlo.compare EQ, %o, %k : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %y = "stablehlo.if"(%c) ({{
      {first}
    }}, {{
      {second}
    }}) : (tensor<i1>) -> tensor<4xf32>
    return %y : tensor<4xf32>
  }}
}}
"""


HALVES = "[[0, 1], [2, 3]]"
ONE = f"{all_reduce('%a', 1, HALVES)} stablehlo.return %a : tensor<4xf32>"
TWO = f"{all_reduce('%b', 2, HALVES)} stablehlo.return %b : tensor<4xf32>"


@pytest.mark.parametrize(
    ("first", "second", "code", "words"),
    [
        (ONE, TWO, "K702", ("device 0 calls `all_reduce`", "device 1")),
        (ONE, "stablehlo.return %x : tensor<4xf32>", "K703", ("waits in `all_reduce` for device",)),
    ],
)
def test_devices_that_part_are_named(
    tmp_path: Path, first: str, second: str, code: str, words: tuple[str, ...]
) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(branching(first, second))
    done = kina_command("run", str(path), "--format", "json")
    assert done.returncode == 1
    assert code in done.stdout
    assert all(word in done.stdout for word in words)
    done = kina_command("run", str(path), "--outputs", str(tmp_path / "o.npz"))
    assert done.returncode == 1
    assert f"error[{code}]" in done.stderr
    # the two members of a group may come to their collectives in either order
    assert any(f"m.mlir:{at}:" in done.stderr for at in (8, 10))
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["m.mlir"]


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """`kina run ARGUMENTS` in a process group of its own, after its first step."""
    temporary = folder / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "kina", "run", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("step 1 of"):
            return process
    raise AssertionError(process.communicate()[1])


def assert_ends(process: subprocess.Popen[str], number: int, folder: Path) -> None:
    """The signal ends the process, with the exit code of an interrupt, and nothing of it remains."""
    process.send_signal(number)
    try:
        _, errors = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    assert (process.returncode, errors) == (130, "kina: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # children would still be in the group
    assert sorted(file.name for file in folder.iterdir()) == ["tmp"]
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_a_run_that_is_killed_leaves_nothing(tmp_path: Path, number: int) -> None:
    example = str(ROOT / "examples" / "gpt_train_tensor.kina")
    places = ("--outputs", str(tmp_path / "o.npz"), "--trace", str(tmp_path / "t.json"))
    assert_ends(started(tmp_path, example, "--steps", "100000", *places), number, tmp_path)


@pytest.mark.deep
@pytest.mark.skipif(importlib.util.find_spec("jaxlib") is None, reason="jaxlib is not here")
def test_a_run_in_xla_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    example = str(ROOT / "examples" / "gpt_train_tensor.kina")
    process = started(tmp_path, example, "--steps", "100000", "--engine", "xla")
    assert_ends(process, signal.SIGTERM, tmp_path)
