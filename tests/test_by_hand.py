"""What `kina facts` wrote, evaluated by Soufflé as a user types it, gives the decisions of `kina check`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kina.datalog.souffle_engine import find_souffle
from kina.diagnose.solved import solve_program
from kina.facts.load import OUTPUTS, load
from kina.pipeline import Options, build, open_source
from tests.command import kina_command

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = [
    *(
        ROOT / "examples" / f"{name}.kina"
        for name in ("megatron_fsdp", "sequence_parallel", "gpt_train_fsdp")
    ),
    ROOT / "tests" / "cases" / "gradient_accumulation.kina",
]


@pytest.mark.souffle
@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_souffle_typed_by_hand_decides_the_same(path: Path, tmp_path: Path) -> None:
    install = find_souffle()
    assert install is not None
    facts, out = tmp_path / "facts", tmp_path / "out"
    out.mkdir()
    assert kina_command("facts", str(path), "-o", str(facts)).returncode == 0
    rules = kina_command("rules", "path").stdout.strip()
    command = [install.path, "-I", rules, "-F", str(facts), "-D", str(out), str(facts / "main.dl")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

    program = build(open_source(str(path)), Options())
    expected = solve_program(program, "clingo")
    types = expected.rulebook.relations
    relations = {name: read(out / f"{name}.csv", [c.base for c in types[name].columns]) for name in OUTPUTS}
    decided, wanted = load(program, relations, ("", "")), expected.decisions()
    assert decided.layouts == wanted.layouts
    assert decided.collectives == wanted.collectives
    assert decided.plans == wanted.plans


def read(path: Path, bases: list[str]) -> list[tuple[str | int, ...]]:
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        tuple(int(text) if base == "number" else text for text, base in zip(row, bases, strict=True))
        for row in rows
    ]
