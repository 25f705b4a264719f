"""Each error code has a page, each page has its form, and its programs do what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kina.datalog.rule_source import check_rule_text
from kina.mlir.check import check_module_text

import kina
from kina.diagnostics.pages import Block, Page, all_pages, codes, parse_page
from kina.pipeline import Options, Result, check
from kina.report.lock import compare
from kina.source import Source

PAGES = list(all_pages())
WITH_PROGRAMS = [page for page in PAGES if page.wrong]
PACKAGE = Path(kina.__file__).parent


def codes_of(blocks: tuple[Block, ...]) -> list[str]:
    """The codes of all findings that a page's program gives, whatever its language."""
    match [block.language for block in blocks]:
        case ["kina"]:
            return _found(check(Source("page.kina", blocks[0].text), Options(solver="clingo")))
        case ["kina", "lock"]:
            result = check(Source("page.kina", blocks[0].text), Options(solver="clingo"))
            assert result.program is not None
            assert result.decisions is not None
            difference = compare(result.program, result.decisions, blocks[1].text, "page.lock")
            return _found(result) + ([difference.code] if difference else [])
        case ["prolog"]:
            return [finding.code for finding in check_rule_text(blocks[0].text)]
        case ["mlir"]:
            return [finding.code for finding in check_module_text(blocks[0].text)]
        case languages:
            raise AssertionError(f"a page has blocks {languages}")


def _found(result: Result) -> list[str]:
    return [finding.code for finding in result.findings]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_has_its_form(page: Page) -> None:
    assert page.title[0].islower() or page.title[0] == "`"
    assert not page.title.endswith(".")
    assert len(page.prose) > 40
    if not page.code.startswith("K9"):
        assert page.wrong, "no program under `## Wrong`"
        assert page.right, "no program under `## Right`"


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.code)
def test_the_wrong_program_has_the_mistake(page: Page) -> None:
    assert set(codes_of(page.wrong)) == {page.code}


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.code)
def test_the_right_program_has_it_not(page: Page) -> None:
    assert codes_of(page.right) == []


def test_each_code_in_the_source_has_a_page() -> None:
    used = set()
    for file in [*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("rules/*.dl")]:
        used.update(re.findall(r'"(K\d{3})"', file.read_text(encoding="utf-8")))
    assert used - set(codes()) == set()
    assert set(codes()) - used == {"K900"}


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with"):
        parse_page("K101 without its form")
