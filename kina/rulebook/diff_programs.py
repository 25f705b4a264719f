"""What a change of rules does to programs: layouts, collectives, bytes and findings, and by which rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kina.additions import Additions, additions
from kina.diagnostics.finding import ProgramError
from kina.facts.dump import dump
from kina.frontend.ir import Program
from kina.pipeline import Options, build, open_source
from kina.rulebook.base import RuleBase
from kina.rulebook.changes import RuleChange
from kina.rulebook.delta import Delta, Tuple
from kina.rulebook.diff_declared import alike, cause, declared_changes, own_additions
from kina.rulebook.diff_program import ProgramChange, Read, program_change
from kina.rulebook.instances import Instance, instance_of, program_of
from kina.rulebook.op_effects import op_effects, speak_of_ops
from kina.source import Source


@dataclass(frozen=True, slots=True)
class Compared:
    """The programs that changed, the names of those that did not, and those left out with the reason."""

    changed: tuple[ProgramChange, ...]
    same: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]


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
    read, left_out = _read(files, (base, head), say)
    effects = _effects(read, base, head, changes, solver)
    declared = declared_changes(base, head)
    effects = [_redeclared(each, effect, declared) for each, effect in zip(read, effects, strict=True)]
    touched: list[tuple[Read, Delta]] = []
    for each, effect in zip(read, effects, strict=True):
        if effect.rules and most_ops is not None and len(each.program.ops) > most_ops:
            left_out.append((each.file, f"it has {len(each.program.ops):,} ops; `--all` plans it"))
        elif effect.rules:
            touched.append((each, effect))
    found = _in_parallel(touched, (base, head), solver, say)
    changed = tuple(change for change in found if change.differs)
    gone = {*(change.file for change in changed), *(file for file, _ in left_out)}
    return Compared(changed, tuple(file for file in files if file not in gone), tuple(left_out))


def _read(
    files: Sequence[str], bases: tuple[RuleBase, RuleBase], say: Callable[[str], None]
) -> tuple[list[Read], list[tuple[str, str]]]:
    read: list[Read] = []
    left_out: list[tuple[str, str]] = []
    for file in files:
        say(f"reading {file}")
        try:
            found = _read_one(file, bases)
        except ProgramError as problem:
            left_out.append((file, f"it is in error whatever the rules: {problem.findings[0].message}"))
            continue
        if isinstance(found, str):
            left_out.append((file, found))
        else:
            read.append(found)
    return read, left_out


def _read_one(file: str, bases: tuple[RuleBase, RuleBase]) -> Read | str:
    """A program under both rule bases, or why it is not compared. ProgramError if it is wrong under both."""
    source = open_source(file)
    beside = additions(file, ())
    added = tuple(own_additions(beside, base, bases) for base in bases)
    made = [_built(source, each) for each in (added if added[0] != added[1] else added[:1])]
    faults = [each for each in made if isinstance(each, ProgramError)]
    if len(faults) == len(made):
        raise faults[-1]
    if faults:
        which = "second" if made[0] is not faults[0] else "first"
        return f"it is in error with the ops of the {which} rule base: {faults[0].findings[0].message}"
    before, after = (each for each in (made[0], made[-1]) if isinstance(each, Program))
    if not alike(before, after):
        return "its tensors and ops are others now"
    alone = len(added[1].rules) > len(bases[1].added)
    return Read(file, source, (before, after), dump(after), (added[0], added[1]), alone)


def _built(source: Source, added: Additions) -> Program | ProgramError:
    try:
        return build(source, Options(), added=added)
    except ProgramError as problem:
        return problem


def _redeclared(read: Read, effect: Delta, declared: Collection[str]) -> Delta:
    """The same with the declarations of ops that the program has, and that are others now."""
    names = {read.facts.op_names[op.id]: op.kind for op in read.program.ops if op.kind in declared}
    gained = dict(effect.gained)
    for kind in dict.fromkeys(names.values()):
        gained[cause(kind)] = frozenset(("", (name,)) for name, each in names.items() if each == kind)
    return Delta(gained, effect.lost)


def _effects(
    read: Sequence[Read], base: RuleBase, head: RuleBase, changes: Sequence[RuleChange], solver: str
) -> list[Delta]:
    """What the changed clauses do to each program. If they speak of single ops, those that are alike are
    looked at once, in all programs together; otherwise every program may be touched by every change."""
    if not speak_of_ops(base, head, changes):
        return [Delta.unknown(change.name for change in changes) for _ in read]
    kept: dict[Instance, int] = {}
    for each in read:
        for op in each.program.ops:
            kept.setdefault(instance_of(each.program, op), len(kept))
    rules = op_effects(program_of(tuple(kept), head.declared), base, head, changes, solver)
    # Rules that are added to a program may read what others say.
    unknown = Delta.unknown(change.name for change in changes)
    return [unknown if each.alone else _of_program(each, kept, rules) for each in read]


def _of_program(read: Read, kept: Mapping[Instance, int], rules: Mapping[int, tuple[str, ...]]) -> Delta:
    """The rules that do something to the ops of one program, each with those ops."""
    found: dict[str, set[Tuple]] = {}
    for op in read.program.ops:
        for rule in rules.get(kept[instance_of(read.program, op)], ()):
            found.setdefault(rule, set()).add(("", (read.facts.op_names[op.id],)))
    return Delta({rule: frozenset(tuples) for rule, tuples in found.items()}, {})


def _in_parallel(
    touched: Sequence[tuple[Read, Delta]],
    bases: tuple[RuleBase, RuleBase],
    solver: str,
    say: Callable[[str], None],
) -> list[ProgramChange]:
    """The changes of programs: an engine is a process of its own, so that as many run as there are cores."""
    done: list[str] = []

    def one(each: tuple[Read, Delta]) -> ProgramChange:
        change = program_change(each[0], each[1], bases, solver)
        done.append(change.file)
        say(f"{len(done)} of {len(touched)} programs compared, the last {change.file}")
        return change

    with ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0)))) as pool:
        try:
            return list(pool.map(one, touched))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


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
