"""What rules say of ops: their relations, and which clauses said it, for many ops in one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kina.datalog.compiled import Compiled
from kina.datalog.engine import solve
from kina.datalog.joins import Stage, compile_body, instances, named_wildcards
from kina.datalog.rules import Relation, Rule, Rulebook, needed
from kina.datalog.scope import Scope
from kina.datalog.syntax import Atom, Negation, Premise, Term, Wildcard
from kina.datalog.tables import Row, Tables, Value
from kina.facts.dump import Facts, dump
from kina.frontend.ir import Program
from kina.rulebook.base import ATTRIBUTE_RELATIONS, OP_RELATIONS

#: Inputs that hold an attribute of an op, whose name is their second column.
ATTRIBUTE_INPUTS = ("op_list", "op_list_negative", "op_list_length", "op_number", "op_word")


@dataclass(frozen=True, slots=True)
class Firing:
    """A clause that derived something of an op, and the attributes of the op that it looked at."""

    rule: int
    attributes: frozenset[str]


@dataclass(frozen=True)
class Evaluation:
    """The ops of a program and every tuple that the relations of `OP_RELATIONS` rest on."""

    program: Program
    facts: Facts
    rules: Compiled
    relations: frozenset[str]
    tables: Tables

    def rows(self, relation: str, op: int) -> Sequence[Row]:
        """The tuples of a relation, whose first column is an op, that are about the op `op`."""
        if relation not in self.relations:
            return ()
        return self.tables.index(relation, (0,)).get(self.facts.op_names[op], ())

    def attribute_roles(self) -> dict[tuple[str, str], tuple[str, ...]]:
        """What each (kind, attribute) does, in the words of `ATTRIBUTE_RELATIONS`."""
        found: dict[tuple[str, str], list[str]] = {}
        for relation, role in ATTRIBUTE_RELATIONS.items():
            for kind, name in self.tables.ordered(relation):
                found.setdefault((str(kind), str(name)), []).append(role)
        return {key: tuple(roles) for key, roles in found.items()}

    def attribute_tuples(self, kind: str, name: str) -> Iterator[tuple[str, Row]]:
        """The tuples that say what an attribute does."""
        for relation in ATTRIBUTE_RELATIONS:
            if self.tables.has(relation, (kind, name)):
                yield relation, (kind, name)

    @cached_property
    def firings(self) -> Mapping[str, frozenset[Firing]]:
        """For each op by its name in facts the clauses that derived something of it."""
        found: dict[str, set[Firing]] = {}
        for rule in self.rules.rulebook.rules:
            if rule.head.relation in self.relations and rule.body:
                for op, attributes in _fires(self.rules.rulebook, rule, self.tables):
                    found.setdefault(op, set()).add(Firing(rule.id, attributes))
        return {op: frozenset(firings) for op, firings in found.items()}

    def fired(self, op: int) -> frozenset[Firing]:
        """The clauses that derived something of the op `op`."""
        return self.firings.get(self.facts.op_names[op], frozenset())


def evaluate(program: Program, rules: Compiled, solver: str = "auto") -> Evaluation:
    """What the rules say of each op of a program, whatever its layouts.

    Raises SetupError if the engine cannot be used, ProgramError if the rules are at fault.
    """
    facts = dump(program)
    given = facts.given(rules.inputs)
    wanted = op_cone(rules.rulebook)
    found = solve(solver, rules, given, [name for name in wanted if name not in given]).relations
    return Evaluation(program, facts, rules, frozenset(wanted), Tables({**given, **found}))


def op_cone(rulebook: Rulebook) -> tuple[str, ...]:
    """The relations that say something of an op, with all that they rest on, in order of declaration."""
    wanted = [name for name in (*OP_RELATIONS, *ATTRIBUTE_RELATIONS) if name in rulebook.relations]
    below = needed(rulebook, wanted)
    return tuple(name for name in rulebook.relations if name in below)


def _fires(rulebook: Rulebook, rule: Rule, tables: Tables) -> Iterator[tuple[str, frozenset[str]]]:
    """For each instance of a rule about an op: the op, and the names of attributes that its premises hold."""
    column = _op_column(rulebook.relations[rule.head.relation])
    if column is None:
        return
    body = named_wildcards(rule.body)
    scope = Scope.of(rule.clause, body, tables)
    stages: tuple[Stage, ...] = compile_body(body, frozenset(), scope)
    op = scope.row((rule.head.arguments[column],))
    names = [scope.row((term,)) for term in _attribute_names(rule.body)]
    slots: list[Value] = list(scope.blank)
    for _ in instances(stages, slots):
        yield str(op(slots)[0]), frozenset(str(name(slots)[0]) for name in names)


def _op_column(relation: Relation) -> int | None:
    return next((index for index, column in enumerate(relation.columns) if column.type == "Op"), None)


def _attribute_names(body: Sequence[Premise]) -> Iterator[Term]:
    """The terms that name an attribute, in premises and in their negations."""
    for premise in body:
        atom = premise.atom if isinstance(premise, Negation) else premise
        if isinstance(atom, Atom) and atom.relation in ATTRIBUTE_INPUTS:
            name = atom.arguments[1]
            if not isinstance(name, Wildcard):
                yield name
