"""How long `kina check` takes as a whole process, start included, from no work at all to 96 layers."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Measured, measure, show

#: Rows that take no more than a second.
SMALL = ("ten lines", "one layer")
KINA = (sys.executable, "-m", "kina")


def chain(length: int) -> str:
    """A program of `length` elementwise ops in a row."""
    lines = ["(mesh (x 4))", "(defn f ((a0 (tensor f32 [64 64]) @sharded(axis=0)))", "  (let ("]
    lines += [f"    (a{i + 1} (exp a{i}))" for i in range(length)]
    return "\n".join([*lines, f"  ) a{length}))"]) + "\n"


def wide(operands: int) -> str:
    """A concatenate of `operands` parameters, the first of which is split."""
    names = [f"x{number}" for number in range(operands)]
    parameters = [f"({name} (tensor f32 [4 8]))" for name in names]
    parameters[0] = f"({names[0]} (tensor f32 [4 8]) @sharded(axis=0))"
    body = f"(concatenate {' '.join(names)} :dimension 1)"
    return "(mesh (x 4))\n(defn f (" + "\n         ".join(parameters) + f")\n  {body})\n"


def many_dims() -> str:
    """Two tensors of 12 dims, one split by four axes on its last dim, the other transposed."""
    shape = " ".join(["16"] * 12)
    axes = " ".join(f"({axis} 2)" for axis in "abcd")
    return (
        f"(mesh {axes})\n(defn f ((x (tensor f32 [{shape}]) @sharded(axis=11, mesh=(a,b,c,d)))\n"
        f"         (y (tensor f32 [{shape}])))\n"
        "  (add (transpose x :permutation [11 10 9 8 7 6 5 4 3 2 1 0]) (exp y)))\n"
    )


def layers(example: str, written: str, number: int) -> str:
    """An example with another number of layers than is `written` in it."""
    text = Path(f"examples/{example}.kina").read_text(encoding="utf-8")
    start, _, _ = written.partition("#")
    if text.count(start) != 1:
        raise SystemExit(f"{example}.kina does not say `{start}` once")
    head, tail = text.split(start)
    return head + written.replace("#", str(number), 1) + tail.lstrip("0123456789")


def sources() -> dict[str, str]:
    """The programs by the name of their row."""
    forward, training = ("gpt_96", "(define layers #"), ("gpt_train_tensor", "(repeat (layer i #")
    return {
        "ten lines": Path("examples/mlp.kina").read_text(encoding="utf-8"),
        "one layer": Path("examples/megatron.kina").read_text(encoding="utf-8"),
        "12 layers forward": layers(*forward, 12),
        "96 layers forward": layers(*forward, 96),
        "12 layers training": layers(*training, 12),
        "96 layers training": layers(*training, 96),
        "chain of 5,000 ops": chain(5000),
        "12 dims on 4 axes": many_dims(),
        "concatenate of 2,000": wide(2000),
    }


@contextmanager
def programs() -> Iterator[dict[str, str]]:
    """Files to check, by the name of their row."""
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for name, text in sources().items():
            file = Path(folder) / f"{name.replace(' ', '-').replace(',', '')}.kina"
            file.write_text(text, encoding="utf-8")
            files[name] = str(file)
        yield files


def growth(rows: list[Measured], few: str, many: str) -> Iterator[str]:
    """How many times longer `many` takes than `few`, a line for each engine."""
    seconds = {(row.name, row.engine): row.seconds for row in rows}
    for name, engine in seconds:
        if name == few:
            times = seconds[many, engine] / seconds[few, engine]
            yield f"{few} -> {many}, {engine}: {times:.1f}-fold"


def small_runs() -> Iterator[Measured]:
    """A training step of one layer: written as a module, and run."""
    example = "examples/gpt_train_tensor.kina"
    with tempfile.TemporaryDirectory() as folder:
        yield measure("compile", "", [*KINA, "compile", example, "-o", f"{folder}/m.mlir"], 5)
    yield measure("run", "sim", [*KINA, "run", example], 5)


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table; the first run of each row, which may fill the cache, is not the fastest."""
    parser = argparse.ArgumentParser(prog="python -m bench startup", description=__doc__)
    parser.add_argument("--small", action="store_true", help="programs of one layer at most")
    small = parser.parse_args(arguments).small
    from kina.datalog.souffle_engine import find_souffle

    engines = ["clingo"] + (["souffle"] if find_souffle() is not None else [])
    rows: list[Measured] = [measure("--version", "", [*KINA, "--version"], 7), *small_runs()]
    with programs() as files:
        for name, file in files.items():
            if small and name not in SMALL:
                continue
            for engine in engines:
                command = [*KINA, "check", file, "--solver", engine, "--format", "json"]
                rows.append(measure(name, engine, command, 2 if "96" in name else 5))
    notes = (
        []
        if small
        else [
            line
            for kind in ("forward", "training")
            for line in growth(rows, f"12 layers {kind}", f"96 layers {kind}")
        ]
    )
    show("startup", "whole processes, kina check unless another command is named", rows, notes)
