"""What a change of rules does to one program: layouts, collectives, bytes and findings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kina.additions import Additions
from kina.diagnostics.finding import Finding, ProgramError
from kina.facts.dump import Facts
from kina.frontend.ir import Program
from kina.pipeline import Options, build
from kina.report.types import axes_text, value_type
from kina.rulebook.base import RuleBase
from kina.rulebook.delta import Delta
from kina.source import Source, Span

_INDEX = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that was so under one rule base, "" for nothing, and is so under the other.

    `about` is the tensor or the code, with `[*]` for the `times` alike places of repeated layers.
    """

    about: str
    before: str
    after: str
    times: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProgramChange:
    """A program of `file` whose decisions are others now. Bytes are those that one device moves, and holds.

    Layouts and collectives are compared where neither rule base finds an error.
    """

    file: str
    rules: tuple[str, ...]
    layouts: tuple[Difference, ...]
    collectives: tuple[Difference, ...]
    findings: tuple[Difference, ...]
    bytes: tuple[int, int]
    peak_bytes: tuple[int, int]
    errors: tuple[int, int]

    @property
    def differs(self) -> bool:
        """Whether anything is otherwise."""
        pairs = (self.bytes, self.peak_bytes, self.errors)
        return bool(self.layouts or self.collectives or self.findings) or any(a != b for a, b in pairs)


@dataclass(frozen=True, slots=True)
class Read:
    """A program with its facts, as it is under both rule bases; its tensors and ops are the same.

    `added` is what it has under each of them, and `alone` holds if some of that is in none of them.
    """

    file: str
    source: Source
    programs: tuple[Program, Program]
    facts: Facts
    added: tuple[Additions, Additions]
    alone: bool

    @property
    def program(self) -> Program:
        """The program under the second rule base."""
        return self.programs[1]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What one rule base decides of a program: types of values, collectives, findings, and bytes."""

    types: tuple[str, ...]
    collectives: tuple[tuple[str, int, str, int], ...]
    findings: tuple[Finding, ...]
    bytes: int
    peak_bytes: int

    @property
    def errors(self) -> int:
        return sum(finding.severity == "error" for finding in self.findings)


def program_change(read: Read, effect: Delta, bases: tuple[RuleBase, RuleBase], solver: str) -> ProgramChange:
    """The change of one program, which may be none."""
    program = read.program
    before, after = (
        _outcome(read.source, each, added, base, solver)
        for each, added, base in zip(read.programs, read.added, bases, strict=True)
    )
    near = _Near.of(program, read.facts)
    sound = not (before.errors or after.errors)
    return ProgramChange(
        read.file,
        effect.rules,
        tuple(_layouts(program, before, after, effect, near)) if sound else (),
        tuple(_collectives(program, before, after, effect, near)) if sound else (),
        tuple(_findings(before, after, effect)),
        (before.bytes, after.bytes),
        (before.peak_bytes, after.peak_bytes),
        (before.errors, after.errors),
    )


def _outcome(source: Source, program: Program, added: Additions, base: RuleBase, solver: str) -> _Outcome:
    from kina.diagnose.findings import findings
    from kina.diagnose.solved import Solved, solve_program

    solved = solve_program(program, solver, rules_for=base.with_entry)
    try:
        decisions = solved.decisions()
    except ProgramError as problem:
        # The rules contradict each other on it, and nothing was decided.
        return _Outcome((), (), problem.findings, 0, 0)

    def attempt(changed: Source) -> Solved:
        """Repairs of what is in error anyway are not tried: they change no finding's message."""
        if solved.has_conflict:
            raise ProgramError
        again = build(source, Options(), added=added, changed=changed)
        return solve_program(again, solver, rules_for=base.with_entry)

    return _Outcome(
        tuple(value_type(program, decisions, value.id) for value in program.values),
        tuple(
            (f"{each.kind}({axes_text(each.axes)})", each.value, each.op, each.bytes)
            for each in decisions.collectives
        ),
        findings(solved, decisions, attempt),
        decisions.cost_bytes,
        decisions.peak_bytes,
    )


@dataclass(frozen=True, slots=True)
class _Near:
    """For each value the names in facts of what is next to it: itself, and the ops that make and use it."""

    names: Mapping[int, frozenset[str]]
    ops: Mapping[str, str]

    @staticmethod
    def of(program: Program, facts: Facts) -> _Near:
        names: dict[int, set[str]] = {value.id: {facts.value_names[value.id]} for value in program.values}
        for op in program.ops:
            for value in (*op.operands, *op.results):
                names[value].add(facts.op_names[op.id])
        ops = {program.values[op.results[0]].name: facts.op_names[op.id] for op in program.ops}
        return _Near({value: frozenset(each) for value, each in names.items()}, ops)


def _layouts(
    program: Program, before: _Outcome, after: _Outcome, effect: Delta, near: _Near
) -> Iterator[Difference]:
    found: dict[tuple[str, str, str, tuple[str, ...]], int] = {}
    for value in program.values:
        old, new = before.types[value.id], after.types[value.id]
        if old != new:
            key = (_INDEX.sub("[*]", value.name), old, new, effect.about(near.names[value.id]))
            found[key] = found.get(key, 0) + 1
    for (name, old, new, rules), times in found.items():
        yield Difference(name, old, new, times, rules)


def _collectives(
    program: Program, before: _Outcome, after: _Outcome, effect: Delta, near: _Near
) -> Iterator[Difference]:
    """Collectives that came, went, or move another number of bytes, those about one tensor side by side."""
    old, new = Counter(before.collectives), Counter(after.collectives)
    gone, come = list((old - new).elements()), list((new - old).elements())
    found: Counter[tuple[str, str, str, tuple[str, ...]]] = Counter()
    for one, two in _paired(gone, come):
        known = one or two
        assert known is not None
        _, value, op, _ = known
        rules = effect.about(near.names[value] | {near.ops.get(op, op)})
        found[(_INDEX.sub("[*]", program.values[value].name), _moves(one), _moves(two), rules)] += 1
    for (name, moved, moves, rules), times in found.items():
        yield Difference(name, moved, moves, times, rules)


_Collective = tuple[str, int, str, int]


def _paired(
    gone: Sequence[_Collective], come: Sequence[_Collective]
) -> Iterator[tuple[_Collective | None, _Collective | None]]:
    waiting: dict[int, list[_Collective]] = {}
    for each in come:
        waiting.setdefault(each[1], []).append(each)
    for each in gone:
        others = waiting.get(each[1], [])
        yield each, others.pop(0) if others else None
    for others in waiting.values():
        yield from ((None, each) for each in others)


def _moves(collective: _Collective | None) -> str:
    return "" if collective is None else f"{collective[0]}, {collective[3]:,} bytes"


def _findings(before: _Outcome, after: _Outcome, effect: Delta) -> Iterator[Difference]:
    old, new = (Counter(map(_line, outcome.findings)) for outcome in (before, after))
    for (code, text), times in (old - new).items():
        yield Difference(code, text, "", times, effect.rules)
    named = {finding.code: finding.rule for finding in after.findings if finding.rule}
    for (code, text), times in (new - old).items():
        rules = (named[code],) if named.get(code) in effect.rules else effect.rules
        yield Difference(code, "", text, times, rules)


def _line(finding: Finding) -> tuple[str, str]:
    where = _place(finding.primary)
    return finding.code, f"{finding.severity}: {finding.message}{where}"


def _place(span: Span | None) -> str:
    return f", line {span.line}" if span is not None else ""
