"""Solves rules with Soufflé, in a child process that reads and writes a folder of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kina.datalog import cache as kept
from kina.datalog.compiled import Compiled, Rules, Table, compiled
from kina.datalog.fact import Fact, Facts
from kina.datalog.limits import out_of_time
from kina.datalog.process import run_child
from kina.datalog.souffle_program import program
from kina.diagnostics.finding import Finding, ProgramError, SetupError

if TYPE_CHECKING:
    from kina.datalog.rules import Rule

#: Names of rules survive compilation from this version on.
OLDEST = (2, 5)

GET_SOUFFLE = (
    "Soufflé is built from https://github.com/souffle-lang/souffle (2.5 or later), then put on `PATH` or "
    "named by `KINA_SOUFFLE`; without it `--solver clingo` gives the same answers"
)

#: Passes that look for what the documented subset of the language has not; a fifth of the start.
_FOREIGN = ("ResolveAnonymousRecordAliases", "SubsumptionQualifierTransformer")

#: Passes that only object: a Soufflé that accepted the same rules before need not run them again.
_CHECKS = ("SemanticChecker", "GroundedTermsChecker", "ExecutionPlanChecker")


@dataclass(frozen=True, slots=True)
class SouffleInstall:
    path: str
    version: str


def find_souffle() -> SouffleInstall | None:
    """The Soufflé named by `KINA_SOUFFLE`, else the one on `PATH`, None if there is none.

    Raises SetupError if the one found does not run or is older than 2.5.
    """
    named = os.environ.get("KINA_SOUFFLE")
    path = shutil.which(named or "souffle")
    if path is None:
        if named:
            raise SetupError(f"`KINA_SOUFFLE` names `{named}`, which is not a program", GET_SOUFFLE)
        return None
    version = _version(path)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        raise SetupError(f"the Soufflé at `{path}` has version {version}, and 2.5 is needed", GET_SOUFFLE)
    return SouffleInstall(path, version)


@cache
def _version(path: str) -> str:
    try:
        run = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as fault:
        raise SetupError(f"the Soufflé at `{path}` does not run: {fault}", GET_SOUFFLE) from None
    found = re.search(r"Version:\s*v?(\d+\.\d+(?:[.\-+\w]*))", run.stdout)
    if found is None:
        raise SetupError(f"`{path}` does not tell a version of Soufflé", GET_SOUFFLE)
    return found.group(1)


def solve_souffle(
    install: SouffleInstall,
    rules: Rules,
    facts: Facts,
    outputs: Collection[str],
    time_limit: float | None = None,
) -> dict[str, list[Fact]]:
    """The tuples of each output relation; relations that no directive outputs are written for this run only.

    `time_limit` is in seconds. Raises ProgramError (K812) if a rule divides by zero, SetupError at the time
    limit and if the process fails. The folder it works in is gone afterwards, however this ends.
    """
    rules = compiled(rules)
    relations = rules.tables
    accepted = _Accepted.of(rules, install)
    with _work_folder() as folder:
        work = Path(folder)
        (work / "out").mkdir()
        task = _part(work, rules, facts, outputs) if accepted.known else _whole(work, rules, facts, outputs)
        command = [install.path, "--no-preprocessor", "-w", f"--disable-transformers={accepted.needless}"]
        command += ["-F", str(work / "in"), "-D", str(work / "out"), *task.options, str(work / "main.dl")]
        _run(command, work, lambda stderr: _divided(stderr, rules, task.lines), time_limit)
        accepted.remember(rules)
        return {name: _read(work / "out", relations[name]) for name in relations if name in outputs}


@dataclass(frozen=True, slots=True)
class _Task:
    """What was written into the work folder: options to read it, and which rule each line of `main.dl` is.

    There are no `lines` if it is as the user wrote it.
    """

    options: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()


def _whole(work: Path, rules: Compiled, facts: Facts, outputs: Collection[str]) -> _Task:
    """All rules as they stand in their files, so that Soufflé says where they are wrong."""
    tables = rules.tables
    _write_facts(work / "in", rules.inputs, facts)
    extra = "".join(f".output {name}\n" for name in tables if name in outputs and not tables[name].is_output)
    (work / "main.dl").write_text(f"{rules.entry}\n{extra}", encoding="utf-8", newline="\n")
    for file in rules.added:
        (work / file.name).write_text(file.alone, encoding="utf-8", newline="\n")
    return _Task(tuple(word for place in rules.search for word in ("-I", str(Path(place).resolve()))))


def _part(work: Path, rules: Compiled, facts: Facts, outputs: Collection[str]) -> _Task:
    """Those rules that can fire: reading them takes as long as it takes to solve a small program."""
    written = program(rules.parts, rules.live(facts), rules.tables, outputs)
    _write_facts(work / "in", [rules.tables[name] for name in written.inputs], facts)
    (work / "main.dl").write_text(written.text, encoding="utf-8", newline="\n")
    return _Task(lines=written.lines)


@dataclass(frozen=True, slots=True)
class _Accepted:
    """Whether this Soufflé is known to accept these rules; `key` is empty where that is not kept."""

    key: str
    known: bool

    @staticmethod
    def of(rules: Compiled, install: SouffleInstall) -> _Accepted:
        if not rules.key:
            return _Accepted("", False)
        parts = (rules.key, install.path, install.version)
        key = kept.digest([part.encode("utf-8", "surrogateescape") for part in parts])
        return _Accepted(key, kept.read(key) is True)

    @property
    def needless(self) -> str:
        """The passes that need not run."""
        return ",".join((*_FOREIGN, *_CHECKS) if self.known else _FOREIGN)

    def remember(self, rules: Compiled) -> None:
        if self.key and not self.known:
            kept.write(self.key, True)
            rules.keep_parts()


def _work_folder() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="kina-", ignore_cleanup_errors=True)
    except OSError as fault:
        raise SetupError(f"cannot make a temporary folder: {fault.strerror or fault}") from None


def _run(
    command: list[str],
    folder: Path,
    divided: Callable[[str], Finding | None],
    time_limit: float | None,
) -> None:
    """Runs the process to its end; it is killed if the time is over or Kina is interrupted.

    `divided` finds a division by zero in what the process says.
    """
    try:
        done = run_child(command, b"", time_limit, folder, _environment(folder))
    except subprocess.TimeoutExpired:
        raise out_of_time("Soufflé", time_limit or 0.0) from None
    except OSError as fault:
        raise SetupError(f"cannot run `{command[0]}`: {fault.strerror or fault}", GET_SOUFFLE) from None
    stderr = done.stderr.decode("utf-8", "replace")
    if (finding := divided(stderr)) is not None:
        raise ProgramError(finding)
    if done.returncode == 0:
        return
    lines = [line for line in stderr.splitlines() if line.strip() and not line.startswith("Warning")]
    first = "\n".join(lines[:4]) or "it printed no message"
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise SetupError(f"Soufflé was stopped by {name}: {first}")
    raise SetupError(f"Soufflé ends with exit code {done.returncode}: {first}")


def _environment(folder: Path) -> dict[str, str]:
    """The environment of the child: its temporary files go where they are removed."""
    return {**os.environ, "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}


def _divided(stderr: str, rules: Compiled, lines: Sequence[int]) -> Finding | None:
    """The finding of the rule that divided by zero, if one did."""
    if "Floating-point arithmetic exception" not in stderr:
        return None
    from kina.datalog.divisors import divided_by_zero

    place = re.search(r"in file (\S*?) \[(\d+):(\d+)", stderr)
    candidates = [(rule, finding) for rule in rules.rulebook.rules if (finding := divided_by_zero(rule))]
    for rule, finding in candidates:
        if place is not None and _at(rule, place, lines):
            return finding
    return candidates[0][1] if candidates else None


def _at(rule: Rule, place: re.Match[str], lines: Sequence[int]) -> bool:
    """Soufflé counts a clause from its annotations on, which stand a few lines above the head."""
    line = int(place.group(2))
    if lines:
        return lines[line - 1] == rule.id
    span = rule.clause.span
    return Path(span.file).name == Path(place.group(1)).name and line in range(span.line - 6, span.line + 1)


def _write_facts(folder: Path, inputs: Iterable[Table], facts: Facts) -> None:
    try:
        folder.mkdir()
        for relation in inputs:
            text = fact_text(relation, facts.get(relation.name, ()))
            (folder / f"{relation.name}.facts").write_text(text, encoding="utf-8", newline="\n")
    except OSError as fault:
        raise SetupError(f"cannot write the facts: {fault.strerror or fault}") from None


def fact_text(relation: Table, rows: Sequence[Fact]) -> str:
    """The rows as tab-separated lines; ValueError if a symbol holds a tab or a line break."""
    if not relation.columns:
        return "()\n" if rows else ""
    pattern = "\t".join(["%s"] * len(relation.columns)) + "\n"
    text = "".join([pattern % row for row in rows])
    if (
        text.count("\n") != len(rows)
        or text.count("\t") != len(rows) * (len(relation.columns) - 1)
        or "\r" in text
    ):
        raise ValueError(f"a symbol of `{relation.name}` holds a tab or a line break")
    return text


def _read(folder: Path, relation: Table) -> list[Fact]:
    path = folder / f"{relation.name}.csv"
    try:
        text = path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        raise SetupError(f"Soufflé wrote no readable `{path.name}`") from None
    lines = text.split("\n")
    lines.pop()
    if not relation.columns:
        return [() for _ in lines]
    if not lines:
        return []
    columns: list[Sequence[str] | list[int]] = []
    for column, values in zip(
        relation.columns, zip(*[line.split("\t") for line in lines], strict=True), strict=True
    ):
        columns.append(values if column.base == "symbol" else list(map(int, values)))
    return list(zip(*columns, strict=True))
