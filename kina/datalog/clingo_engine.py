"""Solves rules with clingo, by grounding alone: stratified rules have no choice left to search.

Symbols are numbered in the order of their text, so that `<` means the same on numbers as on symbols.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import clingo

from kina.datalog.clingo_read import read_atoms
from kina.datalog.clingo_text import Translation, needed, rule_texts, translate
from kina.datalog.divisors import divided_by_zero
from kina.datalog.limits import out_of_time
from kina.datalog.rules import Relation, Rule, Rulebook
from kina.diagnostics.finding import ProgramError, SetupError

Fact = tuple[str | int, ...]
Facts = Mapping[str, Sequence[Fact]]


def clingo_version() -> str:
    """The version of the clingo that is installed."""
    return ".".join(map(str, clingo.version()))


def solve_clingo(
    rulebook: Rulebook, facts: Facts, outputs: Collection[str], time_limit: float | None = None
) -> dict[str, list[Fact]]:
    """The tuples of each output relation, in no order that means anything.

    `time_limit` is in seconds. Raises ProgramError: K812 if a rule divides by zero, K815 at the time limit.
    """
    relations = needed(rulebook, outputs)
    table = _number_symbols(rulebook, facts, relations)
    symbols = {text: number for number, text in enumerate(table)}
    translation = translate(rulebook, symbols, relations)
    job = _Grounding(translation)
    job.parts.append(translation.text)
    for relation in rulebook.relations.values():
        if relation.name in relations and relation.is_input:
            job.parts.append(_fact_text(relation, facts.get(relation.name, ()), symbols, translation))
    _run(job, time_limit)
    return {
        name: _rows(job.control, rulebook.relations[name], translation.predicates[name], table)
        for name in rulebook.relations
        if name in outputs
    }


@dataclass(slots=True)
class _Grounding:
    """One run of the grounder and what it logged."""

    translation: Translation
    parts: list[str] = field(default_factory=list)
    undefined: list[int] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    fault: BaseException | None = None
    control: clingo.Control = field(init=False)

    def __post_init__(self) -> None:
        self.control = clingo.Control(["-Wno-atom-undefined"], self.log, 1000)

    def log(self, code: clingo.MessageCode, message: str) -> None:
        if code is clingo.MessageCode.OperationUndefined:
            line = message.split(":", 2)[1]
            self.undefined.append(int(line) if line.isdigit() else 0)
        else:
            self.problems.append(message)

    def ground(self) -> None:
        try:
            for part in self.parts:
                self.control.add("base", [], part)
            self.control.ground([("base", [])])
        except (RuntimeError, MemoryError) as fault:
            self.fault = fault


def _run(job: _Grounding, time_limit: float | None) -> None:
    """Grounds in a thread: the grounder cannot be stopped, so at the limit it is left behind, a daemon."""
    thread = threading.Thread(target=job.ground, name="clingo", daemon=True)
    thread.start()
    thread.join(time_limit)
    if thread.is_alive():
        raise ProgramError(out_of_time("clingo", time_limit or 0.0))
    for line in job.undefined:
        rule: Rule = job.translation.rules[line - 1]
        if finding := divided_by_zero(rule):
            raise ProgramError(finding)
    if job.fault is not None:
        detail = "; ".join(job.problems[:3]) or str(job.fault) or "out of memory"
        raise SetupError(f"clingo stops: {detail}")


def _number_symbols(rulebook: Rulebook, facts: Facts, relations: Collection[str]) -> list[str]:
    """All symbols that can occur, sorted."""
    found: set[str] = set(rule_texts(rulebook, relations))
    for relation in rulebook.inputs:
        if relation.name not in relations:
            continue
        rows = facts.get(relation.name, ())
        for index, column in enumerate(relation.columns):
            if column.base == "symbol":
                found.update([str(row[index]) for row in rows])
    return sorted(found)


def _fact_text(
    relation: Relation, rows: Iterable[Fact], symbols: Mapping[str, int], translation: Translation
) -> str:
    rows = list(rows)
    if not rows:
        return ""
    name = translation.predicates[relation.name]
    if not relation.columns:
        return f"{name}.\n"
    columns = []
    for index, column in enumerate(relation.columns):
        values = [row[index] for row in rows]
        columns.append([symbols[str(value)] for value in values] if column.base == "symbol" else values)
    pattern = f"{name}({','.join(['%d'] * len(columns))})."
    return "\n".join([pattern % row for row in zip(*columns, strict=True)])


def _rows(control: clingo.Control, relation: Relation, predicate: str, table: list[str]) -> list[Fact]:
    rows = read_atoms(control, predicate, len(relation.columns))
    if not rows or not any(column.base == "symbol" for column in relation.columns):
        return list(rows)
    columns: list[list[str] | tuple[int, ...]] = []
    for column, values in zip(relation.columns, zip(*rows, strict=True), strict=True):
        columns.append([table[value] for value in values] if column.base == "symbol" else values)
    return list(zip(*columns, strict=True))
