"""Execution in XLA, by a child process that compiles once and is asked for each step."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kina.diagnostics.finding import SetupError
from kina.mlir.syntax import Module
from kina.run.session import Execute, Executed
from kina.sim.dtypes import DTYPES, Array


@contextmanager
def executor(module: Module) -> Iterator[Execute]:
    """A function that runs the module on the devices' inputs; the child ends with the context.

    Raises SetupError if jax is not installed, or if XLA refuses the module or aborts.
    """
    if importlib.util.find_spec("jaxlib") is None or importlib.util.find_spec("jax") is None:
        raise SetupError("`--engine xla` needs jax, which is not installed", "pip install 'kina[xla]'")
    with tempfile.TemporaryDirectory(prefix="kina-xla-") as name:
        folder = Path(name)
        (folder / "module.mlir").write_text(module.source.text, encoding="utf-8")
        with (folder / "log").open("w+", encoding="utf-8", errors="replace") as log:
            child = subprocess.Popen(
                [sys.executable, "-m", "kina.run.xla_child", str(folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
            try:
                _answer(child, folder)
                yield lambda rows: _step(child, folder, module, rows)
            finally:
                child.kill()
                child.communicate()


def _answer(child: subprocess.Popen[str], folder: Path) -> str:
    """The child's next line; SetupError with the end of its log if it has none."""
    assert child.stdout is not None
    line = child.stdout.readline().strip()
    if line:
        return line
    child.wait()
    said = (folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise SetupError(
        f"XLA does not run the module: {said[-1][:300] if said else 'its process ended'}",
        "`--engine sim` says more about what is wrong with a module",
    )


def _step(
    child: subprocess.Popen[str], folder: Path, module: Module, rows: Sequence[Sequence[Array]]
) -> Executed:
    named = {f"{device}.{index}": x for device, row in enumerate(rows) for index, x in enumerate(row)}
    np.savez(folder / "inputs.npz", **named)  # type: ignore[arg-type]
    assert child.stdin is not None
    try:
        child.stdin.write("run\n")
        child.stdin.flush()
    except BrokenPipeError:
        _answer(child, folder)
    seconds = float(_answer(child, folder))
    types = module.main.result_types
    with np.load(folder / "outputs.npz", allow_pickle=False) as data:
        outputs = tuple(
            tuple(
                _typed(data[f"{device}.{index}"], DTYPES[type_.dtype]).reshape(type_.shape)
                for index, type_ in enumerate(types)
            )
            for device in range(module.devices)
        )
    return Executed(outputs, (), seconds)


def _typed(array: Array, dtype: np.dtype[np.generic]) -> Array:
    return array.view(dtype) if array.dtype.kind == "V" else array
