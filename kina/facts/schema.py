"""What the rules want to know of a program: the input relations, as `rules/program.dl` declares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kina.datalog.modules import load_rules
from kina.datalog.rules import ColumnType, Relation, Rulebook

Fact = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """The input relations by name, in order of declaration."""

    relations: Mapping[str, Relation]

    def columns(self, name: str) -> tuple[ColumnType, ...]:
        """The columns of an input relation; KeyError if it is not one."""
        return self.relations[name].columns

    def misfits(self, facts: Mapping[str, Sequence[Fact]]) -> tuple[str, ...]:
        """What is wrong with facts, one sentence for each relation; none if both engines take them."""
        found = [f"there is no input relation `{name}`" for name in facts if name not in self.relations]
        for name, relation in self.relations.items():
            found += _misfit(relation, facts.get(name, ()))
        return tuple(found)


def schema(rulebook: Rulebook) -> Schema:
    """The input relations of a rulebook."""
    return Schema({relation.name: relation for relation in rulebook.inputs})


def load_schema(rules: Path) -> Schema:
    """The schema in the folder `rules`, from its `program.dl` alone."""
    return schema(load_rules(rules / "program.dl", (rules,)))


def _misfit(relation: Relation, rows: Sequence[Fact]) -> list[str]:
    for row in rows:
        if len(row) != len(relation.columns):
            return [
                f"`{relation.name}` has {len(relation.columns)} columns, and a fact has {len(row)}: {row}"
            ]
        for column, value in zip(relation.columns, row, strict=True):
            if not _fits(column.base, value):
                return [f"the column `{column.name}` of `{relation.name}` cannot hold {value!r}"]
    return []


def _fits(base: str, value: str | int) -> bool:
    """Symbols hold nothing that ends a field or a string; numbers are not negative and have 32 bits."""
    if base == "symbol":
        return isinstance(value, str) and not any(char in value for char in '\t\n\r"\\')
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31
