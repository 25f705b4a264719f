"""Both engines decide as the real Soufflé did when its decisions were recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded.record import FOLDER, PROGRAMS, decided, record_path


@pytest.mark.parametrize("solver", ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_decisions_are_those_recorded(program: Path, solver: str) -> None:
    assert decided(program, solver) == record_path(program).read_text(encoding="utf-8")


def test_each_record_has_a_program() -> None:
    assert set(FOLDER.glob("*.txt")) == {record_path(program) for program in PROGRAMS}
