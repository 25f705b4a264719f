"""How long a training step takes: the simulator, XLA on the emitted module, XLA on the JAX program.

`python -m bench steps` takes the small GPT at 12 layers under each scheme, and the GPT of 110 million
parameters under tensor parallelism; `--model small` or `--model large` is one of them. Every engine is a
process of its own, so that its peak memory is known, and they take turns, so that what else the machine does
strikes all of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bench.collectives import kina
from bench.measure import ROOT, resident_mib
from bench.peers.results import markdown, save, spread
from bench.peers.run import Files, jax_environment, written
from bench.peers.schemes import LARGE, LARGE_SIZES, SCHEMES, Scheme, Sizes
from bench.plots import bars

#: Engine -> what it is.
ENGINES = {
    "sim": "Kina's simulator on the emitted module",
    "xla": "XLA on the same module",
    "jax": "XLA on the JAX program, as it partitions it by itself",
    "products": "the matrix products of the emitted module alone, by NumPy, a thread for each device",
}
#: How far losses may lie apart: sums in f32 in another order.
NEAR = 1e-4


@dataclass(frozen=True, slots=True)
class Row:
    """All steps of one engine after the one that warms up, and the peak of its process."""

    scheme: str
    model: str
    engine: str
    seconds: tuple[float, ...]
    processor: tuple[float, ...]
    loss: float
    memory_mib: float


def measured(sizes: Sizes, scheme: Scheme, model: str, rounds: int) -> list[Row]:
    """A row for each engine; stops if they do not agree on the loss."""
    with written(sizes, scheme) as files:
        emitted = files.kina.parent / "emitted.mlir"
        kina("compile", str(files.kina), "-o", str(emitted))
        rows = take_turns(files, emitted, scheme, model, rounds)
    losses = {row.engine: row.loss for row in rows if row.engine != "products"}
    first = losses["sim"]
    if any(not abs(loss - first) <= NEAR * abs(first) for loss in losses.values()):
        raise SystemExit(f"{scheme.title}: the engines compute different losses: {losses}")
    return rows


def take_turns(files: Files, emitted: Path, scheme: Scheme, model: str, rounds: int) -> list[Row]:
    """A row for each engine, whose steps alternate."""
    processes = {
        engine: subprocess.Popen(
            [sys.executable, "-m", "bench.peers.step", engine, str(emitted), str(files.stablehlo)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=jax_environment(scheme.devices),
        )
        for engine in ENGINES
    }
    turns = [{engine: asked(process) for engine, process in processes.items()} for _ in range(rounds + 1)]
    rows = []
    for engine, process in processes.items():
        assert process.stdin is not None
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        taken = [turn[engine] for turn in turns[1:]]
        rows.append(
            Row(
                scheme.name,
                model,
                engine,
                tuple(each[0] for each in taken),
                tuple(each[1] for each in taken),
                taken[-1][2],
                resident_mib(usage),
            )
        )
    return rows


def asked(process: subprocess.Popen[str]) -> tuple[float, float, float]:
    """Seconds, processor seconds and loss of a process's next step; no numbers if it has ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(BrokenPipeError):
        process.stdin.write("step\n")
        process.stdin.flush()
    words = process.stdout.readline().split() or ("nan", "nan", "nan")
    return float(words[0]), float(words[1]), float(words[2])


def table(rows: Sequence[Row]) -> str:
    """Seconds and memory of each engine, and the simulator's share of the others' time."""
    lines = [["one step", "engine", "seconds", "processor", "simulator takes", "MiB", "loss"]]
    sim = {(row.scheme, row.model): min(row.seconds) for row in rows if row.engine == "sim"}
    for row in rows:
        mine = sim[row.scheme, row.model]
        title = LARGE.title if row.scheme == LARGE.name else SCHEMES[row.scheme].title
        lines.append(
            [
                f"{row.model}, {title}" if row.engine == "sim" else "",
                row.engine,
                spread(row.seconds),
                f"{min(row.processor):.3f}",
                "" if row.engine == "sim" else f"{mine / min(row.seconds):.2f} of it",
                f"{row.memory_mib:,.0f}",
                "" if row.engine == "products" else f"{row.loss:.5f}",
            ]
        )
    meaning = "\n".join(f"- {engine}: {said}" for engine, said in ENGINES.items())
    return f"{markdown(lines)}\n\nThe fastest (median, slowest) of all steps.\n\n{meaning}\n"


def pictures(rows: Sequence[Row]) -> dict[str, str]:
    """Seconds of each engine, a picture for each model."""
    found = {}
    for model in dict.fromkeys(row.model for row in rows):
        groups: dict[str, dict[str, float]] = {}
        for row in rows:
            if row.model == model:
                groups.setdefault(row.scheme, {})[row.engine] = min(row.seconds)
        found[model.replace(" ", "-")] = bars(f"seconds of a step, {model}", groups)
    return found


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print the table, and leave it in `bench/results`."""
    parser = argparse.ArgumentParser(prog="python -m bench steps", description=__doc__)
    parser.add_argument("--model", choices=["small", "large", "both"], default="both")
    parser.add_argument("--schemes", default=",".join(SCHEMES), help="of the small model")
    parser.add_argument("--layers", type=int, default=12, help="of the small model")
    parser.add_argument(
        "--rounds", type=int, default=5, help="steps that count, for the large model at most 3"
    )
    values = parser.parse_args(arguments)
    rows: list[Row] = []
    if values.model != "large":
        for name in values.schemes.split(","):
            rows += measured(Sizes(values.layers), SCHEMES[name], f"{values.layers} layers", values.rounds)
    if values.model != "small":
        rows += measured(LARGE_SIZES, LARGE, "110 million parameters", min(values.rounds, 3))
    save("steps", rows, table(rows), pictures(rows))
