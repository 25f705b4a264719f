"""The tests beside the rules hold, and every rule has one in which it fires."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from kina.facts.entry import entry_text
from kina.paths import rules_path
from kina.rulebook.outcome import Outcome, Outcomes
from kina.rulebook.sections import PURPOSES, Section, Trial, files, sections, sections_of
from kina.source import Source
from tests.rulebook.checked import checked, message

SECTIONS = list(sections(rules_path()))
TRIALS = [
    pytest.param(section, trial, id=f"{section.name} {number}")
    for section in SECTIONS
    for number, trial in enumerate(section.trials, 1)
]
OUTCOMES = Outcomes()
_CODED = re.compile(r'@\[rule = "([^"]+)"\]\n(?:@\[hide\]\n)?@\[code = "(K\d{3})"\]')
_NAME = re.compile(r'@\[rule = "([^"]+)"\]')


def rule_names() -> set[str]:
    """The names of all rules: those of the files, and those that the entry file of a program adds."""
    texts = [file.read_text(encoding="utf-8") for file in rules_path().glob("*.dl")]
    return {name for text in [*texts, entry_text((0, 1), True)] for name in _NAME.findall(text)}


@cache
def coded() -> dict[str, str]:
    """The code of each rule that objects."""
    texts = [file.read_text(encoding="utf-8") for file in rules_path().glob("*.dl")]
    return {name: code for text in texts for name, code in _CODED.findall(text)}


def outcome(trial: Trial) -> Outcome:
    """What the rules derive from the program of a trial."""
    if trial.rules or trial.facts:
        return OUTCOMES.with_more(trial.text, trial.rules, [each.fact for each in trial.facts])
    return OUTCOMES.of(trial.text, (each.text for section in SECTIONS for each in section.trials))


def test_every_rule_has_a_section() -> None:
    tested = [name for section in SECTIONS for name in section.rules]
    assert sorted(rule_names() - set(tested)) == []
    assert sorted(set(tested) - rule_names()) == []
    assert len(tested) == len(set(tested))


@pytest.mark.parametrize("file", files(rules_path()), ids=lambda file: file.name)
def test_a_file_has_its_form(file: Path) -> None:
    found = list(sections_of(Source(str(file), file.read_text(encoding="utf-8"))))
    stem = file.name.removesuffix(".test.md")
    assert (rules_path() / f"{stem}.dl").is_file()
    assert file.read_text(encoding="utf-8").startswith(f"# {stem}.dl\n")
    assert all(name.startswith(f"{stem}.") for section in found for name in section.rules)
    assert any(trial.purpose == "near miss" for section in found for trial in section.trials)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.name)
def test_a_section_fires_its_rules(section: Section) -> None:
    assert section.prose.endswith("."), "a section begins with a sentence"
    programs = [outcome(trial) for trial in section.trials if not trial.purpose]
    quiet = [name for name in section.rules if not any(program.fires(name) for program in programs)]
    assert quiet == []


@pytest.mark.parametrize(("section", "trial"), TRIALS)
def test_a_program_gives_what_is_expected(section: Section, trial: Trial) -> None:
    assert trial.purpose in PURPOSES
    assert trial.expected or trial.message, "nothing is expected"
    found = outcome(trial)
    wrong = [each.text for each in trial.expected if not each.holds(found.rows(each.relation))]
    assert wrong == []
    if trial.purpose == "near miss":
        assert not found.fires(section.rules[0])
    if trial.purpose == "repair":
        assert [name for name in coded().keys() & set(section.rules) if found.fires(name)] == []
        assert checked(trial.text).ok
    if trial.message is not None:
        assert message(trial.text) == trial.message.text, "run `make accept`"


def test_rules_that_object_are_repaired() -> None:
    assert len(coded()) > 5
    for section in SECTIONS:
        purposes = {trial.purpose for trial in section.trials}
        for name in coded().keys() & set(section.rules):
            assert "near miss" in purposes, name
            assert "repair" in purposes, name


@pytest.mark.parametrize("name", sorted(coded()))
def test_an_objection_is_a_finding(name: str) -> None:
    (section,) = [section for section in SECTIONS if name in section.rules]
    texts = [trial.text for trial in section.trials if not (trial.purpose or trial.rules or trial.facts)]
    if section.file.stem == "sanity.test":
        assert not texts, "no program shows what must never be"
        return
    assert coded()[name] in {finding.code for text in texts for finding in checked(text).findings}
