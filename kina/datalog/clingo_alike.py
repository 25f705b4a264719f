"""Derives what rules say of single ops once for all alike ops: clingo takes its time for each tuple.

Two runs: the rules of op families on one op of each group, then all other rules on the whole program, with
the tuples of the first run written out for the other ops of each group. The relations come out the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina.datalog.compiled import Compiled, Table
from kina.datalog.fact import Fact, Facts

#: The types of the columns that name a part of the program.
OP, PORT, VALUE = "Op", "Port", "Value"

#: The names of an op, its ports and their values, for each op of a group.
Group = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """Groups of alike ops, and the input relations in which they differ in names only."""

    groups: tuple[Group, ...]
    own: tuple[str, ...]


#: With fewer ops than this, or fewer alike, a second run costs more than it saves.
LEAST_OPS = 1500
LEAST_SHARE = 4


def worthwhile(alike: Alike) -> bool:
    """Whether the groups are few for the ops that they hold."""
    ops = sum(map(len, alike.groups))
    return ops >= LEAST_OPS and ops >= LEAST_SHARE * len(alike.groups)


def of_models(rules: Compiled, facts: Facts, alike: Alike) -> dict[str, list[Fact]]:
    """The facts of the first op of each group and of its values, and those that name no op or value."""
    kept = {name for group in alike.groups for name in group[0]}
    found: dict[str, list[Fact]] = {}
    for table in rules.inputs:
        rows = facts.get(table.name, ())
        types = [column.type for column in table.columns]
        if table.name in alike.own:
            place = types.index(OP if OP in types else VALUE)
            found[table.name] = [row for row in rows if row[place] in kept]
        elif not {OP, PORT, VALUE}.intersection(types):
            found[table.name] = list(rows)
    return found


@dataclass(frozen=True, slots=True)
class Written:
    """The tuples of a relation as atoms: 4 bytes for each argument, a 0 first."""

    atoms: int
    data: bytes


def numbered(alike: Alike, numbers: Mapping[str, int]) -> list[Any]:
    """For each group an array of the numbers of its names, of the shape [ops, names of an op]."""
    import numpy as np

    number = numbers.__getitem__
    return [np.array([list(map(number, each)) for each in group], dtype="<i4") for group in alike.groups]


def write_out(
    table: Table, rows: Sequence[Fact], alike: Alike, names: Sequence[Any], numbers: Mapping[str, int]
) -> Written:
    """The tuples of the first op of each group, for every op of the group, whose `names` are `numbered`."""
    import numpy as np

    place = [column.type for column in table.columns].index(OP)
    by_model: dict[str, list[Fact]] = defaultdict(list)
    for row in rows:
        by_model[str(row[place])].append(row)
    parts: list[bytes] = []
    atoms = 0
    for group, own in zip(alike.groups, names, strict=True):
        found = by_model.get(group[0][0])
        if not found:
            continue
        slots = {name: slot for slot, name in reversed(tuple(enumerate(group[0])))}
        atoms_here = np.zeros((len(group), len(found), len(table.columns) + 1), dtype="<i4")
        for index, row in enumerate(found):
            for at, (column, term) in enumerate(zip(table.columns, row, strict=True), 1):
                if column.type in (OP, PORT, VALUE):
                    atoms_here[:, index, at] = own[:, slots[str(term)]]
                else:
                    atoms_here[:, index, at] = numbers[str(term)] if column.base == "symbol" else term
        atoms += len(group) * len(found)
        parts.append(atoms_here.tobytes())
    return Written(atoms, b"".join(parts))


def words(table: Table, rows: Sequence[Fact]) -> Iterator[str]:
    """The symbols in the tuples that name no part of the program."""
    for at, column in enumerate(table.columns):
        if column.base == "symbol" and column.type not in (OP, PORT, VALUE):
            yield from {str(row[at]) for row in rows}
