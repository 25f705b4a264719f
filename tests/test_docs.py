"""The documents are true: generated ones are current, and what the README shows is what happens."""

from __future__ import annotations

import re
import runpy
import shutil
from pathlib import Path

import pytest

from tests.command import kina_command

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_errors_md_is_current() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make.py"))["errors_page"]()
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == made, "run `make accept`"


def test_each_dependency_has_its_reason() -> None:
    reasons = (ROOT / "docs" / "design" / "dependencies.md").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    names = re.findall(r'"([A-Za-z_0-9-]+)>=', project)
    assert len(names) > 10
    for name in names:
        assert f"| `{name}` |" in reasons, name


def _block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", README, re.S | re.M)
    assert found is not None
    return found[1]


def test_the_start_of_the_readme_works(tmp_path: Path) -> None:
    program = _block("kina")
    assert len(program.splitlines()) == 5
    (tmp_path / "start.kina").write_text(program, encoding="utf-8")
    (line,) = [line for line in _block("console").splitlines() if line.startswith("$ ")]
    name, *arguments = line[2:].split()
    assert name == "kina"
    done = kina_command(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == _block("console").split("\n", 1)[1]


def test_the_message_of_the_readme_is_real(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "conflict.kina", tmp_path / "conflict.kina")
    done = kina_command("check", "conflict.kina", cwd=tmp_path)
    assert done.returncode == 1
    assert _block("text") in done.stderr


@pytest.mark.parametrize("target", ["demo", "test", "test-deep", "lint", "bench", "accept"])
def test_make_has_the_targets_that_are_named(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.M)
