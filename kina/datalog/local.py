"""Relations that say of an op what follows from that op alone: the same for all ops that are alike.

A rule of an op family reads one op, its ports, and what is known of the values there, and nothing of other
ops. On a model of many layers most tuples come from such rules; they need to be derived for one op of each
sort only (`clingo_alike`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from kina.datalog.clingo_alike import OP, PORT, VALUE
from kina.datalog.rules import Relation, Rule, Rulebook, dependencies
from kina.datalog.syntax import Atom, Negation, Premise, Variable, aggregates


def op_local(rulebook: Rulebook, own: Collection[str]) -> frozenset[str]:
    """The derived relations of which each tuple names one op and follows from that op's facts.

    `own` are the input relations that say something of one op, or of one value, that is the same for alike
    ops. Relations that name no part of the program may be read too.
    """
    relations = rulebook.relations
    below: dict[str, list[Rule]] = {name: [] for name in relations}
    for rule in rulebook.rules:
        below[rule.head.relation].append(rule)
    derived = {name for name, relation in relations.items() if not relation.is_input}
    general = _largest({name for name in relations if not _parts(relations[name])}, below, _reads_only)
    reader = _Reader(relations, frozenset(own), frozenset(general))
    local = {name for name in derived if _parts(relations[name]).count(OP) == 1}
    return frozenset(_largest(local, below, reader.follows))


def _largest(
    found: set[str], below: Mapping[str, list[Rule]], holds: Callable[[Rule, set[str]], bool]
) -> set[str]:
    """The largest part of `found` of which every rule holds, given that part."""
    while wrong := {name for name in found if not all(holds(rule, found) for rule in below[name])}:
        found = found - wrong
    return found


def _reads_only(rule: Rule, known: set[str]) -> bool:
    return {name for name, _ in dependencies(rule.clause)} <= known


def _parts(relation: Relation) -> list[str]:
    """The types of the columns that name a part of the program."""
    return [column.type for column in relation.columns if column.type in (OP, PORT, VALUE)]


@dataclass(frozen=True, slots=True)
class _Reader:
    relations: Mapping[str, Relation]
    own: frozenset[str]
    general: frozenset[str]

    def follows(self, rule: Rule, local: set[str]) -> bool:
        """Whether the rule reads nothing but facts of the op in its head."""
        op = self._named(rule.head, OP)
        if len(op) != 1 or "_" in op:
            return False
        at_hand = {
            value
            for premise in rule.body
            if isinstance(premise, Atom) and self._named(premise, OP) == op
            for value in self._named(premise, VALUE)
        }
        return all(self._is_own(atom, op, at_hand, local) for atom in _atoms(rule.body))

    def _is_own(self, atom: Atom, op: set[str], at_hand: set[str], local: set[str]) -> bool:
        if atom.relation in self.general:
            return True
        if atom.relation not in local and atom.relation not in self.own:
            return False
        if OP in _parts(self.relations[atom.relation]):
            return self._named(atom, OP) == op
        values = self._named(atom, VALUE)
        return len(values) == 1 and values <= at_hand

    def _named(self, atom: Atom, type_: str) -> set[str]:
        """The variables in the columns of a type; `_`, no variable's name, stands for other terms."""
        columns = zip(atom.arguments, self.relations[atom.relation].columns, strict=True)
        return {
            term.name if isinstance(term, Variable) else "_"
            for term, column in columns
            if column.type == type_
        }


def _atoms(premises: tuple[Premise, ...]) -> Iterator[Atom]:
    """The atoms of the premises, negated ones and those of aggregates too."""
    for premise in premises:
        match premise:
            case Atom():
                yield premise
            case Negation(atom=atom):
                yield atom
            case _:
                for aggregate in aggregates(premise):
                    yield from _atoms(aggregate.body)
