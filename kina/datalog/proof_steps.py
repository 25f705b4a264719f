"""Writes derivations as the steps of a proof, in words, and checks steps against the rules they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kina.datalog.joins import named_wildcards, term_value
from kina.datalog.rules import Relation, Rule, Rulebook
from kina.datalog.scope import Scope, Slots, compare
from kina.datalog.syntax import (
    Aggregate,
    Atom,
    Comparison,
    Negation,
    Number,
    Premise,
    Text,
    Variable,
    Wildcard,
)
from kina.datalog.tables import Row, Tables, Value
from kina.diagnostics.finding import ProofStep


class Derivation(NamedTuple):
    """An instance of a rule: its positive premises in the order of the body and the values of its variables.

    `rule` is None for a fact of an input relation.
    """

    rule: Rule | None
    premises: tuple[tuple[str, Row], ...]
    slots: tuple[Value, ...]


def write_steps(
    rulebook: Rulebook,
    tables: Tables,
    goals: Iterable[tuple[str, Row]],
    chosen: Mapping[tuple[str, Row], Derivation],
) -> tuple[ProofStep, ...]:
    """The steps from the goals down, each tuple once; negations and comparisons are steps of their own."""
    queue = list(dict.fromkeys(goals))
    numbers = {goal: number for number, goal in enumerate(queue)}
    steps: list[ProofStep | None] = [None] * len(queue)
    scopes: dict[int, Scope] = {}
    for node in queue:
        derivation = chosen[node]
        premises: list[int] = []
        for premise in _premises(derivation, tables, scopes):
            if isinstance(premise, ProofStep):
                premises.append(len(steps))
                steps.append(_numbered(premise, len(steps)))
                continue
            if premise not in numbers:
                numbers[premise] = len(steps)
                steps.append(None)
                queue.append(premise)
            premises.append(numbers[premise])
        rule = derivation.rule
        steps[numbers[node]] = ProofStep(
            id=numbers[node],
            relation=node[0],
            columns=node[1],
            says=sentence(rulebook.relations[node[0]], node[1]),
            rule=rule.name if rule is not None else "",
            rule_at=rule.place if rule is not None else "",
            premises=tuple(premises),
            hidden=rule.hidden if rule is not None else False,
        )
    return tuple(step for step in steps if step is not None)


def sentence(relation: Relation, columns: Sequence[Value]) -> str:
    """A tuple in words, by the `@[says]` of its relation, else as an atom."""
    if relation.says is None:
        return atom_text(relation.name, columns)
    values = {column.name: str(value) for column, value in zip(relation.columns, columns, strict=True)}
    return re.sub(r"\{(\w+)\}", lambda match: values.get(match.group(1), match.group(0)), relation.says)


def atom_text(relation: str, columns: Sequence[Value | None]) -> str:
    """A tuple as Soufflé writes it: `edge("a", 1)`."""
    return f"{relation}({', '.join(_shown(value) for value in columns)})"


def _shown(value: Value | None) -> str:
    if value is None:
        return "_"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _numbered(step: ProofStep, number: int) -> ProofStep:
    return ProofStep(number, step.relation, step.columns, step.says, hidden=step.hidden)


def _premises(
    derivation: Derivation, tables: Tables, scopes: dict[int, Scope]
) -> list[tuple[str, Row] | ProofStep]:
    """The premises in the order of the body, those that are no tuples as unnumbered leaves.

    `scopes` has those of the rules that came before, by their ids.
    """
    if derivation.rule is None:
        return []
    rule = derivation.rule
    slots: Slots = list(derivation.slots)
    scope = scopes.get(rule.id)
    if scope is None:
        scope = scopes[rule.id] = Scope.of(rule.clause, named_wildcards(rule.body), tables)
    found: list[tuple[str, Row] | ProofStep] = []
    tuples = iter(derivation.premises)
    for premise in rule.body:
        found.append(next(tuples) if isinstance(premise, Atom) else leaf(premise, scope, slots))
    return found


def leaf(premise: Premise, scope: Scope, slots: Slots) -> ProofStep:
    """A negation, as relation `!name` with "_" for wildcards, or a comparison, as relation `=` and so on."""
    match premise:
        case Negation(atom=atom):
            values = [
                None if isinstance(term, Wildcard) else scope.getter(term)(slots) for term in atom.arguments
            ]
            columns = tuple("_" if value is None else value for value in values)
            return ProofStep(
                0, f"!{atom.relation}", columns, f"not {atom_text(atom.relation, values)}", hidden=True
            )
        case Comparison(operator=operator, left=left, right=right):
            texts: list[str] = []
            sides: list[Value] = []
            for side in (left, right):
                value = term_value(side, scope.outer, scope)(slots)
                assert value is not None
                sides.append(value)
                texts.append(side.span.text if isinstance(side, Aggregate) else _shown(value))
            return ProofStep(0, operator, tuple(sides), f" {operator} ".join(texts), hidden=True)
        case Atom():
            raise AssertionError("a positive premise is a tuple")


def check_step(
    rulebook: Rulebook,
    relations: Tables | Mapping[str, Sequence[Row]],
    steps: Sequence[ProofStep],
    number: int,
) -> bool:
    """Whether step `number` holds on its own: a fact that is there, or an instance of the rule it names.

    The premises are matched with the body of the clause from scratch; negations are looked up in the tables,
    comparisons and aggregates are computed again.
    """
    tables = relations if isinstance(relations, Tables) else Tables(relations)
    step = steps[number]
    relation = rulebook.relations.get(step.relation)
    if relation is None:
        return step.relation[:1] in "!=<>" and not step.premises and not step.rule
    if not step.rule_at:
        return relation.is_input and not step.premises and tables.has(step.relation, step.columns)
    candidates = [
        rule
        for rule in rulebook.rules
        if rule.name == step.rule and rule.head.relation == step.relation and rule.place == step.rule_at
    ]
    premises = [steps[each] for each in step.premises]
    return any(_is_instance(rule, step, premises, tables) for rule in candidates)


def _is_instance(rule: Rule, step: ProofStep, premises: Sequence[ProofStep], tables: Tables) -> bool:
    if len(premises) != len(rule.body):
        return False
    values: dict[str, Value] = {}
    matched = [(rule.head, step)]
    matched += [
        (each, given) for each, given in zip(rule.body, premises, strict=True) if isinstance(each, Atom)
    ]
    if not all(_unify(atom, given, values) for atom, given in matched):
        return False
    return _check_rest(rule, matched, list(zip(rule.body, premises, strict=True)), tables, values)


def _unify(atom: Atom, step: ProofStep, values: dict[str, Value]) -> bool:
    if atom.relation != step.relation or len(atom.arguments) != len(step.columns):
        return False
    for term, value in zip(atom.arguments, step.columns, strict=True):
        match term:
            case Variable(name=name) if values.setdefault(name, value) != value:
                return False
            case Number(value=constant) | Text(value=constant) if constant != value:
                return False
            case _:
                pass
    return True


def _check_rest(
    rule: Rule,
    matched: Sequence[tuple[Atom, ProofStep]],
    body: Sequence[tuple[Premise, ProofStep]],
    tables: Tables,
    values: Mapping[str, Value],
) -> bool:
    """Bindings by `=` are completed from the leaves, then every premise without a tuple is computed again."""
    slots_by_name = dict(values)
    for premise, given in body:
        if isinstance(premise, Comparison):
            for side, value in zip((premise.left, premise.right), given.columns, strict=True):
                if isinstance(side, Variable) and slots_by_name.setdefault(side.name, value) != value:
                    return False
    scope = Scope.of(rule.clause, rule.body, tables)
    slots: Slots = list(scope.blank)
    for name, slot in scope.names.items():
        slots[slot] = slots_by_name.get(name, 0)
    for atom, given in matched:
        for term, value in zip(atom.arguments, given.columns, strict=True):
            if not isinstance(term, Wildcard) and scope.getter(term)(slots) != value:
                return False
    return all(
        _leaf_holds(premise, given, scope, slots) for premise, given in body if not isinstance(premise, Atom)
    )


def _leaf_holds(premise: Premise, given: ProofStep, scope: Scope, slots: Slots) -> bool:
    again = leaf(premise, scope, slots)
    if (again.relation, again.columns) != (given.relation, given.columns):
        return False
    if isinstance(premise, Negation):
        known = tuple(i for i, term in enumerate(premise.atom.arguments) if not isinstance(term, Wildcard))
        key = tuple(again.columns[index] for index in known)
        index = scope.tables.index(premise.atom.relation, known)
        return (key[0] if len(known) == 1 else key) not in index
    assert isinstance(premise, Comparison)
    return compare(premise.operator, again.columns[0], again.columns[1])
