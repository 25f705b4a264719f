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

from kina.datalog.rules import Rule, Rulebook, aggregated
from kina.datalog.syntax import Atom, Negation, Premise, Variable

#: A relation that repeats more than this many is derived: each is a rule more wherever it is asked for.
_MOST = 2

_Origins = Mapping[str, tuple[str, ...]]


def without_repeats(rulebook: Rulebook, outputs: Collection[str], given: Collection[str]) -> Rulebook:
    """Rules that derive the same tuples of the `outputs`, and of all that do not only repeat others.

    `given` are relations that are not derived. Rules made of one rule have its id; -1 is that of rules which
    put together what belongs together.
    """
    split = _split(rulebook, given)
    origins = _origins(split, {*outputs, *given})
    rules = (
        each
        for rule in split.rules
        if rule.head.relation not in origins
        for each in _rewritten(rule, origins)
    )
    return replace(split, rules=tuple(rules))


def _split(rulebook: Rulebook, given: Collection[str]) -> Rulebook:
    """Recursive relations that begin with the tuples of another one, apart from what they add to those.

    A rule then looks at what was there before once, from what can still come, and not as if it were new.
    """
    stratum = {name: place for place, group in enumerate(rulebook.strata) for name in group}
    starts = {name: start for name, start in _starts(rulebook, stratum).items() if name not in given}
    added = {name: f"{name}'" for name in starts}
    rules: list[Rule] = []
    for rule in rulebook.rules:
        name = rule.head.relation
        here = {
            each: (start, added[each]) for each, start in starts.items() if stratum[each] == stratum[name]
        }
        if name in starts and _repeated(rule) == starts[name]:
            rules += [
                rule,
                *(replace(each, id=-1) for each in _rewritten(rule, {starts[name]: (added[name],)})),
            ]
            continue
        if name in starts:
            head = replace(rule.head, relation=added[name])
            rule = replace(rule, clause=replace(rule.clause, head=head))
        for each in _rewritten(rule, here):
            rules.append(each if each is rule else _latest_first(each, stratum, stratum[name]))
    parts = {
        added[name]: replace(rulebook.relations[name], name=added[name], is_output=False) for name in added
    }
    strata = ((*group, *(added[name] for name in group if name in added)) for group in rulebook.strata)
    return replace(
        rulebook, relations={**rulebook.relations, **parts}, rules=tuple(rules), strata=tuple(strata)
    )


def _starts(rulebook: Rulebook, stratum: Mapping[str, int]) -> dict[str, str]:
    """The relations that are derived from themselves and from the tuples of one other, and that other one."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    recursive: set[str] = set()
    for rule in rulebook.rules:
        name = rule.head.relation
        origin = _repeated(rule)
        if origin is not None and stratum[origin] < stratum[name]:
            found[name].append(origin)
        if any(isinstance(each, Atom) and each.relation == name for each in rule.body):
            recursive.add(name)
    return {name: each[0] for name, each in found.items() if len(each) == 1 and name in recursive}


def _latest_first(rule: Rule, stratum: Mapping[str, int], own: int) -> Rule:
    """A rule that looks at nothing new begins with what was derived last, of which there is least.

    The premise that stood first goes to its place: the rule is then read from its head backwards.
    """
    places = [stratum.get(each.relation, own) if isinstance(each, Atom) else -1 for each in rule.body]
    latest = max(places)
    if latest == own:
        return rule
    body = list(rule.body)
    first = places.index(latest)
    body[0], body[first] = body[first], body[0]
    return replace(rule, clause=replace(rule.clause, body=tuple(body)))


def _origins(rulebook: Rulebook, kept: Collection[str]) -> _Origins:
    """What each relation that only repeats others repeats: relations that have tuples of their own."""
    repeated: defaultdict[str, list[str | None]] = defaultdict(list)
    for rule in rulebook.rules:
        repeated[rule.head.relation].append(_repeated(rule))
    counted = (name for rule in rulebook.rules for premise in rule.body for name in aggregated(premise))
    fixed = {*kept, *counted}
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
