"""Whether rules have tests beside them, and whether these hold: `layout.test.md` beside `layout.dl`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath

from kina.datalog.syntax import RuleFile
from kina.diagnostics.finding import Finding, ProgramError
from kina.facts.schema import load_schema
from kina.paths import rules_path
from kina.rulebook.base import RuleBase, clauses, rule_name
from kina.rulebook.lint_text import warning
from kina.rulebook.outcome import Outcome, Outcomes
from kina.rulebook.sections import Section, Trial, sections_of
from kina.source import Source

#: Gives the text of the file beside a rule file that ends in `.test.md`, None if there is none.
Beside = Callable[[str], Source | None]


def lint_tests(base: RuleBase, files: Sequence[RuleFile], beside: Beside, solver: str) -> Iterator[Finding]:
    """Every rule that has no test beside it (K856), and every test that does not hold (K857)."""
    found: list[tuple[RuleFile, tuple[Section, ...]]] = []
    for file in files:
        source = beside(file.source.name)
        try:
            found.append((file, () if source is None else tuple(sections_of(source))))
        except ProgramError as problem:
            yield from problem.findings
            continue
        yield from _untested(file, found[-1][1])
    outcomes = Outcomes(base, solver)
    texts = [trial.text for _, sections in found for section in sections for trial in section.trials]
    for _, sections in found:
        for section in sections:
            yield from _held(outcomes, section, texts)


def _untested(file: RuleFile, sections: Sequence[Section]) -> Iterator[Finding]:
    tested = {name for section in sections for name in section.rules}
    own = {rule_name(clause) for clause in clauses(file)}
    test = f"{PurePath(file.source.name).stem}.test.md"
    for clause in clauses(file):
        name = rule_name(clause)
        if clause.body and name and name not in tested:
            yield warning("K856", f"`{name}` has no section in {test}", clause.head.span, rule=name)
            if not sections:
                return
    for section in sections:
        for name in section.rules:
            if name not in own and not _linked(name):
                yield warning("K857", f"there is no rule `{name}` in {file.source.name}", section.span)


def _linked(name: str) -> bool:
    """Whether a rule is one of those that the entry file of a program adds."""
    from kina.facts.entry import entry_text

    return f'"{name}"' in entry_text((0, 1), True)


def _held(outcomes: Outcomes, section: Section, texts: Sequence[str]) -> Iterator[Finding]:
    fired: set[str] = set()
    for trial in section.trials:
        misfits = list(_misfits(trial))
        if misfits:
            yield from misfits
            continue
        try:
            outcome = _outcome(outcomes, trial, texts)
        except ProgramError as problem:
            first = problem.findings[0]
            where = f", line {first.primary.line} of the program" if first.primary is not None else ""
            yield warning("K857", f"the program is in error: {first.message}{where}", trial.span)
            fired.update(section.rules)
            continue
        if trial.purpose == "near miss" and outcome.fires(section.rules[0]):
            yield warning("K857", f"`{section.rules[0]}` fires where it nearly does", trial.span)
        if not trial.purpose:
            fired.update(name for name in section.rules if outcome.fires(name))
        yield from _expected(outcome, trial)
    for name in section.rules:
        if name not in fired:
            yield warning("K857", f"`{name}` fires in no program of its section", section.span, rule=name)


def _misfits(trial: Trial) -> Iterator[Finding]:
    """The facts of a trial that no input relation can hold."""
    schema = load_schema(rules_path())
    for each in trial.facts:
        for misfit in schema.misfits({each.relation: [each.fact[1]]})[:1]:
            yield warning("K857", misfit, each.span)


def _outcome(outcomes: Outcomes, trial: Trial, texts: Sequence[str]) -> Outcome:
    if trial.rules or trial.facts:
        return outcomes.with_more(trial.text, trial.rules, [each.fact for each in trial.facts])
    return outcomes.of(trial.text, texts)


def _expected(outcome: Outcome, trial: Trial) -> Iterator[Finding]:
    for each in trial.expected:
        relation = outcome.rulebook.relations.get(each.relation)
        if relation is None:
            yield warning("K857", f"there is no relation `{each.relation}`", each.span)
        elif len(relation.columns) != len(each.terms):
            count = len(relation.columns)
            yield warning("K857", f"`{each.relation}` has {count} columns, not {len(each.terms)}", each.span)
        elif not each.holds(outcome.rows(each.relation)):
            what = "is derived, and must not be" if each.absent else "is not derived"
            message = f"`{each.text.lstrip('!')}` {what}"
            yield warning("K857", message, each.span, _near(outcome, each.relation))


def _near(outcome: Outcome, relation: str) -> str:
    """How many tuples there are instead."""
    count = len(outcome.rows(relation))
    return f"the program gives {count or 'no'} {'tuple' if count == 1 else 'tuples'} of `{relation}`"
