"""Each error code has a page, each page has its form, and its programs do what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kina
from kina.diagnostics.pages import Block, Page, all_pages, codes, parse_page
from tests.diagnostics.page_programs import EARLY, checked, findings_of

PAGES = list(all_pages())
#: Those of the simulator are run by `tests/sim/test_pages.py`.
WITH_PROGRAMS = [page for page in PAGES if page.wrong and page.code[1] != "7"]
PACKAGE = Path(kina.__file__).parent


def codes_of(page: Page, blocks: tuple[Block, ...]) -> list[str]:
    return [finding.code for finding in findings_of(page, blocks)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.code)
def test_a_page_has_its_form(page: Page) -> None:
    first = page.title.split()[0]
    assert first[0] == "`" or first.islower() or first.isupper()
    assert not page.title.endswith(".")
    assert len(page.prose) > 40
    if not page.code.startswith("K9"):
        assert page.wrong, "no program under `## Wrong`"
        assert page.right, "no program under `## Right`"


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.code)
def test_the_wrong_program_has_the_mistake(page: Page) -> None:
    assert set(codes_of(page, page.wrong)) == {page.code}


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.code)
def test_the_right_program_has_it_not(page: Page) -> None:
    assert codes_of(page, page.right) == []


@pytest.mark.deep
@pytest.mark.parametrize(
    "page", [page for page in WITH_PROGRAMS if page.code[1] in EARLY], ids=lambda page: page.code
)
def test_the_right_program_passes_the_rules_too(page: Page) -> None:
    assert not [finding for finding in checked(page.right[0].text) if finding.severity == "error"]


def test_each_code_in_the_source_has_a_page() -> None:
    used = set()
    for file in [*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("rules/*.dl")]:
        used.update(re.findall(r'"(K\d{3})"', file.read_text(encoding="utf-8")))
    assert used - set(codes()) == set()
    assert set(codes()) - used == {"K900"}


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with"):
        parse_page("K101 without its form")
