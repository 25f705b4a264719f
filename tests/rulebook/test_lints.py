"""What rule files must have beside being right: names, sentences, pages, and a header that is true."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from kina.datalog import lints
from kina.datalog.grammar import parse
from kina.datalog.rules import Rulebook, dependencies
from kina.datalog.souffle_engine import find_souffle
from kina.datalog.syntax import Clause, Component, Declaration, Include, RuleFile, metadata_text
from kina.diagnose.solved import rules_of
from kina.diagnostics.pages import codes
from kina.facts.entry import entry_text
from kina.paths import rules_path
from kina.source import Source

#: Premises that a reader keeps in mind, and columns.
MOST_PREMISES = 8
MOST_COLUMNS = 6
#: Inputs that no rule of Kina's reads, for rules of others.
UNREAD = {"given_priority", "op_derived", "op_list_negative", "program_result"}
FILES = sorted(rules_path().glob("*.dl"))


@cache
def parsed(name: str) -> RuleFile:
    return parse(Source(f"rules/{name}", (rules_path() / name).read_text(encoding="utf-8")))


def rule_files() -> list[RuleFile]:
    return [parsed(file.name) for file in FILES]


@cache
def rulebook() -> Rulebook:
    """All rules, with the levels of two priorities in a program with gradients."""
    return rules_of(entry_text((0, 1), True))


def members(file: RuleFile) -> list[Declaration | Clause]:
    """The declarations and clauses of a file, those of components too."""
    found: list[Declaration | Clause] = []
    for item in file.items:
        parts = item.items if isinstance(item, Component) else (item,)
        found += [part for part in parts if isinstance(part, Declaration | Clause)]
    return found


def clauses(file: RuleFile) -> list[Clause]:
    return [each for each in members(file) if isinstance(each, Clause)]


def header(file: RuleFile) -> str:
    """The `//` lines at the top, after `.once` and the includes."""
    match = re.match(r"(?:\.[^\n]*\n)+((?://[^\n]*\n)+)", file.source.text)
    assert match is not None, f"{file.source.name} has no header"
    return match[1].replace("\n//", "")


def test_names_sentences_and_pages() -> None:
    assert lints.lint_files(rule_files(), codes()) == ()


def test_each_code_of_a_rule_family_is_used() -> None:
    # K203 and K390 are found by Python out of what the rules derive.
    assert set(lints.unused_codes(rule_files(), codes())) <= {"K203", "K390"}


@pytest.mark.souffle
def test_soufflé_compiles_every_rule() -> None:
    install = find_souffle()
    assert install is not None
    assert lints.lost_rules(install, rulebook()) == ()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_says_what_it_claims(file: Path) -> None:
    rules = parsed(file.name)
    claims = header(rules)
    named = {metadata_text(clause.metadata, "code") for clause in clauses(rules)} - {None}
    ranges = re.findall(r"K(\d{3})(?:-K(\d{3}))?", claims)
    claimed = {f"K{code}" for low, high in ranges for code in range(int(low), int(high or low) + 1)}
    assert claimed == named
    if any(clause.body for clause in clauses(rules)):
        stem = rules.source.name.removeprefix("rules/").removesuffix(".dl")
        assert f"Tests: {stem}.test.md." in claims
        assert (rules_path() / f"{stem}.test.md").is_file()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_clauses_and_relations_are_small(file: Path) -> None:
    for member in members(parsed(file.name)):
        if isinstance(member, Clause):
            assert len(member.body) <= MOST_PREMISES, f"{member.span}"
            starts = [premise.span.line for premise in member.body]
            assert len(set(starts)) == len(starts), f"{member.span}: one premise a line"
        else:
            assert len(member.columns) <= MOST_COLUMNS, f"{member.span}"
            assert re.fullmatch(r"[a-z]+(_[a-z]+)*", member.name), f"{member.span}"


def test_the_base_includes_every_file() -> None:
    included = {item.path for item in parsed("base.dl").items if isinstance(item, Include)}
    assert included == {file.name for file in FILES} - {"base.dl"}


def test_input_relations_have_an_example() -> None:
    for relation in rulebook().inputs:
        assert "Example:" in relation.doc, relation.name


def test_every_relation_is_read() -> None:
    read = {name for rule in rulebook().rules for name, _ in dependencies(rule.clause)}
    read |= set(rulebook().outputs)
    unread = {
        relation.declared
        for relation in rulebook().relations.values()
        if relation.name not in read and not relation.instance
    }
    assert {name for name in unread if not name.startswith("attribute_")} <= UNREAD
