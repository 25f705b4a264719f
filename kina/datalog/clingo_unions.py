"""Leaves relations out that only repeat others: clingo takes its time for each tuple.

A relation all of whose rules hand on the tuples of another one as they are is a name for those others. Where
a tuple of it is asked for, one of them is, and a rule becomes one rule for each. Where there must be none,
none of them may be there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import product

from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Atom, Negation, Premise, Variable, aggregates

#: A relation that repeats more than this many is derived: each is a rule more wherever it is asked for.
_MOST = 2

_Origins = Mapping[str, tuple[str, ...]]


def without_repeats(rulebook: Rulebook, kept: Collection[str]) -> Rulebook:
    """Rules that derive the same tuples of the relations `kept`, and of all that do not only repeat others.

    Rules made of one rule have its id.
    """
    origins = _origins(rulebook, kept)
    rules = (
        each
        for rule in rulebook.rules
        if rule.head.relation not in origins
        for each in _rewritten(rule, origins)
    )
    return replace(rulebook, rules=tuple(rules))


def _origins(rulebook: Rulebook, kept: Collection[str]) -> _Origins:
    """What each relation that only repeats others repeats: relations that have tuples of their own."""
    repeated: defaultdict[str, list[str | None]] = defaultdict(list)
    for rule in rulebook.rules:
        repeated[rule.head.relation].append(_repeated(rule))
    fixed = {*kept, *_aggregated(rulebook)}
    open_ = {
        name
        for name, origins in repeated.items()
        if None not in origins and name not in fixed and not rulebook.relations[name].is_input
    }
    found: dict[str, tuple[str, ...]] = {}
    for name in (name for group in rulebook.strata for name in group if name in open_):
        open_.discard(name)
        ends = dict.fromkeys(end for each in repeated[name] if each for end in found.get(each, (each,)))
        # One that is still open comes later, so the two repeat each other.
        if len(ends) <= _MOST and open_.isdisjoint(ends) and name not in ends:
            found[name] = tuple(ends)
    return found


def _repeated(rule: Rule) -> str | None:
    """The relation whose tuples the rule hands on as they are."""
    match rule.body:
        case (Atom(relation=relation, arguments=arguments),):
            names = [term.name for term in arguments if isinstance(term, Variable)]
            heads = [term.name for term in rule.head.arguments if isinstance(term, Variable)]
            whole = len(set(names)) == len(arguments) == len(rule.head.arguments)
            return relation if whole and names == heads else None
    return None


def _aggregated(rulebook: Rulebook) -> Iterator[str]:
    """The relations that aggregates read: their tuples are counted together."""
    for rule in rulebook.rules:
        for premise in rule.body:
            for aggregate in aggregates(premise):
                for inner in aggregate.body:
                    match inner:
                        case Atom(relation=name) | Negation(atom=Atom(relation=name)):
                            yield name


def _rewritten(rule: Rule, origins: _Origins) -> Iterator[Rule]:
    """The rule, once for each choice of origins of its positive premises."""
    for choice in product(*(_choices(premise, origins) for premise in rule.body)):
        body = tuple(premise for part in choice for premise in part)
        yield rule if body == rule.body else replace(rule, clause=replace(rule.clause, body=body))


def _choices(premise: Premise, origins: _Origins) -> list[tuple[Premise, ...]]:
    """The ways to write a premise, each some premises that must hold together."""
    match premise:
        case Atom(relation=name) if name in origins:
            return [(replace(premise, relation=origin),) for origin in origins[name]]
        case Negation(atom=atom) if atom.relation in origins:
            return [
                tuple(
                    replace(premise, atom=replace(atom, relation=origin)) for origin in origins[atom.relation]
                )
            ]
    return [(premise,)]
