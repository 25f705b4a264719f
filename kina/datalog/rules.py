"""A checked set of rules with all component instances written out: what engines and proofs work on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kina.datalog.added import AddedFile
from kina.datalog.syntax import Atom, Clause, Negation, Premise, aggregates
from kina.reach import reached
from kina.source import Source, Span


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A column: its name, its declared type, and what that is underneath, "number" or "symbol"."""

    name: str
    type: str
    base: str


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation under its ground name, `p0_0.flow` for `flow` of the instance `p0_0`.

    `declared` is the name in the declaration and `instance` that of the instance, "" outside components.
    Tuples of a `hidden` relation narrow rules and explain nothing: short proofs leave them out with all that
    they rest on.
    """

    name: str
    declared: str
    instance: str
    columns: tuple[ColumnType, ...]
    doc: str
    says: str | None
    is_input: bool
    is_output: bool
    span: Span
    hidden: bool = False

    @property
    def place(self) -> str:
        """File and line of the declaration."""
        return f"{self.span.file}:{self.span.line}"


@dataclass(frozen=True, slots=True)
class Rule:
    """One clause with ground relation names. `id` is its index in `Rulebook.rules`, `name` is
    `@[rule]` or "".
    """

    id: int
    name: str
    code: str | None
    hidden: bool
    doc: str
    clause: Clause
    instance: str

    @property
    def head(self) -> Atom:
        return self.clause.head

    @property
    def body(self) -> tuple[Premise, ...]:
        return self.clause.body

    @property
    def place(self) -> str:
        """File and line of the clause's head."""
        return f"{self.clause.span.file}:{self.clause.span.line}"


@dataclass(frozen=True, slots=True)
class Rulebook:
    """Relations by ground name in order of declaration, rules in order of the text, instances last.

    `strata` lists the relations, lowest first; those of one entry depend on each other.
    `entry`, `search` and `added` are what a Soufflé process needs to read the same rules.
    """

    entry: Source
    search: tuple[str, ...]
    files: tuple[Source, ...]
    types: Mapping[str, str]
    relations: Mapping[str, Relation]
    rules: tuple[Rule, ...]
    strata: tuple[tuple[str, ...], ...]
    added: tuple[AddedFile, ...] = ()

    @property
    def inputs(self) -> tuple[Relation, ...]:
        return tuple(relation for relation in self.relations.values() if relation.is_input)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name, relation in self.relations.items() if relation.is_output)


def dependencies(clause: Clause) -> tuple[tuple[str, bool], ...]:
    """The (relation, through negation or an aggregate) pairs that the head of a clause depends on."""
    found: list[tuple[str, bool]] = []
    for premise in clause.body:
        match premise:
            case Atom(relation=name):
                found.append((name, False))
            case Negation(atom=Atom(relation=name)):
                found.append((name, True))
            case _:
                found.extend((name, True) for name in aggregated(premise))
    return tuple(found)


def aggregated(premise: Premise) -> Iterator[str]:
    """The relations that the aggregates of a premise read."""
    for aggregate in aggregates(premise):
        for inner in aggregate.body:
            match inner:
                case Atom(relation=name) | Negation(atom=Atom(relation=name)):
                    yield name


def needed(
    rulebook: Rulebook, outputs: Collection[str], given: Collection[str] = frozenset()
) -> frozenset[str]:
    """The relations that the outputs depend on, themselves included, as if the `given` ones were inputs."""
    below: dict[str, set[str]] = {}
    for rule in rulebook.rules:
        if rule.head.relation in given:
            continue
        below.setdefault(rule.head.relation, set()).update(name for name, _ in dependencies(rule.clause))
    return frozenset(reached(outputs, below))
