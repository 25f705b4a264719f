"""Every example runs, and gives what one device gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.run.pipeline import compiled, differences

ROOT = Path(__file__).parents[2]
LARGE = ("gpt_96", "gpt_100m")
SMALL = [
    path
    for folder in (ROOT / "examples", ROOT / "tests" / "cases")
    for path in sorted(folder.glob("*.kina"))
    if not path.stem.startswith(LARGE)
]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_simulated_equals_one_device(path: Path) -> None:
    made = compiled(path.read_text(), name=path.name)
    if isinstance(made, list):
        # programs that are there for their errors
        assert made
        assert all(code[:2] in ("K2", "K4") for code in made)
        return
    steps = 2 if made.program.carries else 1
    assert differences(made, seed=3, steps=steps) == []


@pytest.mark.deep
def test_a_deep_model_equals_one_device() -> None:
    path = ROOT / "examples" / "gpt_96.kina"
    made = compiled(path.read_text(), name=path.name)
    assert not isinstance(made, list)
    assert differences(made) == []
