"""Solves rules with clingo, by grounding alone: stratified rules have no choice left to search.

Symbols are numbered in the order of their text, so that `<` means the same on numbers as on symbols. The
grounder runs in a child process, since nothing but the end of its process stops it.
"""

from __future__ import annotations

import json
import re
import sys
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from kina.datalog.clingo_alike import Alike, Written, numbered, of_models, words, worthwhile, write_out
from kina.datalog.clingo_process import Answer, ask, waiting
from kina.datalog.compiled import Asp, Compiled, Rules, Table, compiled
from kina.datalog.fact import Fact, Facts
from kina.diagnostics.finding import Finding, ProgramError, SetupError

#: A type is a key if it has at least this share of the symbols of the type that has most.
_KEY_SHARE = 1 / 16

#: A relation in the text of an answer set program.
_PREDICATE = re.compile(r"\br\d+")

#: With no more symbols than this of any type, all types are keys: no order of joins is slow.
_FEW = 256


def solve_clingo(
    rules: Rules, facts: Facts, outputs: Collection[str], time_limit: float | None = None
) -> dict[str, list[Fact]]:
    """The tuples of each output relation, in no order that means anything.

    `time_limit` is in seconds. Raises ProgramError (K812) if a rule divides by zero, SetupError at the time
    limit and if the process fails.
    """
    return run_clingo(rules, facts, outputs, time_limit)[0]


def run_clingo(
    rules: Rules,
    facts: Facts,
    outputs: Collection[str],
    time_limit: float | None = None,
    alike: Alike | None = None,
) -> tuple[dict[str, list[Fact]], str]:
    """The same as `solve_clingo`, and the version of clingo; what ops are `alike` only saves time."""
    rules = compiled(rules)
    texts = _texts(rules.inputs, facts)
    keys = _key_types({name: len(found) for name, found in texts.items()})
    symbols = set[str]().union(*texts.values())
    live = rules.live(facts).rules
    if alike is None or not worthwhile(alike):
        return _run(rules, facts, symbols, outputs, rules.asp(outputs, keys).only(live), time_limit)
    asp = rules.asp(outputs, keys, rules.op_local(alike.own)).only(live)
    models = of_models(rules, facts, alike)
    named = set[str]().union(*_texts(rules.inputs, models).values())
    with waiting():
        found, _ = _run(rules, models, named, asp.given, rules.asp(asp.given, keys).only(live), time_limit)
        return _run(rules, facts, symbols, outputs, asp, time_limit, _Given(found, alike))


@dataclass(frozen=True, slots=True)
class _Given:
    """What was derived of the first op of each group."""

    relations: Mapping[str, Sequence[Fact]]
    alike: Alike


def _run(
    rules: Compiled,
    facts: Facts,
    symbols: Collection[str],
    outputs: Collection[str],
    asp: Asp,
    time_limit: float | None,
    given: _Given | None = None,
) -> tuple[dict[str, list[Fact]], str]:
    used = {*symbols, *asp.constants}
    for name, rows in given.relations.items() if given else ():
        used.update(words(rules.tables[name], rows))
    ordered = sorted(used)
    numbers = {text: number for number, text in enumerate(ordered)}
    wanted = [table for table in rules.tables.values() if table.name in outputs]
    answer = ask(_question(rules, asp, facts, numbers, wanted, given), time_limit)
    version = _check(answer, rules, asp)
    columns = _tables(answer.output, [len(each.columns) + 1 for each in wanted])
    relations = {
        table.name: _named(found, table, ordered) for table, found in zip(wanted, columns, strict=True)
    }
    return relations, version


def _texts(inputs: Iterable[Table], facts: Facts) -> dict[str, set[str]]:
    """The symbols of each type in the facts."""
    texts: dict[str, set[str]] = {}
    for table in inputs:
        rows = facts.get(table.name, ())
        for place, column in enumerate(table.columns):
            if column.base == "symbol":
                texts.setdefault(column.type, set()).update(map(str, map(itemgetter(place), rows)))
    return texts


def _key_types(sizes: Mapping[str, int]) -> frozenset[str]:
    """The types whose symbols tell much, from the number of symbols of each."""
    most = max(sizes.values(), default=0)
    if most <= _FEW:
        return frozenset(sizes)
    return frozenset(name for name, size in sizes.items() if size >= most * _KEY_SHARE)


def _question(
    rules: Compiled,
    asp: Asp,
    facts: Facts,
    numbers: Mapping[str, int],
    wanted: Iterable[Table],
    given: _Given | None,
) -> Iterator[bytes]:
    """What the process reads: a line of JSON, the rules, and the facts, relation by relation."""
    predicates = {name: f"r{index}" for index, name in enumerate(rules.tables)}
    text = asp.text.encode()
    shown = [[predicates[table.name], len(table.columns) + 1] for table in wanted]
    # Rules that cannot fire were left out, and with them whatever only they read.
    read = {*_PREDICATE.findall(asp.text), *(predicate for predicate, _ in shown)}
    header = {
        "wanted": shown,
        "rules": len(text),
        "constants": [numbers[constant] for constant in asp.constants],
    }
    yield json.dumps(header).encode() + b"\n"
    yield text
    known = [table for table in rules.tables.values() if predicates[table.name] in read]
    for table, written in _atoms(known, facts, numbers, given):
        head = [predicates[table.name], len(table.columns) + 1, written.atoms]
        yield json.dumps(head).encode() + b"\n"
        yield written.data
    yield b"null\n"


def _atoms(
    tables: Iterable[Table], facts: Facts, numbers: Mapping[str, int], given: _Given | None
) -> Iterator[tuple[Table, Written]]:
    """Those of the relations that are given, and their atoms."""
    names = numbered(given.alike, numbers) if given is not None else []
    for table in tables:
        if given is not None and table.name in given.relations:
            yield table, write_out(table, given.relations[table.name], given.alike, names, numbers)
        elif table.is_input and (rows := facts.get(table.name)):
            yield table, Written(len(rows), _packed(table, rows, numbers))


def _packed(table: Table, rows: Sequence[Fact], numbers: Mapping[str, int]) -> bytes:
    """The arguments of the atoms of an input relation, row by row, each row with a 0 before it."""
    width = len(table.columns) + 1
    packed = array("i", bytes(4 * width * len(rows)))
    for place, column in enumerate(table.columns):
        values = map(itemgetter(place), rows)
        symbols = column.base == "symbol"
        packed[place + 1 :: width] = array(
            "i", map(numbers.__getitem__, map(str, values)) if symbols else values
        )
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def _check(answer: Answer, rules: Compiled, asp: Asp) -> str:
    """The version of clingo; raises what went wrong in the process."""
    version = ""
    for line in answer.errors:
        if line == "missing":
            raise SetupError("clingo is not installed", "`pip install clingo`")
        version = version or line.removeprefix("version ")
        if undefined := re.fullmatch(r"undefined (\d+)", line):
            finding = _divided_by_zero(rules, asp, int(undefined.group(1)) - 1)
            if finding is not None:
                raise ProgramError(finding)
    if answer.code:
        reason = "; ".join(answer.errors[-3:]) or "no message"
        raise SetupError(f"clingo ends with exit code {answer.code}: {reason}")
    return version


def _divided_by_zero(rules: Compiled, asp: Asp, line: int) -> Finding | None:
    from kina.datalog.divisors import divided_by_zero

    return divided_by_zero(rules.rulebook.rules[asp.lines[line]])


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


def _named(columns: list[array[int]], relation: Table, table: list[str]) -> list[Fact]:
    if not relation.columns:
        return [() for _ in columns[0]]
    shown: list[Sequence[str | int]] = []
    for column, values in zip(relation.columns, columns[1:], strict=True):
        shown.append([table[value] for value in values] if column.base == "symbol" else values)
    return list(zip(*shown, strict=True))
