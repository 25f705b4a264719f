"""The stages of Kina in order, one visible call each; every stage is imported when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING

from kina.diagnostics.finding import Finding, Help, ProgramError

if TYPE_CHECKING:
    from kina.additions import Additions
    from kina.diagnose.solved import Solved
    from kina.frontend.ir import Program
    from kina.plan.decisions import Decisions
    from kina.source import Source


@dataclass(frozen=True, slots=True)
class Options:
    """What the user may choose about a check; `mesh` replaces the sizes of axes that the file names.

    `rules` are files, or folders of files, that are added to the rule base.
    """

    solver: str = "auto"
    mesh: tuple[tuple[str, int], ...] = ()
    entry: str | None = None
    on_conflict: str = "error"
    strict: bool = False
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found out: as far as it came, with the milliseconds of each stage."""

    file: str
    source: Source | None = None
    program: Program | None = None
    decisions: Decisions | None = None
    findings: tuple[Finding, ...] = ()
    timings: tuple[tuple[str, float], ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no finding is an error."""
        return not any(finding.severity == "error" for finding in self.findings)


#: Is told the name of each stage when it begins.
Watch = Callable[[str], None]


def _unwatched(_: str) -> None:
    return


@dataclass(slots=True)
class Clock:
    """Tells `watch` of each stage and notes how long it took."""

    watch: Watch = _unwatched
    spent: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.watch(name)
        start = perf_counter()
        try:
            yield
        finally:
            self.spent.append((name, (perf_counter() - start) * 1000))


def check_file(path: str, options: Options, watch: Watch = _unwatched) -> Result:
    """Check the program in the file `path`, `-` being the standard input.

    Raises SetupError if the file cannot be opened or an option contradicts the program.
    """
    try:
        source = open_source(path)
    except ProgramError as problem:
        return Result(path, findings=problem.findings)
    return check(source, options, watch)


def check(source: Source, options: Options, watch: Watch = _unwatched) -> Result:
    """Layouts, plan and findings of a program; its mistakes are findings of the result.

    Raises SetupError if an option contradicts the program or the engine cannot be used.
    """
    clock = Clock(watch)
    program: Program | None = None
    decisions: Decisions | None = None
    from kina.datalog.engine import made_ready

    try:
        with made_ready(options.solver):
            program = build(source, options, clock)
            program, decisions = decide(source, program, options, clock)
            findings = decisions.findings
    except ProgramError as problem:
        findings = _with_tried_helps(source, problem.findings, options)
    from kina.diagnose.allow import allow_sources, apply_allows

    findings = apply_allows(findings, allow_sources(source, program))
    if options.strict:
        findings = tuple(_strictly(finding) for finding in findings)
    return Result(source.name, source, program, decisions, findings, tuple(clock.spent))


def build(
    source: Source,
    options: Options,
    clock: Clock | None = None,
    added: Additions | None = None,
    changed: Source | None = None,
) -> Program:
    """The typed IR of a program, with what is `added`: by default what the options say and lies beside it.

    One of its files may be read as `changed`. Raises ProgramError on its mistakes, SetupError on wrong
    options.
    """
    clock = clock or Clock()
    with clock.stage("read"):
        from kina.additions import additions
        from kina.frontend.reader import read

        if changed is not None and changed.name == source.name:
            source, changed = changed, None
        module = read(source)
        instead = () if changed is None else (read(changed),)
        added = additions(source.name, options.rules) if added is None else added
        beside = [read(each) for each in added.sources]
    with clock.stage("form"):
        from kina.frontend.form import form

        try:
            program = form(module, options.entry, dict(options.mesh) or None, beside, instead)
        except ProgramError as problem:
            raise ProgramError(*(_with_rules_beside(each, source) for each in problem.findings)) from None
        return replace(program, rules=added.rules)


def _with_rules_beside(finding: Finding, source: Source) -> Finding:
    """A finding of an unknown op with the rule file near the program that brings one of that name, if any."""
    if finding.code != "K011" or finding.primary is None:
        return finding
    import shlex

    from kina.additions import bringing

    file = bringing(source.name, finding.primary.text)
    if not file:
        return finding
    help_ = Help(f"`{file}` brings an op of that name: pass `--rules {shlex.quote(file)}`")
    return replace(finding, helps=(help_, *finding.helps))


def decide(
    source: Source, program: Program, options: Options, clock: Clock | None = None
) -> tuple[Program, Decisions]:
    """What the rules say of a typed program, and the program with the annotations that settled its conflicts.

    `source` is what it was formed of: repairs are tried on it. Raises ProgramError if a rule file is at
    fault.
    """
    clock = clock or Clock()
    from kina.diagnose.solved import solve_program

    solved = solve_program(program, options.solver, clock.stage)
    solved.check_rules()
    found: tuple[Finding, ...] = ()
    if options.on_conflict == "cost" and solved.has_conflict:
        with clock.stage("settle"):
            from kina.diagnose.settle import settle

            settled = settle(solved, lambda changed: solve_program(changed, options.solver))
            solved, found = settled.solved, settled.findings
    with clock.stage("load"):
        decisions = solved.decisions()
    with clock.stage("explain"):
        from kina.diagnose.findings import findings

        found += findings(solved, decisions, lambda changed: _attempt(source, changed, options))
    return solved.program, replace(decisions, findings=found)


def _attempt(source: Source, changed: Source, options: Options) -> Solved:
    """What the rules say of a program with a changed file, as far as its plan and its errors need it."""
    from kina.diagnose.solved import solve_program

    return solve_program(build(source, options, changed=changed), options.solver, decisions_only=True)


def _with_tried_helps(source: Source, found: Sequence[Finding], options: Options) -> tuple[Finding, ...]:
    """Findings that stopped a check; edits that they propose are tried if there is one error: others stay."""
    if len(found) > 1 or not any(help_.proposed for each in found for help_ in each.helps):
        return tuple(found)
    from kina.diagnose.findings import tried_help

    def tried(help_: Help) -> Help:
        return tried_help(help_, lambda changed: _attempt(source, changed, options))

    return tuple(replace(each, helps=tuple(map(tried, each.helps))) for each in found)


def fact_files(source: Source, options: Options) -> dict[str, str]:
    """The facts of a program, the entry file `main.dl` and added rules, as files that Soufflé reads, by name.

    Raises ProgramError on the program's mistakes, SetupError on wrong options.
    """
    from kina.facts.dump import dump

    program = build(source, options)
    facts = dump(program)
    files = {
        f"{name}.facts": "".join("\t".join(map(str, row)) + "\n" for row in rows)
        for name, rows in facts.relations.items()
    }
    added = {file.name: file.alone for file in program.rules}
    return {**files, **added, "main.dl": facts.entry}


def open_source(path: str) -> Source:
    """The text of the file `path`, `-` being the standard input.

    Raises SetupError if it cannot be opened, ProgramError if it is not text.
    """
    from kina.frontend.reader import load, read_source

    if path != "-":
        return load(path)
    import sys

    return read_source("<stdin>", sys.stdin.buffer)


def _strictly(finding: Finding) -> Finding:
    return replace(finding, severity="error") if finding.severity == "warning" else finding
