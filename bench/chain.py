"""A chain that MLIR's `shard` dialect can take too: propagation through layers x + tanh(x w1) w2.

`python -m bench chain`. The first weight of each layer is split on its columns; nothing else is annotated.
The dialect has no sharding of reshapes, slices and softmax, so the GPT step cannot be asked of it. Without
`mlir-opt` there is nothing to compare, and the table is left out.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.conflicts import PIPELINE, mlir_opt
from bench.peers import run
from bench.peers.results import markdown, save, spread
from bench.peers.run import Files, Taken
from bench.propagation import solvers

_X, _W1, _W2, _H = "1x8x64xf32", "1x64x256xf32", "1x256x64xf32", "1x8x256xf32"
_DIMS = "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
#: The line of `--mlir-timing` that is about the pass.
_TIMED = re.compile(r"^\s*([\d.]+) \(.*ShardingPropagation", re.M)

ROWS = {
    "mlir-opt pass": "`sharding-propagation`, as `--mlir-timing` says",
    "mlir-opt whole": "`mlir-opt --sharding-propagation`, from start to end",
    "shardy propagate": "Shardy's pass `sdy-user-priority-propagate`, in its process",
    "souffle engine": "Soufflé's process: layouts, and the plan with its collectives",
    "souffle whole": "`kina check --solver souffle`, from start to end",
    "clingo engine": "clingo's process, the same",
    "clingo whole": "`kina check --solver clingo`, from start to end",
}


@dataclass(frozen=True, slots=True)
class Row:
    """All measurements of one thing for a chain of so many layers."""

    layers: int
    name: str
    seconds: tuple[float, ...]
    processor: tuple[float, ...]


def kina_text(layers: int) -> str:
    """The chain as a Kina program."""
    return (
        f"(mesh (x 4))\n(defn chain ((x (tensor f32 [1 8 64])))\n  (repeat (layer i {layers}) ((x x))\n"
        "    :params ((w1 (tensor f32 [1 64 256]) @sharded(axis=2)) (w2 (tensor f32 [1 256 64])))\n"
        "    (add x (matmul (tanh (matmul x w1)) w2))))\n"
    )


def stablehlo_text(layers: int) -> str:
    """The chain as StableHLO with Shardy's annotations."""
    note = '{sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}, {"x"}]>}'
    weights = [f"%a{i}: tensor<{_W1}> {note}, %b{i}: tensor<{_W2}>" for i in range(layers)]
    body = [
        f"    %h{i} = stablehlo.dot_general %x{i}, %a{i}, {_DIMS} : "
        f"(tensor<{_X}>, tensor<{_W1}>) -> tensor<{_H}>\n"
        f"    %t{i} = stablehlo.tanh %h{i} : tensor<{_H}>\n"
        f"    %y{i} = stablehlo.dot_general %t{i}, %b{i}, {_DIMS} : "
        f"(tensor<{_H}>, tensor<{_W2}>) -> tensor<{_X}>\n"
        f"    %x{i + 1} = stablehlo.add %x{i}, %y{i} : tensor<{_X}>\n"
        for i in range(layers)
    ]
    head = f"func.func public @main(%x0: tensor<{_X}>, {', '.join(weights)}) -> tensor<{_X}>"
    mesh = 'sdy.mesh @mesh = <["x"=4]>'
    return (
        f"module {{\n  {mesh}\n  {head} {{\n{''.join(body)}    return %x{layers} : tensor<{_X}>\n  }}\n}}\n"
    )


def shard_text(layers: int) -> str:
    """The chain in TOSA with annotations of the `shard` dialect."""
    weights = [f"%a{i}: tensor<{_W1}>, %b{i}: tensor<{_W2}>" for i in range(layers)]
    zeros = "tensor<1xf32>, tensor<1xf32>"
    body = [
        f"  %s{i} = shard.shard %a{i} to %s : tensor<{_W1}>\n"
        f"  %h{i} = tosa.matmul %x{i}, %s{i}, %z, %z : "
        f"(tensor<{_X}>, tensor<{_W1}>, {zeros}) -> tensor<{_H}>\n"
        f"  %t{i} = tosa.tanh %h{i} : (tensor<{_H}>) -> tensor<{_H}>\n"
        f"  %y{i} = tosa.matmul %t{i}, %b{i}, %z, %z : "
        f"(tensor<{_H}>, tensor<{_W2}>, {zeros}) -> tensor<{_X}>\n"
        f"  %x{i + 1} = tosa.add %x{i}, %y{i} : (tensor<{_X}>, tensor<{_X}>) -> tensor<{_X}>\n"
        for i in range(layers)
    ]
    return (
        "shard.grid @mesh(shape = 4)\n"
        f"func.func @chain(%x0: tensor<{_X}>, {', '.join(weights)}) -> tensor<{_X}> {{\n"
        "  %s = shard.sharding @mesh split_axes = [[], [], [0]] : !shard.sharding\n"
        '  %z = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>\n'
        f"{''.join(body)}  return %x{layers} : tensor<{_X}>\n}}\n"
    )


def turn(folder: Path, files: Files, command: str) -> dict[str, Taken]:
    """Every tool once."""
    start, used = time.perf_counter(), _of_children()
    done = subprocess.run(
        [command, PIPELINE.format(""), "--mlir-timing", "chain.mlir", "-o", "out.mlir"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    found = {"mlir-opt whole": Taken(time.perf_counter() - start, _of_children() - used)}
    if timed := _TIMED.search(done.stderr):
        found["mlir-opt pass"] = Taken(float(timed[1]), float("nan"))
    found["shardy propagate"] = run.shardy(files, 4)["propagate"]
    for solver in solvers():
        checked = run.kina(files, solver)
        found |= {f"{solver} engine": checked.engine, f"{solver} whole": checked.whole}
    return found


def _of_children() -> float:
    """Processor seconds of all processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(layers: int, rounds: int, command: str) -> list[Row]:
    """A row for each thing that is measured."""
    with tempfile.TemporaryDirectory(prefix="kina-bench-") as name:
        folder = Path(name)
        files = Files(folder / "chain.kina", folder / "chain.stablehlo.mlir")
        files.kina.write_text(kina_text(layers), encoding="utf-8")
        files.stablehlo.write_text(stablehlo_text(layers), encoding="utf-8")
        (folder / "chain.mlir").write_text(shard_text(layers), encoding="utf-8")
        turns = [turn(folder, files, command) for _ in range(rounds)]
    return [
        Row(
            layers,
            name,
            tuple(each[name].seconds for each in turns),
            tuple(each[name].processor for each in turns),
        )
        for name in ROWS
        if name in turns[0]
    ]


def table(rows: Sequence[Row]) -> str:
    """Seconds by the number of layers, on the wall and of the processor."""
    sizes = list(dict.fromkeys(row.layers for row in rows))
    known = {(row.name, row.layers): row for row in rows}
    names = [f"{layers} layers" for layers in sizes]
    lines = [["seconds", *names, *(f"{name}, processor" for name in names)]]
    for name in dict.fromkeys(row.name for row in rows):
        found = [known[name, layers] for layers in sizes]
        walls = [spread(row.seconds) for row in found]
        used = [min(row.processor) for row in found]
        lines.append([name, *walls, *("" if each != each else f"{each:.2f}" for each in used)])
    meaning = "\n".join(f"- {name}: {said}" for name, said in ROWS.items())
    return f"{markdown(lines)}\n\nThe fastest (median, slowest) of all rounds.\n\n{meaning}\n"


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print the table, and leave it in `bench/results`."""
    parser = argparse.ArgumentParser(prog="python -m bench chain", description=__doc__)
    parser.add_argument("--layers", default="24,96")
    parser.add_argument("--rounds", type=int, default=3)
    values = parser.parse_args(arguments)
    command = mlir_opt()
    if command is None:
        print("mlir-opt is not here: nothing to compare")
        return
    rows = [
        row for layers in values.layers.split(",") for row in measured(int(layers), values.rounds, command)
    ]
    save("chain", rows, table(rows))
