"""Who makes and who reads each relation, by declared names: instances of a component count once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from kina.datalog.rules import Relation, Rule, Rulebook, dependencies


@dataclass(frozen=True, slots=True)
class Use:
    """A rule that reads a relation; `against` if it asks that something is not there, or aggregates."""

    rule: Rule
    against: bool


@dataclass(frozen=True, slots=True)
class Usage:
    """A relation, the clauses that derive it and those that read it, in the order of the text.

    `level` is 0 for what rests on nothing, else one more than the highest that it rests on; relations that
    rest on each other share a level.
    """

    relation: Relation
    makers: tuple[Rule, ...]
    readers: tuple[Use, ...]
    level: int

    @property
    def name(self) -> str:
        return self.relation.declared

    @property
    def file(self) -> str:
        """The file of the declaration without its folder: `layout.dl`."""
        return PurePath(self.relation.span.file).name


def usages(rulebook: Rulebook) -> Mapping[str, Usage]:
    """Every relation under its declared name, in order of declaration."""
    relations: dict[str, Relation] = {}
    for relation in rulebook.relations.values():
        relations.setdefault(relation.declared, relation)
    makers: dict[str, list[Rule]] = {name: [] for name in relations}
    readers: dict[str, list[Use]] = {name: [] for name in relations}
    for rule in distinct(rulebook):
        makers[declared(rulebook, rule.head.relation)].append(rule)
        read: dict[str, bool] = {}
        for name, against in dependencies(rule.clause):
            read[declared(rulebook, name)] = read.get(declared(rulebook, name), False) or against
        for name, against in read.items():
            readers[name].append(Use(rule, against))
    levels = _levels(rulebook)
    return {
        name: Usage(relation, tuple(makers[name]), tuple(readers[name]), levels[name])
        for name, relation in relations.items()
    }


def distinct(rulebook: Rulebook) -> Iterator[Rule]:
    """The clauses as they are written, each once although its component has several instances."""
    seen: set[tuple[str, int]] = set()
    for rule in rulebook.rules:
        key = rule.clause.span.file, rule.clause.span.start
        if key not in seen:
            seen.add(key)
            yield rule


def declared(rulebook: Rulebook, name: str) -> str:
    """The declared name of a relation under its ground name."""
    return rulebook.relations[name].declared


def _levels(rulebook: Rulebook) -> dict[str, int]:
    """The level of each relation; of the instances of one, the lowest that is no input's."""
    rests: dict[str, set[str]] = {name: set() for name in rulebook.relations}
    for rule in rulebook.rules:
        rests[rule.head.relation].update(name for name, _ in dependencies(rule.clause))
    ground: dict[str, int] = {}
    for group in rulebook.strata:
        below = [ground[name] for member in group for name in rests[member] if name not in group]
        level = 1 + max(below, default=-1)
        ground.update(dict.fromkeys(group, level))
    found: dict[str, int] = {}
    for name, level in ground.items():
        found.setdefault(declared(rulebook, name), level)
        found[declared(rulebook, name)] = min(found[declared(rulebook, name)], level)
    return found
