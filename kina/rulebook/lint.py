"""Every objection to rule files, in one list."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kina.datalog.lints import lost_rules
from kina.datalog.rules import Rulebook
from kina.datalog.souffle_engine import find_souffle
from kina.datalog.syntax import RuleFile
from kina.diagnostics.finding import Finding
from kina.diagnostics.pages import codes
from kina.rulebook.base import RuleBase
from kina.rulebook.catalogue import catalogue
from kina.rulebook.lint_logic import lint_logic
from kina.rulebook.lint_ops import kinds_of, lint_ops
from kina.rulebook.lint_tests import Beside, lint_tests
from kina.rulebook.lint_text import line_span, lint_text, warning
from kina.rulebook.usage import usages


def lint(
    base: RuleBase,
    files: Sequence[RuleFile] | None = None,
    solver: str = "auto",
    beside: Beside | None = None,
) -> tuple[Finding, ...]:
    """Every objection to `files` of a rule base, or to all of them, in the order of files and lines.

    With `beside`, which gives the tests beside a file, these are run too.
    Raises ProgramError if a file is no rule file, SetupError if the engine cannot be used.
    """
    chosen = base.files if files is None else files
    names = [file.source.name for file in chosen]
    kinds = frozenset(base.table) if files is None and base.alone is None else kinds_of(base, names)
    order = {name: number for number, name in enumerate(names)}
    found = [*lint_text(chosen, codes()), *_meaning(base, kinds, solver)]
    found = [finding for finding in found if finding.primary is None or finding.primary.file in order]
    if beside is not None:
        found += lint_tests(base, chosen, beside, solver)
    return tuple(sorted(_once(found), key=lambda finding: _place(finding, order)))


def _meaning(base: RuleBase, kinds: Collection[str], solver: str) -> Iterator[Finding]:
    yield from _left_out(base)
    yield from lint_logic(base.rulebook, usages(base.rulebook), base.table)
    yield from _lost(base.rulebook)
    yield from lint_ops(base, catalogue(base, solver), kinds)


def _left_out(base: RuleBase) -> Iterator[Finding]:
    """Files of the folder that no other includes."""
    read = {source.name for source in base.rulebook.files}
    for file in base.files:
        if file.source.name not in read and base.alone is None:
            yield warning("K848", "no file includes this one", line_span(file, 1))


def _lost(rulebook: Rulebook) -> Iterator[Finding]:
    """Rules that Soufflé, where it is there, does not find worth evaluating."""
    install = find_souffle()
    lost = lost_rules(install, rulebook) if install is not None else ()
    for rule in rulebook.rules:
        if rule.name in lost:
            message = f"Soufflé leaves `{rule.name}` out: it derives nothing that others do not derive"
            yield warning("K850", message, rule.head.span, rule=rule.name)


def _once(findings: Sequence[Finding]) -> Iterator[Finding]:
    """The findings without those that say the same at the same place, as instances of a component do."""
    seen: set[tuple[object, ...]] = set()
    for finding in findings:
        key = (finding.code, finding.message, finding.primary)
        if key not in seen:
            seen.add(key)
            yield finding


def _place(finding: Finding, order: Mapping[str, int]) -> tuple[int, str, int, str]:
    """Rule files come in their order, tests beside them after them, and what has no place last."""
    if finding.primary is None:
        return len(order) + 1, "", 0, finding.code
    name = finding.primary.file
    return order.get(name, len(order)), name, finding.primary.start, finding.code
