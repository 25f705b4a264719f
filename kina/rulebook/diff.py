"""What a change of rules does: to rules, to each op, to programs, and to what the audit says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kina.diagnostics.finding import ProgramError
from kina.rulebook.base import RuleBase
from kina.rulebook.changes import RuleChange, rule_changes
from kina.rulebook.diff_declared import declared_changes
from kina.rulebook.diff_ops import OpChange, op_changes
from kina.rulebook.diff_program import ProgramChange
from kina.rulebook.diff_programs import Compared, compare_programs
from kina.rulebook.sides import Side

if TYPE_CHECKING:
    from kina.audit.outcome import OpReport

Say = Callable[[str], None]
_GROWTH = re.compile(r"bytes\+(\d{1,6})%")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the audit calls "incorrect", or a placement that it calls "missing", under one rule base only.

    `new` holds if it is so under the second one. `bytes` are lost by a missing one, in its example.
    """

    op: str
    what: str
    why: str
    new: bool
    rules: tuple[str, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Diff:
    """Everything that differs between two rule bases; the audit was asked about the ops `audited`."""

    base: str
    head: str
    rules: tuple[RuleChange, ...]
    ops: tuple[OpChange, ...]
    programs: Compared
    audited: tuple[str, ...] = ()
    verdicts: tuple[Verdict, ...] = ()


@dataclass(frozen=True, slots=True)
class Conditions:
    """What makes a comparison fail; `growth` is in percent of a program's bytes, None for any."""

    incorrect: bool = False
    missing: bool = False
    lost: bool = False
    errors: bool = False
    growth: int | None = None

    @property
    def audit(self) -> bool:
        """Whether the audit is asked for."""
        return self.incorrect or self.missing


def conditions(text: str) -> Conditions:
    """`incorrect,missing,lost,errors,bytes+5%` as conditions. ValueError, with what is none, otherwise."""
    found = Conditions()
    for word in filter(None, (part.strip() for part in text.split(","))):
        growth = _GROWTH.fullmatch(word)
        if growth is not None:
            found = replace(found, growth=int(growth[1]))
        elif word in ("incorrect", "missing", "lost", "errors"):
            found = replace(found, **{word: True})
        else:
            raise ValueError(word)
    return found


def diff(
    base: Side,
    head: Side,
    files: Sequence[str],
    most_ops: int | None,
    solver: str,
    say: Say,
) -> Diff:
    """What differs between two rule bases, in themselves, for every op, and in the programs of `files`.

    Raises ProgramError if rules are at fault, with a note that says whose, SetupError if a file cannot be
    opened or the engine cannot be used.
    """
    say("reading rules")
    bases = _read(base), _read(head)
    rules = rule_changes(*(each.rulebook for each in bases))
    if not (rules or declared_changes(*bases)):
        return Diff(base.label, head.label, (), (), Compared((), tuple(files), ()))
    say("asking the rules about every op")
    ops = op_changes(*bases, rules, solver)
    programs = compare_programs(files, *bases, rules, most_ops, solver, say)
    return Diff(base.label, head.label, rules, ops, programs)


def _read(side: Side) -> RuleBase:
    try:
        base = side.rules()
        _ = base.rulebook, base.declared
    except ProgramError as problem:
        note = f"in the rules of {side.label}"
        raise ProgramError(
            *(replace(finding, notes=(*finding.notes, note)) for finding in problem.findings)
        ) from None
    return base


def with_audit(found: Diff, base: Side, head: Side, seed: int, solver: str, jobs: int, say: Say) -> Diff:
    """The same with what the audit says of the ops that changed, under one rule base and not the other.

    Raises SetupError if the audit fails.
    """
    from kina.audit.workers import audit_ops

    kinds = tuple(dict.fromkeys(change.op for change in found.ops))
    if not kinds:
        return found
    reports = []
    for side in (base, head):
        say(f"auditing {', '.join(kinds[:3])} under {side.label}")
        rules = side.rules()
        known = [kind for kind in kinds if kind in rules.table]
        reports.append(audit_ops(known, rules, seed, solver, jobs, lambda _: None))
    before, after = (list(verdicts_of(each, new)) for each, new in zip(reports, (False, True), strict=True))
    names = [{(one.op, one.what, one.why) for one in side} for side in (before, after)]
    verdicts = [one for one in after if (one.op, one.what, one.why) not in names[0]]
    verdicts += [one for one in before if (one.op, one.what, one.why) not in names[1]]
    return replace(found, audited=kinds, verdicts=tuple(verdicts))


def verdicts_of(reports: Sequence[OpReport], new: bool) -> Iterator[Verdict]:
    """What audits found wrong or missing: placements, plans, and claims about attributes."""
    for report in reports:
        for wrong in report.incorrect:
            yield Verdict(report.op, "incorrect", wrong.why, new, wrong.rules, 0)
        for plan in report.misplanned:
            yield Verdict(report.op, "incorrect", plan.why, new, (), 0)
        for claim in report.claims:
            why = f"`{claim.attribute}`, {claim.role}: {claim.why}"
            yield Verdict(report.op, "incorrect", why, new, (), 0)
        for lacking in report.unexplained:
            yield Verdict(report.op, "missing", lacking.where, new, (), lacking.bytes)


def failures(found: Diff, asked: Conditions) -> tuple[str, ...]:
    """Why the comparison fails, one sentence for each condition that is met."""
    out = []
    for what, wanted in (("incorrect", asked.incorrect), ("missing", asked.missing)):
        ops = dict.fromkeys(one.op for one in found.verdicts if one.new and one.what == what)
        if wanted and ops:
            out.append(f"a placement of {_listed(ops)} is {what}")
    lost = dict.fromkeys(change.op for change in found.ops if change.what == "lost")
    if asked.lost and lost:
        out.append(f"a placement of {_listed(lost)} is lost")
    broken = [one.file for one in found.programs.changed if one.errors[1] > one.errors[0]]
    if asked.errors and broken:
        out.append(f"there are errors in {_listed(broken)}")
    if asked.growth is not None:
        grown = [one.file for one in found.programs.changed if _grows(one, asked.growth)]
        if grown:
            out.append(f"bytes grow by more than {asked.growth} % in {_listed(grown)}")
    return tuple(out)


def _grows(change: ProgramChange, percent: int) -> bool:
    before, after = change.bytes
    return after * 100 > before * (100 + percent)


def _listed(names: Sequence[str] | dict[str, None]) -> str:
    """Up to three names, and how many more."""
    shown = [f"`{name}`" for name in list(names)[:3]]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
