"""The documents are true: generated ones are current, and what the README shows is what happens."""

from __future__ import annotations

import re
import runpy

import pytest

from tests import readme, rules_tools
from tests.command import ROOT

README = readme.FILE.read_text(encoding="utf-8")


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


def test_the_start_of_the_readme_is_what_happens() -> None:
    assert len(readme.block("kina", README)[1].splitlines()) == 5
    assert readme.block("console", README)[1] == readme.start(), "run `make accept`"


def test_the_message_of_the_readme_is_real() -> None:
    assert readme.block("text", README)[1] == readme.message(), "run `make accept`"


def test_what_rules_tools_shows_is_what_is_printed() -> None:
    blocks = rules_tools.shown()
    assert len(blocks) > 3
    assert [old for _, old in blocks] == rules_tools.printed([command for command, _ in blocks])


@pytest.mark.parametrize("target", ["demo", "test", "test-deep", "lint", "bench", "accept"])
def test_make_has_the_targets_that_are_named(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:", makefile, re.M)
