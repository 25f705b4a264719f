"""Running the programs of the pages of error codes, whatever language they are in."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from kina.audit.findings import findings
from kina.audit.one_op import audit_op
from kina.datalog.added import AddedFile
from kina.datalog.engine import solve
from kina.datalog.modules import parse_text
from kina.diagnostics.finding import Finding, ProgramError
from kina.diagnostics.pages import Block, Page
from kina.mlir.reader import read_module
from kina.mlir.verify import verify
from kina.paths import rules_path
from kina.pipeline import Options, build, check, decide
from kina.report.lock import compare
from kina.rulebook.base import RuleBase
from kina.rulebook.lint import lint
from kina.sim.dtypes import DTYPES
from kina.sim.memory import check_memory
from kina.sim.run import run
from kina.source import Source

#: Codes of `kina rules audit`.
AUDITED = ("K820", "K821", "K822")
#: The one of these that rules of a whole rule base have.
AUDITED_BASE = "K823"
#: The first code of `kina rules lint`: what it objects to does not keep rules from running.
FIRST_LINT = "K840"
#: Families whose mistakes are found before the rules run.
EARLY = frozenset("014")


def findings_of(page: Page, blocks: tuple[Block, ...]) -> tuple[Finding, ...]:
    """All findings that the blocks of a page give."""
    match [block.language for block in blocks]:
        case [language] if page.code[1] == "7":
            return _executed(language, blocks[0].text)
        case ["kina"]:
            if page.code[1] in EARLY:
                return early(blocks[0].text)
            return checked(blocks[0].text, "cost" if page.code == "K203" else "error")
        case ["kina", "prolog"]:
            return with_rules(*(block.text for block in blocks))
        case ["kina", "lock"]:
            return _locked(*(block.text for block in blocks))
        case ["prolog"] if page.code in AUDITED:
            return _audited(RuleBase(rules_path(), Source("page.dl", blocks[0].text)))
        case ["prolog"] if page.code == AUDITED_BASE:
            with TemporaryDirectory() as folder:
                return _audited(_with_file(Path(folder) / "rules", blocks[0].text))
        case ["prolog"] if page.code >= FIRST_LINT:
            return _linted(blocks[0].text, None)
        case ["prolog", "markdown"]:
            return _linted(*(block.text for block in blocks))
        case ["prolog"]:
            return _rules(blocks[0].text)
        case ["mlir"]:
            return _module(blocks[0].text)
        case languages:
            raise AssertionError(f"a page has blocks {languages}")


def early(text: str) -> tuple[Finding, ...]:
    """The findings of a program before the rules run."""
    try:
        build(Source("page.kina", text), Options())
    except ProgramError as problem:
        return problem.findings
    return ()


def checked(text: str, on_conflict: str = "error") -> tuple[Finding, ...]:
    """The findings of a whole check."""
    options = Options(solver="clingo", on_conflict=on_conflict)
    return check(Source("page.kina", text), options).findings


def with_rules(text: str, rules: str) -> tuple[Finding, ...]:
    """The findings of a whole check with rules that are added."""
    source = Source("page.kina", text)
    options = Options(solver="clingo")
    try:
        program = build(source, options)
        added = AddedFile("page.dl", "page.dl", Source("page.dl", rules), rules)
        return decide(source, replace(program, rules=(added,)), options)[1].findings
    except ProgramError as problem:
        return problem.findings


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


def _with_file(folder: Path, text: str) -> RuleBase:
    """Kina's rules with one more file, in a folder of their own."""
    shutil.copytree(rules_path(), folder)
    (folder / "page.dl").write_text(text, encoding="utf-8")
    for name in ("base.dl", "layouts.dl"):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write('.include "page.dl"\n')
    return RuleBase(folder)


def _audited(base: RuleBase) -> tuple[Finding, ...]:
    """What the audit says of a file, of the op that its rules are about."""
    text = next(file.source.text for file in base.files if file.source.name.endswith("page.dl"))
    kind = re.search(r'op_kind\(op, "(\w+)"\)', text)
    assert kind is not None
    return findings([audit_op(kind[1], base, solver="clingo")], base)


def _linted(text: str, tests: str | None) -> tuple[Finding, ...]:
    """What the lint says of a file alone, and of the tests beside it if there are any."""
    base = RuleBase(rules_path(), Source("page.dl", text))
    beside = None if tests is None else lambda _: Source("page.test.md", tests)
    return lint(base, solver="clingo", beside=beside)


def _module(text: str) -> tuple[Finding, ...]:
    try:
        verify(read_module(Source("page.mlir", text)))
    except ProgramError as problem:
        return problem.findings
    return ()


def _executed(language: str, text: str) -> tuple[Finding, ...]:
    try:
        execute(language, text)
    except ProgramError as problem:
        return problem.findings
    return ()


def execute(language: str, text: str) -> None:
    """Do with the program what `kina run` does: read, verify, estimate, run on zeros."""
    if language == "python":
        exec(compile(text, "page", "exec"), {})
        return
    module = read_module(Source("page.mlir", text))
    verify(module)
    # enough for every page but the one on memory
    check_memory(module, 1 << 40)
    zeros = [np.zeros(t.shape, DTYPES[t.dtype]) for t in module.main.argument_types]
    run(module, [zeros] * module.devices)
