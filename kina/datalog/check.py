"""Checks clauses against declarations: names, arity, column types, bound variables, aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kina.datalog.binding import check_bound
from kina.datalog.column_types import check_types
from kina.datalog.rules import Relation, Rule
from kina.datalog.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Negation,
    Premise,
    aggregates,
)
from kina.diagnostics.finding import Finding, Label, error


def check(
    bases: Mapping[str, str], relations: Mapping[str, Relation], rules: Iterable[Rule]
) -> tuple[Finding, ...]:
    """Every fault in the clauses (K802, K805 to K808), each once although a component has many instances."""
    found: dict[tuple[str, str, int, str], Finding] = {}
    seen: set[tuple[str, int, tuple[str, ...]]] = set()
    for rule in rules:
        span = rule.clause.span
        key = (span.file, span.start, _declared_names(rule.clause, relations))
        if key in seen:
            continue
        seen.add(key)
        for finding in _check_clause(rule.clause, bases, relations):
            assert finding.primary is not None
            found.setdefault(
                (finding.code, finding.primary.file, finding.primary.start, finding.message), finding
            )
    return tuple(found.values())


def _declared_names(clause: Clause, relations: Mapping[str, Relation]) -> tuple[str, ...]:
    """Where the relations of a clause are declared: two instances that agree in this need one check."""
    places = []
    for atom in _atoms(clause):
        relation = relations.get(atom.relation)
        places.append(atom.relation if relation is None else f"{relation.span.file}:{relation.span.start}")
    return tuple(places)


def _atoms(clause: Clause) -> Iterable[Atom]:
    yield clause.head
    stack: list[Premise] = list(clause.body)
    while stack:
        premise = stack.pop()
        match premise:
            case Atom():
                yield premise
            case Negation(atom=atom):
                yield atom
            case Comparison():
                for aggregate in aggregates(premise):
                    stack.extend(aggregate.body)


def _check_clause(
    clause: Clause, bases: Mapping[str, str], relations: Mapping[str, Relation]
) -> Iterable[Finding]:
    names = [finding for atom in _atoms(clause) for finding in _check_atom(atom, relations)]
    if names:
        return names
    if relations[clause.head.relation].is_input:
        return [
            error(
                "K805",
                f"the input relation `{clause.head.relation}` is derived by a clause",
                clause.head.span,
            )
        ]
    return [*_check_aggregates(clause), *check_bound(clause), *check_types(clause, bases, relations)]


def _check_atom(atom: Atom, relations: Mapping[str, Relation]) -> Iterable[Finding]:
    relation = relations.get(atom.relation)
    if relation is None:
        return [error("K805", f"the relation `{atom.relation}` is not declared", atom.span)]
    want, have = len(relation.columns), len(atom.arguments)
    if want == have:
        return []
    columns = "1 column" if want == 1 else f"{want} columns"
    arguments = "1 argument" if have == 1 else f"{have} arguments"
    label = Label(relation.span, f"declared with {columns}")
    return [
        error("K806", f"`{atom.relation}` has {columns}, and {arguments} here", atom.span, labels=(label,))
    ]


def _check_aggregates(clause: Clause) -> Iterable[Finding]:
    """An aggregate holds no other one, and one aggregate of a clause at most calculates.

    Soufflé 2.5 stops at an assertion on two that do both: calculate, and use a variable of the clause.
    """
    calculating = 0
    for premise in clause.body:
        for aggregate in aggregates(premise):
            for inner in aggregate.body:
                for nested in aggregates(inner):
                    message = "an aggregate inside an aggregate is outside the rule language"
                    yield error("K802", message, nested.span)
            calculating += _calculates(aggregate)
            if calculating > 1:
                message = "a second aggregate that calculates, in one clause, is outside the rule language"
                yield error("K802", message, aggregate.span)


def _calculates(aggregate: Aggregate) -> bool:
    equalities = (each for each in aggregate.body if isinstance(each, Comparison) and each.operator == "=")
    return isinstance(aggregate.value, Arithmetic) or any(equalities)
