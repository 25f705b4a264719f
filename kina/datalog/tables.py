"""The tuples of all relations with indexes that are built when they are first asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

Value = str | int
Row = tuple[Value, ...]

#: Looking this many rows through costs no more than an index of its own.
FEW = 1.25


@dataclass(slots=True)
class Tables:
    """Relations by ground name; a relation that is not there is empty."""

    rows: Mapping[str, Collection[Row]]
    _sets: dict[str, frozenset[Row]] = field(default_factory=dict)
    _ordered: dict[str, list[Row]] = field(default_factory=dict)
    _indexes: dict[tuple[str, tuple[int, ...]], dict[Value | Row, list[Row]]] = field(default_factory=dict)
    _distinct: dict[tuple[str, int], int] = field(default_factory=dict)

    def has(self, relation: str, row: Row) -> bool:
        return row in self.all(relation)

    def all(self, relation: str) -> frozenset[Row]:
        found = self._sets.get(relation)
        if found is None:
            found = self._sets[relation] = frozenset(self.rows.get(relation, ()))
        return found

    def ordered(self, relation: str) -> list[Row]:
        found = self._ordered.get(relation)
        if found is None:
            found = self._ordered[relation] = sorted(self.rows.get(relation, ()))
        return found

    def index(self, relation: str, columns: tuple[int, ...]) -> Mapping[Value | Row, Sequence[Row]]:
        """Rows, sorted, by the value of one column or the tuple of values of several; by () for no column."""
        found = self._indexes.get((relation, columns))
        if found is not None:
            return found
        found = {}
        rows = self.ordered(relation)
        if not columns:
            found[()] = rows
        else:
            key = itemgetter(*columns)
            for row in rows:
                found.setdefault(key(row), []).append(row)
        self._indexes[relation, columns] = found
        return found

    def fan_out(self, relation: str, columns: Collection[int]) -> float:
        """How many rows agree with given values of these columns, roughly: as if columns were independent."""
        expected = float(len(self.ordered(relation)))
        for column in columns:
            expected /= max(1, self.distinct(relation, column))
        return expected

    def distinct(self, relation: str, column: int) -> int:
        """How many values a column has."""
        count = self._distinct.get((relation, column))
        if count is None:
            count = self._distinct[relation, column] = len({row[column] for row in self.ordered(relation)})
        return count

    def keys(self, relation: str, columns: tuple[int, ...]) -> tuple[int, ...]:
        """Those of the columns that narrow rows down to a few: one index then serves many questions."""
        best = sorted(columns, key=lambda column: -self.distinct(relation, column))
        for count in range(1, len(best)):
            if self.fan_out(relation, best[:count]) <= FEW:
                return tuple(sorted(best[:count]))
        return columns
