"""Random programs: the simulated run equals the one-device run, and the programs are worth something."""

from __future__ import annotations

from collections import Counter

import pytest

from kina.frontend.ops import OPS
from kina.pipeline import Options, build
from kina.source import Source
from tests.random_programs import random_program
from tests.run.pipeline import compiled, differences

SHARE = 10
#: Seeds of the whole suite: the first 100 in every run, all in the deep one.
SEEDS = 500


def failures(seeds: range, tally: Counter[str]) -> list[str]:
    """What is wrong with the programs of the seeds; `tally` counts those that check, and with collectives."""
    found = []
    for seed in seeds:
        made = compiled(random_program(seed), name=f"seed{seed}.kina")
        tally["programs"] += 1
        if isinstance(made, list):
            tally.update(set(made))
            # conflicts are what random annotations may have; any other error is a fault of the generator
            if not all(code.startswith("K2") for code in made):
                found.append(f"seed {seed}: {made}")
            continue
        tally["check"] += 1
        tally["collective"] += bool(made.decisions.collectives)
        found += [f"seed {seed}: {message}" for message in differences(made, seed)]
    return found


@pytest.mark.parametrize("start", range(0, 100, SHARE))
def test_a_random_program_gives_what_one_device_gives(start: int) -> None:
    tally: Counter[str] = Counter()
    assert failures(range(start, start + SHARE), tally) == []
    assert tally["check"] >= 0.5 * SHARE


@pytest.mark.deep
def test_all_random_programs_and_what_they_are_worth(capsys: pytest.CaptureFixture[str]) -> None:
    tally: Counter[str] = Counter()
    found = failures(range(100, SEEDS), tally)
    kinds = counted(SEEDS)
    with capsys.disabled():
        print(table(tally, kinds))
    assert found == []
    assert tally["check"] >= 0.6 * tally["programs"]
    assert tally["collective"] >= 0.5 * tally["programs"]


def test_every_op_occurs_often() -> None:
    kinds = counted(SEEDS)
    assert {kind: kinds[kind] for kind in OPS if kinds[kind] < 10} == {}


def counted(count: int) -> Counter[str]:
    """How many ops of each kind the programs have."""
    kinds: Counter[str] = Counter()
    for seed in range(count):
        program = build(Source(f"seed{seed}.kina", random_program(seed)), Options())
        kinds.update(op.kind for op in program.ops)
    return kinds


def table(tally: Counter[str], kinds: Counter[str]) -> str:
    programs = tally["programs"]
    lines = [
        "",
        f"{programs} random programs: {tally['check'] / programs:.0%} check without error, "
        f"{tally['collective'] / programs:.0%} contain a collective",
        *(f"  {kind:30}{kinds[kind]:6}" for kind in OPS),
    ]
    return "\n".join(lines)
