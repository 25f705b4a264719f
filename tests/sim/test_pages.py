"""The pages of the codes K6xx and K7xx: the wrong program gives just that code, the right one runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kina.diagnostics
from kina.diagnostics.finding import ProgramError
from tests.diagnostics.page_programs import execute

CODES = Path(kina.diagnostics.__file__).parent / "codes"
PAGES = sorted(path for path in CODES.glob("K[67]*.md"))


def blocks(path: Path) -> list[tuple[str, str]]:
    found = re.findall(r"^```(mlir|python)\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
    assert len(found) == 2, path.name
    return found


@pytest.mark.parametrize("path", PAGES, ids=[path.stem for path in PAGES])
def test_page(path: Path) -> None:
    wrong, right = blocks(path)
    with pytest.raises(ProgramError) as caught:
        execute(*wrong)
    assert {found.code for found in caught.value.findings} == {path.stem}
    execute(*right)


def test_every_code_of_these_packages_has_a_page() -> None:
    root = Path(kina.diagnostics.__file__).parents[1]
    texts = [path.read_text() for folder in ("mlir", "sim", "run") for path in (root / folder).rglob("*.py")]
    used = {code for text in texts for code in re.findall(r'"(K[67]\d\d)"', text)}
    assert used == {path.stem for path in PAGES}
