"""How long `kina` takes as a whole process, start included, from no work at all to 96 layers."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.measure import Measured, measure, show

KINA = (sys.executable, "-m", "kina")


def chain(length: int) -> str:
    """A program of `length` elementwise ops in a row."""
    lines = ["(mesh (x 4))", "(defn f ((a0 (tensor f32 [64 64]) @sharded(axis=0)))", "  (let ("]
    lines += [f"    (a{i + 1} (exp a{i}))" for i in range(length)]
    return "\n".join([*lines, f"  ) a{length}))"]) + "\n"


def wide(operands: int) -> str:
    """A concatenate of `operands` slices of one parameter."""
    parts = " ".join(["x"] * operands)
    head = "(mesh (x 4))\n(defn f ((x (tensor f32 [4 8]) @sharded(axis=0)))\n  (concatenate "
    return f"{head}{parts} :dimension 1))\n"


def many_dims() -> str:
    """An op on tensors of 12 dims."""
    shape = " ".join(["2"] * 12)
    return f"(mesh (a 2) (b 2))\n(defn f ((x (tensor f32 [{shape}]) @sharded(axis=11, mesh=(a)))) (exp x))\n"


def repeated(layers: int) -> str:
    """The example of 96 layers with another number of them."""
    text = Path("examples/gpt_96.kina").read_text(encoding="utf-8")
    return text.replace("(define layers 96)", f"(define layers {layers})")


@contextmanager
def programs() -> Iterator[dict[str, str]]:
    """Files to check, by the name of their row."""
    with tempfile.TemporaryDirectory() as folder:
        made = {
            "12 layers": repeated(12),
            "chain of 5,000 ops": chain(5000),
            "concatenate of 2,000": wide(2000),
            "12 dims": many_dims(),
        }
        files = {"ten lines": "examples/mlp.kina", "one layer": "examples/megatron.kina"}
        for name, text in made.items():
            file = Path(folder) / f"{name.replace(' ', '-')}.kina"
            file.write_text(text, encoding="utf-8")
            files[name] = str(file)
        files["96 layers"] = "examples/gpt_96.kina"
        yield files


def main() -> None:
    """Print the table."""
    from kina.datalog.souffle_engine import find_souffle

    engines = ["clingo"] + (["souffle"] if find_souffle() is not None else [])
    rows: list[Measured] = [measure("--version", "", [*KINA, "--version"], 7)]
    with programs() as files:
        for name, file in files.items():
            for engine in engines:
                command = [*KINA, "check", file, "--solver", engine, "--format", "json"]
                rows.append(measure(name, engine, command, 1 if "96" in name else 3))
    show("startup: kina check, whole process", rows)
