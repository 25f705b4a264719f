"""The simulator against XLA on CPU devices and the StableHLO interpreter; the reader against jaxlib."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kina.mlir.reader import read_module
from kina.mlir.syntax import Block, Dense
from kina.mlir.verify import verify
from kina.sim.blas import cores
from kina.sim.dtypes import Array
from kina.sim.kernels.constants import dense
from kina.sim.run import run
from kina.source import Source
from tests.oracle.cases import CASES, Case

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jaxlib") is None,
    reason="jaxlib is not here: XLA AND THE INTERPRETER WERE NOT ASKED",
)

#: The interpreter runs as many devices at once as there are cores, and gives up if more of them must meet.
SHIM = """
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  memset(set, 0, size);
  for (int i = 0; i < 16; i++) CPU_SET(i, set);
  return 0;
}
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the text and the inputs of each case."""
    folder = tmp_path_factory.mktemp("oracle")
    for number, case in enumerate(CASES):
        base = folder / f"{number:03}"
        base.with_suffix(".mlir").write_text(case.text)
        arrays = {f"{d}.{i}": x for d, row in enumerate(case.inputs()) for i, x in enumerate(row)}
        np.savez(base.with_suffix(".in.npz"), **arrays)
    return folder


def ask(engine: str, folder: Path, environment: dict[str, str]) -> Path:
    """Let an engine answer all cases; it is started again behind a case that aborts it."""
    child = Path(__file__).with_name("child.py")
    for _ in CASES:
        done = subprocess.run(
            [sys.executable, str(child), engine, str(folder)],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env=os.environ | environment,
        )
        with (folder / f"{engine}.log").open("a") as log:
            log.write(done.stderr)
        if done.returncode == 0:
            break
    return folder


@pytest.fixture(scope="session")
def xla(folder: Path) -> Path:
    return ask("xla", folder, {})


@pytest.fixture(scope="session")
def printed(folder: Path) -> Path:
    return ask("print", folder, {})


@pytest.fixture(scope="session")
def interpreter(folder: Path) -> Path:
    if cores() >= 4:
        return ask("interpreter", folder, {})
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("fewer than 4 cores and no C compiler: THE INTERPRETER WAS NOT ASKED")
    source, library = folder / "shim.c", folder / "shim.so"
    source.write_text(SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60)
    return ask("interpreter", folder, {"LD_PRELOAD": str(library)})


def simulated(case: Case) -> list[list[Array]]:
    module = read_module(Source(case.name, case.text))
    verify(module)
    return [list(row) for row in run(module, case.inputs()).outputs]


def plain(block: Block) -> list[object]:
    """Everything about the ops of a block but how numbers of constants are spelled."""

    def value(x: object) -> object:
        return (x.type, dense(x.text, x.type.dtype, x.type.shape).tobytes()) if isinstance(x, Dense) else x

    return [
        (
            op.kind,
            op.operands,
            op.results,
            [(n, value(x)) for n, x in op.attributes],
            [plain(r) for r in op.regions],
        )
        for op in block.ops
    ]


def tolerance(dtype: np.dtype) -> float:
    return {"f": 2e-5 if dtype.itemsize == 4 else 1e-12}.get(dtype.kind, 0.0)


@pytest.mark.parametrize("engine", ["xla", "interpreter"])
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_simulator_agrees_with(number: int, engine: str, request: pytest.FixtureRequest) -> None:
    case = CASES[number]
    if engine in case.without:
        pytest.skip("implementation-defined, and this engine differs")
    answers: Path = request.getfixturevalue(engine)
    failed = answers / f"{number:03}.{engine}.err"
    assert not failed.exists(), failed.read_text()
    result = answers / f"{number:03}.{engine}.npz"
    assert result.exists(), (answers / f"{engine}.log").read_text()[-2000:]
    ours = simulated(case)
    with np.load(result) as theirs:
        for device, row in enumerate(ours):
            for index, value in enumerate(row):
                other = theirs[f"{device}.{index}"]
                bound = tolerance(value.dtype) if case.name != "bf16_arithmetic" else 1e-2
                np.testing.assert_allclose(
                    value, other.reshape(value.shape), rtol=bound, atol=bound, strict=True
                )


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
def test_reader_agrees_with_jaxlib(number: int, printed: Path) -> None:
    generic = printed / f"{number:03}.generic"
    failed = printed / f"{number:03}.print.err"
    assert not failed.exists(), failed.read_text()
    ours = read_module(Source("ours", CASES[number].text))
    for form in ("generic", "pretty"):
        text = generic.with_suffix(f".{form}").read_text()
        theirs = read_module(Source(form, text))
        verify(theirs)
        assert [plain(f.body) for f in theirs.functions] == [plain(f.body) for f in ours.functions]
        assert [[v.type for v in f.values] for f in theirs.functions] == [
            [v.type for v in f.values] for f in ours.functions
        ]
