"""Each error code has a page, each page has its form, and its programs do what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kina
from kina.datalog.engine import solve
from kina.datalog.modules import parse_text
from kina.diagnostics.finding import Finding, ProgramError
from kina.diagnostics.pages import Block, Page, all_pages, codes, parse_page
from kina.mlir.reader import read_module
from kina.mlir.verify import verify
from kina.paths import rules_path
from kina.pipeline import Options, build, check
from kina.report.lock import compare
from kina.source import Source

PAGES = list(all_pages())
WITH_PROGRAMS = [page for page in PAGES if page.wrong]
PACKAGE = Path(kina.__file__).parent
#: Families whose mistakes are found before the rules run.
EARLY = frozenset("014")


def codes_of(page: Page, blocks: tuple[Block, ...]) -> list[str]:
    """The codes of all findings that a page's program gives, whatever its language."""
    match [block.language for block in blocks]:
        case ["kina"]:
            findings = _early(blocks[0].text) if page.code[1] in EARLY else _checked(blocks[0].text)
        case ["kina", "lock"]:
            findings = _locked(*(block.text for block in blocks))
        case ["prolog"]:
            findings = _rules(blocks[0].text)
        case ["mlir"]:
            findings = _module(blocks[0].text)
        case languages:
            raise AssertionError(f"a page has blocks {languages}")
    return [finding.code for finding in findings]


def _early(text: str) -> tuple[Finding, ...]:
    try:
        build(Source("page.kina", text), Options())
    except ProgramError as problem:
        return problem.findings
    return ()


def _checked(text: str) -> tuple[Finding, ...]:
    return check(Source("page.kina", text), Options(solver="clingo")).findings


def _locked(text: str, lock: str) -> tuple[Finding, ...]:
    result = check(Source("page.kina", text), Options(solver="clingo"))
    assert result.program is not None
    assert result.decisions is not None
    difference = compare(result.program, result.decisions, lock, "page.lock")
    return (*result.findings, *([difference] if difference else []))


def _rules(text: str) -> tuple[Finding, ...]:
    try:
        solve("clingo", parse_text(text, "page.dl", (rules_path(),)), {})
    except ProgramError as problem:
        return problem.findings
    return ()


def _module(text: str) -> tuple[Finding, ...]:
    try:
        verify(read_module(Source("page.mlir", text)))
    except ProgramError as problem:
        return problem.findings
    return ()


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
    assert set(codes_of(page, page.wrong)) == {page.code}


@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.code)
def test_the_right_program_has_it_not(page: Page) -> None:
    assert codes_of(page, page.right) == []


@pytest.mark.deep
@pytest.mark.parametrize(
    "page", [page for page in WITH_PROGRAMS if page.code[1] in EARLY], ids=lambda page: page.code
)
def test_the_right_program_passes_the_rules_too(page: Page) -> None:
    assert not [finding for finding in _checked(page.right[0].text) if finding.severity == "error"]


def test_each_code_in_the_source_has_a_page() -> None:
    used = set()
    for file in [*PACKAGE.rglob("*.py"), *PACKAGE.parent.glob("rules/*.dl")]:
        used.update(re.findall(r'"(K\d{3})"', file.read_text(encoding="utf-8")))
    assert used - set(codes()) == set()
    assert set(codes()) - used == {"K900"}


def test_what_is_no_page_is_refused() -> None:
    with pytest.raises(ValueError, match="begins with"):
        parse_page("K101 without its form")
