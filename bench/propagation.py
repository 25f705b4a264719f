"""How long propagation takes: Shardy's passes, XLA's passes, and Kina with each engine, on the same step.

`python -m bench propagation`, or with `--layers 96 --rounds 3 --schemes tensor,fsdp` for some of it. The
tools take turns, so that what else the machine does strikes all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.peers import run
from bench.peers.options import parsed
from bench.peers.results import markdown, save, spread
from bench.peers.run import Taken
from bench.peers.schemes import SCHEMES, Scheme, Sizes
from bench.plots import lines

#: Name of a row -> what is measured there.
ROWS = {
    "shardy propagate": "Shardy's pass `sdy-user-priority-propagate`, in its process",
    "shardy pipeline": "Shardy's whole `sdy-propagation-pipeline`, in its process",
    "xla shardy-xla": "XLA's pass that imports, propagates with Shardy, and exports",
    "xla spmd-partitioning": "XLA's pass that makes the program of one device, collectives included",
    "souffle engine": "Soufflé's process, from the facts to the derived relations",
    "souffle solve": "the same with facts written and relations read",
    "souffle whole": "`kina check --solver souffle`, from start to end",
    "clingo engine": "clingo's process, from the facts to the derived relations",
    "clingo solve": "the same with facts encoded and relations decoded",
    "clingo whole": "`kina check --solver clingo`, from start to end",
}


@dataclass(frozen=True, slots=True)
class Row:
    """All measurements of one thing; `memory_mib` is the peak of its process, 0 where not measured."""

    scheme: str
    layers: int
    name: str
    seconds: tuple[float, ...]
    processor: tuple[float, ...]
    memory_mib: float


def solvers() -> list[str]:
    """The Datalog engines that are there."""
    from kina.datalog.souffle_engine import find_souffle

    return (["souffle"] if find_souffle() is not None else []) + ["clingo"]


def turn(files: run.Files, devices: int, engines: Sequence[str]) -> dict[str, tuple[Taken, float]]:
    """Every tool once: what it took, and its memory."""
    found = {f"shardy {name}": (taken, 0.0) for name, taken in run.shardy(files, devices).items()}
    passes, memory = run.xla_passes(files, devices)
    found |= {f"xla {name}": (taken, memory) for name, taken in passes.items()}
    for solver in engines:
        checked = run.kina(files, solver)
        found[f"{solver} engine"] = checked.engine, 0.0
        found[f"{solver} solve"] = Taken(checked.stages["solve"] / 1000, float("nan")), 0.0
        found[f"{solver} whole"] = checked.whole, checked.memory_mib
    return found


def measured(sizes: Sizes, scheme: Scheme, rounds: int) -> list[Row]:
    """A row for each thing that is measured, in the order of ROWS."""
    samples: dict[str, list[tuple[Taken, float]]] = defaultdict(list)
    engines = solvers()
    with run.written(sizes, scheme) as files:
        for _ in range(rounds):
            for name, sample in turn(files, scheme.devices, engines).items():
                samples[name].append(sample)
    return [
        Row(
            scheme.name,
            sizes.layers,
            name,
            tuple(taken.seconds for taken, _ in samples[name]),
            tuple(taken.processor for taken, _ in samples[name]),
            max(memory for _, memory in samples[name]),
        )
        for name in ROWS
        if name in samples
    ]


def table(rows: Sequence[Row]) -> str:
    """Seconds by scheme, on the wall and of the processor, for each number of layers."""
    blocks = []
    for layers in dict.fromkeys(row.layers for row in rows):
        here = [row for row in rows if row.layers == layers]
        blocks.append(_block(f"{layers} layers, seconds", here, _wall))
        blocks.append(_block(f"{layers} layers, processor seconds", here, _processor))
    meaning = "\n".join(f"- {name}: {said}" for name, said in ROWS.items())
    notes = (
        "Seconds are the fastest (median, slowest) of all rounds. Processor seconds are the least: they say "
        "more on a machine that others use."
    )
    return "\n\n".join([*blocks, notes, meaning]) + "\n"


def _block(head: str, rows: Sequence[Row], cell: Callable[[Row], str]) -> str:
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    known = {(row.scheme, row.name): cell(row) for row in rows}
    lines = [[head, *(SCHEMES[name].title for name in schemes)]]
    for name in ROWS:
        cells = [known.get((scheme, name), "") for scheme in schemes]
        if any(cells):
            lines.append([name, *cells])
    return markdown(lines)


def _wall(row: Row) -> str:
    return spread(row.seconds)


def _processor(row: Row) -> str:
    """The least, where it was measured; clocks of other processes tick a hundred times a second."""
    least = min(row.processor)
    return f"{least:.2f}" if least == least else ""


def pictures(rows: Sequence[Row]) -> dict[str, str]:
    """A picture for each scheme: the fastest seconds by the number of layers."""
    found = {}
    for scheme in dict.fromkeys(row.scheme for row in rows):
        series: dict[str, dict[int, float]] = {}
        for row in rows:
            if row.scheme == scheme:
                series.setdefault(row.name, {})[row.layers] = min(row.seconds)
        found[scheme] = lines(f"{SCHEMES[scheme].title}: seconds by layers", series)
    return found


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print the table, and leave it in `bench/results`."""
    values = parsed("propagation", __doc__, arguments, layers="1,12,24,96", rounds=2)
    rows = [
        row
        for layers in values.layers
        for scheme in values.schemes
        for row in measured(Sizes(layers), scheme, values.rounds)
    ]
    save("propagation", rows, table(rows), pictures(rows))
