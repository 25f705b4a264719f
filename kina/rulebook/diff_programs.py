"""What a change of rules does to programs: layouts, collectives, bytes and findings, and by which rule."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kina.diagnostics.finding import Finding, ProgramError
from kina.facts.dump import Facts, dump
from kina.frontend.ir import Program
from kina.pipeline import Options, build, open_source
from kina.report.types import axes_text, value_type
from kina.rulebook.base import RuleBase
from kina.rulebook.changes import RuleChange
from kina.rulebook.delta import Delta, Tuple
from kina.rulebook.instances import Instance, instance_of, program_of
from kina.rulebook.op_effects import op_effects, speak_of_ops
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
class Compared:
    """The programs that changed, the names of those that did not, and those left out with the reason."""

    changed: tuple[ProgramChange, ...]
    same: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


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


@dataclass(frozen=True, slots=True)
class _Read:
    """A program with its facts."""

    file: str
    program: Program
    facts: Facts


def compare_programs(
    files: Sequence[str],
    base: RuleBase,
    head: RuleBase,
    changes: Sequence[RuleChange],
    most_ops: int | None = None,
    solver: str = "auto",
    say: Callable[[str], None] = lambda _: None,
) -> Compared:
    """What changes in the programs of some files; the plan of one of more than `most_ops` ops is not made.

    Raises SetupError if a file cannot be opened or the engine cannot be used, ProgramError if rules are at
    fault.
    """
    read, left_out = _read(files, say)
    effects = _effects(read, base, head, changes, solver)
    touched: list[tuple[_Read, Delta]] = []
    for each, effect in zip(read, effects, strict=True):
        if effect.rules and most_ops is not None and len(each.program.ops) > most_ops:
            left_out.append((each.file, f"it has {len(each.program.ops):,} ops, and a rule speaks of some"))
        elif effect.rules:
            touched.append((each, effect))
    found = _in_parallel(touched, (base, head), solver, say)
    changed = tuple(change for change in found if change.differs)
    gone = {*(change.file for change in changed), *(file for file, _ in left_out)}
    return Compared(changed, tuple(file for file in files if file not in gone), tuple(left_out))


def _read(files: Sequence[str], say: Callable[[str], None]) -> tuple[list[_Read], list[tuple[str, str]]]:
    read: list[_Read] = []
    left_out: list[tuple[str, str]] = []
    for file in files:
        say(f"reading {file}")
        try:
            program = build(open_source(file), Options())
        except ProgramError as problem:
            left_out.append((file, f"it is in error whatever the rules: {problem.findings[0].message}"))
        else:
            read.append(_Read(file, program, dump(program)))
    return read, left_out


def _effects(
    read: Sequence[_Read], base: RuleBase, head: RuleBase, changes: Sequence[RuleChange], solver: str
) -> list[Delta]:
    """What the changed clauses do to each program. If they speak of single ops, those that are alike are
    looked at once, in all programs together; otherwise every program may be touched by every change."""
    if not speak_of_ops(base, head, changes):
        return [Delta.unknown(change.name for change in changes) for _ in read]
    kept: dict[Instance, int] = {}
    for each in read:
        for op in each.program.ops:
            kept.setdefault(instance_of(each.program, op), len(kept))
    rules = op_effects(program_of(tuple(kept)), base, head, changes, solver)
    return [_of_program(each, kept, rules) for each in read]


def _of_program(read: _Read, kept: Mapping[Instance, int], rules: Mapping[int, tuple[str, ...]]) -> Delta:
    """The rules that do something to the ops of one program, each with those ops."""
    found: dict[str, set[Tuple]] = {}
    for op in read.program.ops:
        for rule in rules.get(kept[instance_of(read.program, op)], ()):
            found.setdefault(rule, set()).add(("", (read.facts.op_names[op.id],)))
    return Delta({rule: frozenset(tuples) for rule, tuples in found.items()}, {})


def _in_parallel(
    touched: Sequence[tuple[_Read, Delta]],
    bases: tuple[RuleBase, RuleBase],
    solver: str,
    say: Callable[[str], None],
) -> list[ProgramChange]:
    """The changes of programs: an engine is a process of its own, so that as many run as there are cores."""
    done: list[str] = []

    def one(each: tuple[_Read, Delta]) -> ProgramChange:
        change = _compared(each[0], each[1], bases, solver)
        done.append(change.file)
        say(f"{len(done)} of {len(touched)} programs compared, the last {change.file}")
        return change

    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        try:
            return list(pool.map(one, touched))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _compared(read: _Read, effect: Delta, bases: tuple[RuleBase, RuleBase], solver: str) -> ProgramChange:
    """The change of one program, which may be none."""
    program = read.program
    before, after = (_outcome(program, base, solver) for base in bases)
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


def _outcome(program: Program, base: RuleBase, solver: str) -> _Outcome:
    from kina.diagnose.findings import findings
    from kina.diagnose.solved import Solved, solve_program

    solved = solve_program(program, solver, rules_for=base.with_entry)
    decisions = solved.decisions()

    def attempt(changed: Source) -> Solved:
        """Repairs of what is in error anyway are not tried: they change no finding's message."""
        if solved.has_conflict:
            raise ProgramError
        return solve_program(build(changed, Options()), solver, rules_for=base.with_entry)

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


def programs_in(paths: Iterable[str]) -> tuple[str, ...]:
    """The `.kina` files that paths name, those of folders by name. SetupError if a path is not there."""
    from pathlib import Path

    from kina.diagnostics.finding import SetupError

    found: dict[str, None] = {}
    for each in paths:
        path = Path(each)
        if path.is_dir():
            found.update(dict.fromkeys(str(file) for file in sorted(path.rglob("*.kina"))))
        elif path.is_file():
            found[each] = None
        else:
            raise SetupError(f"there is no program and no folder `{each}`")
    return tuple(found)
