"""What goes wrong around XLA, from the command line and inside: one message, an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina.diagnostics.finding import SetupError
from kina.run import xla
from kina.run.ports import signature
from kina.run.xla import XlaOptions
from kina.run.xla_ending import reason_in
from tests.command import kina_command
from tests.run.pipeline import Compiled, compiled
from tests.run.test_xla import MOVED, free_port, needs_jax


def test_the_end_of_a_process_is_told_in_its_own_words() -> None:
    log = (
        "W0102 10:00:00.1 7 a.cc:1] slow\nF1129 21:57:26.5 25337 client.h:80] Ending: another task died\n\n"
        "RPC: /x\n*** Check failure stack trace: ***\n    @     0x7f8d  absl::Flush()\n"
    )
    assert reason_in(log) == "Ending: another task died"
    assert reason_in("Traceback\nValueError: no\n") == "ValueError: no"
    assert reason_in("\n") == ""


@needs_jax
def test_processes_that_do_not_come() -> None:
    made = compiled("(mesh (x 2))\n(defn f ((a (tensor f32 [4]) @sharded(axis=0))) (exp a))\n")
    assert isinstance(made, Compiled)
    options = XlaOptions("cpu", f"127.0.0.1:{free_port()}", 2, 1, patience=1)
    with (
        pytest.raises(SetupError) as caught,
        xla.executor(made.module, signature(made.module), options),
    ):
        pass
    assert "do not meet at `127.0.0.1:" in caught.value.message
    assert "within 1 seconds; nothing answers there" in caught.value.message
    assert "has a number of its own" in caught.value.help


def test_without_jax_one_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    made = compiled("(mesh (x 2))\n(defn f ((a (tensor f32 [4]) @sharded(axis=0))) (exp a))\n")
    assert isinstance(made, Compiled)
    monkeypatch.setattr(xla.importlib.util, "find_spec", lambda _: None)
    with (
        pytest.raises(SetupError) as caught,
        xla.executor(made.module, signature(made.module), XlaOptions()),
    ):
        pass
    assert "needs jax, which is not installed" in str(caught.value)
    assert caught.value.help == "pip install 'kina[xla]'"


@needs_jax
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--platform", "cpu"), "--platform needs --engine xla"),
        (("--engine", "xla", "--platform", "tpu"), "jax has no devices of platform `tpu`"),
        (("--engine", "xla", "--trace", "t.json"), "--trace is about the simulated mesh"),
        (("--engine", "xla", "--process", "1"), "need --coordinator"),
        (("--engine", "xla", "--coordinator", "here"), "neither HOST:PORT nor auto"),
        (("--engine", "xla", "--coordinator", "h:1", "--processes", "2"), "needs --processes and --process"),
        (
            ("--engine", "xla", "--coordinator", "h:1", "--processes", "2", "--process", "2"),
            "--process 2 is not below --processes 2",
        ),
    ],
)
def test_surroundings_that_do_not_fit(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "m.mlir").write_text(MOVED)
    done = kina_command("run", "m.mlir", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in " ".join(done.stderr.split())


@needs_jax
def test_a_module_that_xla_refuses(tmp_path: Path) -> None:
    module = """\
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func public @main(%x: tensor<ui32>) -> tensor<ui32> {
    %n = stablehlo.partition_id : tensor<ui32>
    %y = stablehlo.add %x, %n : tensor<ui32>
    return %y : tensor<ui32>
  }
}
"""
    (tmp_path / "m.mlir").write_text(module)
    done = kina_command("run", "m.mlir", "--engine", "xla", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "XLA does not run the module: UNIMPLEMENTED" in done.stderr
