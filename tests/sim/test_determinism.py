"""A training step on four devices has the same bits whenever its threads run."""

from __future__ import annotations

import hashlib
import threading
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kina.mlir.syntax import Op
from kina.run.inputs import Draw
from kina.run.ports import signature
from kina.run.shards import shard
from kina.sim.dtypes import Array
from kina.sim.faults import Faults
from kina.sim.prepare import Prepared, prepare
from kina.sim.run import RunOptions, run
from tests.run.pipeline import Compiled, compiled

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Far above what a run needs: who is not done by then waits for ever.
LIMIT = 120.0
#: All-reduces of activations; gathers and reduce-scatters of matrices.
PROGRAMS = ("gpt_train_tensor", "gpt_train_fsdp")


@cache
def step(program: str) -> tuple[Prepared, tuple[tuple[Array, ...], ...]]:
    """A compiled training step, and the inputs of each device."""
    path = EXAMPLES / f"{program}.kina"
    made = compiled(path.read_text(), name=path.name)
    assert isinstance(made, Compiled)
    ports, draw = signature(made.module), Draw(5)
    columns = [
        shard(ports.grid, port, draw.whole(port, 0, index), draw.generator(0, index))
        for index, port in enumerate(ports.arguments)
    ]
    return prepare(made.module), tuple(zip(*columns, strict=True))


def delays(seed: int) -> Faults:
    """Each device dawdles before a few of its steps, other ones each time."""
    rng = np.random.default_rng(seed)
    waits = np.where(rng.random((4, 997)) < 0.02, rng.random((4, 997)) * 0.002, 0.0)

    def delay(device: int, count: int, op: Op) -> float:
        return float(waits[device, count % 997])

    return Faults(delay=delay)


def digest(prepared: Prepared, rows: tuple[tuple[Array, ...], ...], faults: Faults | None) -> str:
    """A hash of every bit of every result on every device; fails if the run does not end."""
    found: list[str] = []

    def work() -> None:
        outputs = run(prepared, rows, RunOptions(faults=faults)).outputs
        sums = hashlib.sha256()
        for row in outputs:
            for array in row:
                sums.update(np.ascontiguousarray(array).tobytes())
        found.append(sums.hexdigest())

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LIMIT)
    assert found, "the run raised, or waits for ever"
    return found[0]


def assert_same_bits(program: str, seeds: range) -> None:
    prepared, rows = step(program)
    assert prepared.module.devices == 4
    expected = digest(prepared, rows, None)
    assert {digest(prepared, rows, delays(seed)) for seed in seeds} == {expected}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("kina-device")]


@pytest.mark.parametrize("program", PROGRAMS)
def test_twenty_runs_have_the_same_bits(program: str) -> None:
    assert_same_bits(program, range(20))


@pytest.mark.deep
@pytest.mark.parametrize("program", PROGRAMS)
def test_two_hundred_runs_have_the_same_bits(program: str) -> None:
    assert_same_bits(program, range(20, 220))
