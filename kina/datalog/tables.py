"""The tuples of all relations with indexes that are built when they are first asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

Value = str | int
Row = tuple[Value, ...]


@dataclass(slots=True)
class Tables:
    """Relations by ground name; a relation that is not there is empty."""

    rows: Mapping[str, Collection[Row]]
    _sets: dict[str, frozenset[Row]] = field(default_factory=dict)
    _indexes: dict[tuple[str, tuple[int, ...]], dict[Value | Row, list[Row]]] = field(default_factory=dict)
    _distinct: dict[tuple[str, int], int] = field(default_factory=dict)

    def has(self, relation: str, row: Row) -> bool:
        return row in self.all(relation)

    def all(self, relation: str) -> frozenset[Row]:
        found = self._sets.get(relation)
        if found is None:
            found = self._sets[relation] = frozenset(self.rows.get(relation, ()))
        return found

    def index(self, relation: str, columns: tuple[int, ...]) -> Mapping[Value | Row, Sequence[Row]]:
        """Rows, sorted, by the value of one column or the tuple of values of several; by () for no column."""
        found = self._indexes.get((relation, columns))
        if found is not None:
            return found
        found = {}
        rows = sorted(self.all(relation))
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
        rows = self.all(relation)
        expected = float(len(rows))
        for column in columns:
            count = self._distinct.get((relation, column))
            if count is None:
                count = self._distinct[relation, column] = len({row[column] for row in rows})
            expected /= max(1, count)
        return expected
