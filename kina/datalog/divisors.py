"""Division by zero: where a rule may do it, and the finding when it did."""

from __future__ import annotations

from collections.abc import Iterable

from kina.datalog.rules import Rule
from kina.datalog.syntax import (
    Arithmetic,
    Clause,
    Comparison,
    Number,
    Premise,
    Term,
    Variable,
    aggregates,
    premise_terms,
    walk,
)
from kina.diagnostics.finding import Finding, error


def divided_by_zero(rule: Rule) -> Finding | None:
    """The finding (K812) that a divisor of the rule was zero; None if its premises keep all divisors
    from it.
    """
    for divisor in unguarded_divisors(rule.clause):
        return error(
            "K812",
            f"the divisor `{divisor.span.text}` is zero",
            divisor.span,
            notes=("a premise such as `divisor > 0` keeps a divisor from zero",),
            rule=rule.name,
        )
    return None


def unguarded_divisors(clause: Clause) -> Iterable[Term]:
    """Divisors that are neither a number other than 0 nor a variable that a premise keeps from 0."""
    scopes: list[tuple[tuple[Premise, ...], list[Term]]] = []
    outer: list[Term] = list(clause.head.arguments)
    for premise in clause.body:
        outer.extend(premise_terms(premise))
        for aggregate in aggregates(premise):
            inner = [term for each in aggregate.body for term in premise_terms(each)]
            if aggregate.value is not None:
                inner.append(aggregate.value)
            scopes.append((aggregate.body + clause.body, inner))
    scopes.append((clause.body, outer))
    for body, terms in scopes:
        for term in terms:
            for node in walk(term):
                if isinstance(node, Arithmetic) and node.operator in "/%" and not _nonzero(node.right, body):
                    yield node.right


def _nonzero(divisor: Term, body: tuple[Premise, ...]) -> bool:
    if isinstance(divisor, Number):
        return divisor.value != 0
    if not isinstance(divisor, Variable):
        return False
    return any(
        isinstance(premise, Comparison) and _keeps_from_zero(premise, divisor.name) for premise in body
    )


_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!=", "=": "="}


def _keeps_from_zero(premise: Comparison, name: str) -> bool:
    left, operator, right = premise.left, premise.operator, premise.right
    if isinstance(left, Number):
        left, operator, right = right, _MIRRORED[operator], left
    if not (isinstance(left, Variable) and left.name == name and isinstance(right, Number)):
        return False
    bound = right.value
    match operator:
        case "!=":
            return bound == 0
        case ">":
            return bound >= 0
        case ">=":
            return bound >= 1
        case "<":
            return bound <= 0
        case "<=":
            return bound <= -1
        case _:
            return bound != 0
