"""Solves rules with clingo, by grounding alone: stratified rules have no choice left to search.

Symbols are numbered in the order of their text, so that `<` means the same on numbers as on symbols. The
grounder
runs in a child process, since nothing but the end of its process stops it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from kina.datalog.clingo_order import key_types
from kina.datalog.clingo_text import Translation, needed, rule_texts, translate
from kina.datalog.divisors import divided_by_zero
from kina.datalog.limits import out_of_time
from kina.datalog.rules import Relation, Rulebook
from kina.diagnostics.finding import ProgramError, SetupError

Fact = tuple[str | int, ...]
Facts = Mapping[str, Sequence[Fact]]

_CHILD = Path(__file__).with_name("clingo_child.py")


def clingo_version() -> str:
    """The version of the clingo that is installed; raises SetupError if there is none."""
    try:
        return metadata.version("clingo")
    except metadata.PackageNotFoundError:
        raise SetupError("clingo is not installed", "`pip install clingo`") from None


def solve_clingo(
    rulebook: Rulebook, facts: Facts, outputs: Collection[str], time_limit: float | None = None
) -> dict[str, list[Fact]]:
    """The tuples of each output relation, in no order that means anything.

    `time_limit` is in seconds. Raises ProgramError (K812 if a rule divides by zero, K815 at the time limit)
    and
    SetupError if the process fails.
    """
    relations = needed(rulebook, outputs)
    inputs = [relation for relation in rulebook.inputs if relation.name in relations]
    symbols = _Symbols.of(rulebook, inputs, facts, relations)
    translation = translate(rulebook, symbols.numbers, relations, key_types(symbols.sizes))
    parts = [translation.text]
    parts += [_fact_text(each, facts.get(each.name, ()), symbols.numbers, translation) for each in inputs]
    wanted = [relation for relation in rulebook.relations.values() if relation.name in outputs]
    header = json.dumps([[translation.predicates[each.name], len(each.columns) + 1] for each in wanted])
    answer = _run(f"{header}\n{''.join(parts)}", translation, time_limit)
    rows = _tables(answer, [len(each.columns) + 1 for each in wanted])
    return {
        relation.name: _named(columns, relation, symbols.table)
        for relation, columns in zip(wanted, rows, strict=True)
    }


@dataclass(frozen=True, slots=True)
class _Symbols:
    """All symbols that can occur, sorted, their numbers, and how many there are of each type in the facts."""

    table: list[str]
    numbers: dict[str, int]
    sizes: dict[str, int]

    @staticmethod
    def of(
        rulebook: Rulebook, inputs: Iterable[Relation], facts: Facts, relations: Collection[str]
    ) -> _Symbols:
        by_type: dict[str, set[str]] = {}
        for relation in inputs:
            rows = facts.get(relation.name, ())
            for index, column in enumerate(relation.columns):
                if column.base == "symbol":
                    by_type.setdefault(column.type, set()).update([str(row[index]) for row in rows])
        table = sorted(set(rule_texts(rulebook, relations)).union(*by_type.values()))
        numbers = {text: number for number, text in enumerate(table)}
        return _Symbols(table, numbers, {name: len(found) for name, found in by_type.items()})


def _run(text: str, translation: Translation, time_limit: float | None) -> bytes:
    """What the child wrote; it is killed if the time is over or Kina is interrupted."""
    clingo_version()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    try:
        done = subprocess.run(
            [sys.executable, "-P", str(_CHILD)],
            input=text.encode("utf-8"),
            capture_output=True,
            timeout=time_limit,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise out_of_time("clingo", time_limit or 0.0) from None
    except OSError as fault:
        raise SetupError(f"cannot run `{sys.executable}`: {fault.strerror or fault}") from None
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    for line in lines:
        if undefined := re.fullmatch(r"undefined (\d+)", line):
            finding = divided_by_zero(translation.rules[int(undefined.group(1)) - 1])
            if finding is not None:
                raise ProgramError(finding)
    if done.returncode:
        raise SetupError(
            f"clingo ends with exit code {done.returncode}: {'; '.join(lines[-3:]) or 'no message'}"
        )
    return done.stdout


def _fact_text(
    relation: Relation, rows: Sequence[Fact], symbols: Mapping[str, int], translation: Translation
) -> str:
    if not rows:
        return ""
    name = translation.predicates[relation.name]
    columns = []
    for index, column in enumerate(relation.columns):
        values = [row[index] for row in rows]
        columns.append([symbols[str(value)] for value in values] if column.base == "symbol" else values)
    if not columns:
        return f"{name}(0).\n"
    pattern = f"{name}({','.join(['0', *['%d'] * len(columns)])})."
    return "\n".join([pattern % row for row in zip(*columns, strict=True)]) + "\n"


def _tables(answer: bytes, arities: Iterable[int]) -> Iterator[list[array[int]]]:
    """The columns of each predicate, the first one left out."""
    place = 0
    for arity in arities:
        size = int.from_bytes(answer[place : place + 8], "little") * arity * 4
        numbers = array("i", answer[place + 8 : place + 8 + size])
        if sys.byteorder == "big":
            numbers.byteswap()
        place += 8 + size
        yield [numbers[index::arity] for index in range(arity)]


def _named(columns: list[array[int]], relation: Relation, table: list[str]) -> list[Fact]:
    if not relation.columns:
        return [() for _ in columns[0]]
    shown: list[Sequence[str | int]] = []
    for column, values in zip(relation.columns, columns[1:], strict=True):
        shown.append([table[value] for value in values] if column.base == "symbol" else values)
    return list(zip(*shown, strict=True))
