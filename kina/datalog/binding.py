"""Which variables of a clause are bound: by a positive premise, or by `=` with a term that is bound."""

from __future__ import annotations

from collections.abc import Iterable

from kina.datalog.syntax import (
    Aggregate,
    Atom,
    Clause,
    Comparison,
    Premise,
    Term,
    Variable,
    Wildcard,
    aggregate_variables,
    aggregates,
    outer_variables,
    premise_terms,
    premise_variables,
    variables,
    walk,
)
from kina.diagnostics.finding import Finding, error


def bound_names(body: Iterable[Premise], outer: frozenset[str], given: frozenset[str]) -> frozenset[str]:
    """Names that the premises bind, starting from `given`; `outer` are the names that aggregates share."""
    premises = tuple(body)
    bound = set(given)
    for premise in premises:
        if isinstance(premise, Atom):
            bound.update(term.name for term in premise.arguments if isinstance(term, Variable))
    equalities = [
        premise for premise in premises if isinstance(premise, Comparison) and premise.operator == "="
    ]
    changed = True
    while changed:
        changed = False
        for equality in equalities:
            for side, other in ((equality.left, equality.right), (equality.right, equality.left)):
                if isinstance(side, Variable) and side.name not in bound and _is_bound(other, bound, outer):
                    bound.add(side.name)
                    changed = True
    return frozenset(bound)


def _is_bound(term: Term, bound: set[str], outer: frozenset[str]) -> bool:
    if isinstance(term, Wildcard):
        return False
    if isinstance(term, Aggregate):
        shared = {variable.name for variable in aggregate_variables(term)} & outer
        return shared <= bound
    return all(variable.name in bound for variable in variables(term))


def check_bound(clause: Clause) -> Iterable[Finding]:
    """A finding (K808) for each variable that nothing binds and each `_` where a value is needed."""
    outer = outer_variables(clause)
    bound = bound_names(clause.body, outer, frozenset())
    reported: set[str] = set()
    places = [variable for term in clause.head.arguments for variable in variables(term)]
    places += [variable for premise in clause.body for variable in premise_variables(premise)]
    for variable in places:
        if variable.name not in bound and variable.name not in reported:
            reported.add(variable.name)
            yield _unbound(variable)
    yield from _check_wildcards(clause.head.arguments, allowed=False)
    for premise in clause.body:
        yield from _check_wildcards(premise_terms(premise), allowed=not isinstance(premise, Comparison))
        for aggregate in aggregates(premise):
            yield from _check_aggregate(aggregate, outer, bound, reported)


def _check_aggregate(
    aggregate: Aggregate, outer: frozenset[str], bound: frozenset[str], reported: set[str]
) -> Iterable[Finding]:
    shared = {variable.name for variable in aggregate_variables(aggregate)} & outer
    inner = bound_names(aggregate.body, frozenset(), bound & frozenset(shared))
    if aggregate.value is not None:
        for variable in variables(aggregate.value):
            if variable.name in outer and variable.name not in reported:
                reported.add(variable.name)
                message = f"`{variable.name}` is the aggregate's own value and stands outside it too"
                yield error("K808", message, variable.span)
    for variable in aggregate_variables(aggregate):
        if variable.name not in inner and variable.name not in reported:
            reported.add(variable.name)
            yield _unbound(variable)
    for premise in aggregate.body:
        yield from _check_wildcards(premise_terms(premise), allowed=not isinstance(premise, Comparison))
    if aggregate.value is not None:
        yield from _check_wildcards((aggregate.value,), allowed=False)


def _check_wildcards(terms: Iterable[Term], allowed: bool) -> Iterable[Finding]:
    """`_` may be an argument of a premise and stand nowhere else."""
    for term in terms:
        if isinstance(term, Wildcard) and allowed:
            continue
        for node in walk(term):
            if isinstance(node, Wildcard):
                yield error("K808", "`_` stands where a value is needed", node.span)


def _unbound(variable: Variable) -> Finding:
    note = "a variable is bound by a premise without `!`, or by `=` with something bound"
    return error("K808", f"nothing binds the variable `{variable.name}`", variable.span, notes=(note,))
