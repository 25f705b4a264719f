"""Writes rules for Soufflé, each premise by itself."""

from __future__ import annotations

from kina.datalog.live import Part, RuleParts
from kina.datalog.rules import Rulebook, aggregated
from kina.datalog.souffle_program import souffle_name
from kina.datalog.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Negation,
    Number,
    Premise,
    Term,
    Text,
    Variable,
    Wildcard,
)


def write_parts(rulebook: Rulebook) -> tuple[RuleParts, ...]:
    """All rules, each by its parts."""
    return tuple(
        RuleParts(rule.head.relation, _atom(rule.head), tuple(map(_part, rule.body)))
        for rule in rulebook.rules
    )


def _part(premise: Premise) -> Part:
    text = _premise(premise)
    match premise:
        case Atom(relation=relation, arguments=arguments):
            constants = tuple(
                (place, term.value) for place, term in enumerate(arguments) if isinstance(term, Number | Text)
            )
            return Part(text, relation, True, constants)
        case Negation(atom=atom):
            return Part(text, atom.relation)
        case Comparison():
            return Part(text, counted=tuple(dict.fromkeys(aggregated(premise))))


def _premise(premise: Premise) -> str:
    match premise:
        case Atom():
            return _atom(premise)
        case Negation(atom=atom):
            return f"!{_atom(atom)}"
        case Comparison(operator=operator, left=left, right=right):
            return f"{_term(left)} {operator} {_term(right)}"


def _atom(atom: Atom) -> str:
    return f"{souffle_name(atom.relation)}({', '.join(map(_term, atom.arguments))})"


def _term(term: Term) -> str:
    match term:
        case Variable(name=name):
            return name
        case Wildcard():
            return "_"
        case Number(value=value):
            return str(value)
        case Text(value=value):
            return f'"{value}"'
        case Arithmetic(operator=operator, left=left, right=right):
            return f"({_term(left)} {operator} {_term(right)})"
        case Aggregate(function=function, value=value, body=body):
            of = "" if value is None else f" {_term(value)}"
            return f"{function}{of} : {{ {', '.join(map(_premise, body))} }}"
