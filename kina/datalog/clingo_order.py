"""In which order clingo joins the premises of a clause, and how it is made to.

The grounder picks the next premise by a cost that forgets which columns are keys: a premise with one of two
columns bound costs less the wider its relation is, however little that column says. On a model of 96 layers
it then scans all values for each dim. So the order is planned here, as Soufflé does it (fully bound premises
first, else the order of the text), and written into the program:

- the first premise begins with a variable that is bound from the start, which puts it first;
- a premise that binds nothing is a double negation, which waits for its variables;
- a column of a small type, such as a dim or a mesh axis, does not open a premise whose key is still unbound:
  it is renamed, and equated to its variable by a term that has a value only when the key is bound.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from kina.datalog.binding import bound_names
from kina.datalog.rules import Relation, Rule
from kina.datalog.syntax import (
    Atom,
    Comparison,
    Variable,
    Wildcard,
    outer_variables,
    variables,
)


@dataclass(frozen=True, slots=True)
class Tie:
    """Variables to be equated one by one, when `anchor` is bound, or together, when there is none."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Join:
    """A positive premise in its place: `filters` if it binds nothing, `first` if it comes first.

    `ties` are equated both ways.
    """

    atom: Atom
    first: bool = False
    filters: bool = False
    ties: tuple[Tie, ...] = ()


def plan(
    rule: Rule, relations: Mapping[str, Relation], stratum: Mapping[str, int], keys: frozenset[str]
) -> tuple[Join, ...]:
    """The positive premises of a rule in the order in which they are joined."""
    atoms = [premise for premise in rule.body if isinstance(premise, Atom)]
    if len(atoms) < 2:
        return tuple(Join(atom) for atom in atoms)
    outer = outer_variables(rule.clause)
    equalities = tuple(
        premise for premise in rule.body if isinstance(premise, Comparison) and premise.operator == "="
    )
    joins: list[Join] = []
    bound = bound_names(equalities, outer, frozenset())
    #: the join that binds each variable
    since: dict[str, int] = dict.fromkeys(bound, -1)
    remaining = list(atoms)
    own = stratum[rule.head.relation]
    while remaining:
        atom = _next(remaining, bound) if joins else _first(atoms, stratum, own)
        remaining.remove(atom)
        recursive = stratum[atom.relation] == stratum[rule.head.relation]
        joins.append(_join(atom, len(joins), since, relations[atom.relation], keys, recursive))
        names = frozenset(variable.name for term in atom.arguments for variable in variables(term))
        bound = bound_names(equalities, outer, bound | names)
        for name in bound:
            since.setdefault(name, len(joins) - 1)
    return tuple(joins)


def _first(atoms: Sequence[Atom], stratum: Mapping[str, int], own: int) -> Atom:
    """A recursive one, of which only what is new is looked at in each round, else the first of the text."""
    return next((atom for atom in atoms if stratum[atom.relation] == own), atoms[0])


def _next(atoms: Sequence[Atom], bound: frozenset[str]) -> Atom:
    names = [{variable.name for term in atom.arguments for variable in variables(term)} for atom in atoms]
    for atom, used in zip(atoms, names, strict=True):
        if used <= bound:
            return atom
    for atom, used in zip(atoms, names, strict=True):
        if used & bound:
            return atom
    return atoms[0]


def _join(
    atom: Atom,
    position: int,
    since: Mapping[str, int],
    relation: Relation,
    keys: frozenset[str],
    recursive: bool,
) -> Join:
    if position == 0:
        return Join(atom, first=True)
    names = {variable.name for term in atom.arguments for variable in variables(term)}
    loose = any(isinstance(term, Wildcard) for term in atom.arguments)
    if names <= since.keys() and not recursive and not loose:
        return Join(atom, filters=True)
    plain = [
        (term.name, column.type in keys)
        for term, column in zip(atom.arguments, relation.columns, strict=True)
        if isinstance(term, Variable) and since.get(term.name, -1) >= 0
    ]
    known = list(dict.fromkeys(name for name, _ in plain))
    key = [name for name, is_key in plain if is_key]
    if len(known) < 2 or len({since[name] for name in known}) == 1:
        return Join(atom)
    if key:
        anchor = min(key, key=lambda name: since[name])
        weak = [name for name in known if name not in key]
        if not weak:
            return Join(atom)
        renamed = {name: f"{name}_{position}" for name in weak}
        ties = (Tie(tuple(renamed.values()), tuple(weak), anchor),)
    else:
        renamed = {name: f"{name}_{position}" for name in known}
        ties = (Tie(tuple(renamed.values()), tuple(known)),)
    return Join(_rename(atom, renamed), ties=ties)


def _rename(atom: Atom, names: Mapping[str, str]) -> Atom:
    arguments = tuple(
        replace(term, name=names[term.name]) if isinstance(term, Variable) and term.name in names else term
        for term in atom.arguments
    )
    return replace(atom, arguments=arguments)
