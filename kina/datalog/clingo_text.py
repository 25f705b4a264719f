"""Writes rules as an answer set program whose one model is what the rules derive (stratified, no search)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from kina.datalog.clingo_order import Join, Tie, plan
from kina.datalog.clingo_unions import without_repeats
from kina.datalog.compiled import Asp
from kina.datalog.rules import ColumnType, Relation, Rule, Rulebook, needed
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
    aggregate_variables,
    aggregates,
    outer_variables,
    premise_terms,
    walk,
)

_OPERATORS = {"%": "\\"}

#: Types of numbers of which one op, tensor or program has few.
_SMALL = frozenset(("Dim", "Factor", "Priority"))


def _rule_texts(rule: Rule) -> Iterator[str]:
    """Every text constant in a rule."""
    for term in rule.head.arguments:
        yield from _texts(term)
    for premise in rule.body:
        yield from _premise_texts(premise)
        for aggregate in aggregates(premise):
            for inner in aggregate.body:
                yield from _premise_texts(inner)


def _premise_texts(premise: Premise) -> Iterator[str]:
    for term in premise_terms(premise):
        yield from _texts(term)


def _texts(term: Term) -> Iterator[str]:
    for node in walk(term):
        if isinstance(node, Text):
            yield node.value


def translate(
    rulebook: Rulebook, outputs: Collection[str], keys: frozenset[str], given: frozenset[str] = frozenset()
) -> Asp:
    """The rules that derive the `outputs` from inputs and `given` relations, with a constant for each symbol.

    The predicates are `r0`, `r1`, ... in the order of the relations. Each has a first argument 0 before the
    columns, for the sake of the join order; `keys` are the types that tell much (`clingo_order`).
    """
    rulebook = without_repeats(rulebook, outputs, given)
    relations = needed(rulebook, outputs, given)
    derived = relations - given
    rules = [rule for rule in rulebook.rules if rule.head.relation in derived]
    texts = tuple(sorted({text for rule in rules for text in _rule_texts(rule)}))
    predicates = {name: f"r{index}" for index, name in enumerate(rulebook.relations)}
    constants = {text: f"c{index}" for index, text in enumerate(texts)}
    stratum = {name: index for index, group in enumerate(rulebook.strata) for name in group}
    writer = _Writer(predicates, constants, rulebook.relations, stratum, keys)
    text = "".join(f"{writer.rule(rule)}\n" for rule in rules)
    lines = tuple(rule.id for rule in rules)
    return Asp(text, lines, texts, tuple(sorted(relations - derived)))


@dataclass(frozen=True, slots=True)
class _Writer:
    predicates: Mapping[str, str]
    constants: Mapping[str, str]
    relations: Mapping[str, Relation]
    stratum: Mapping[str, int]
    keys: frozenset[str]

    def rule(self, rule: Rule) -> str:
        outer = outer_variables(rule.clause)
        head = self.atom(rule.head)
        joins = plan(rule, self.relations, self.stratum, self.keys)
        body = [part for place, join in enumerate(joins) for part in self.join(join, place)]
        body += [self.premise(premise, outer) for premise in rule.body if not isinstance(premise, Atom)]
        return f"{head} :- {', '.join(body)}." if body else f"{head}."

    def join(self, join: Join, place: int) -> Iterator[str]:
        arguments = self.arguments(join.atom, f"W{place}")
        if join.first:
            yield "Start = 0"
            yield self._apply(join.atom.relation, arguments, "Start")
        elif join.filters:
            yield f"not not {self._apply(join.atom.relation, arguments)}"
        else:
            yield self._apply(join.atom.relation, arguments)
        for tie in join.ties:
            yield from self.tie(tie)

    def arguments(self, atom: Atom, fresh: str) -> list[str]:
        """The terms of a premise; where few tuples differ in a `_` alone, it is a variable named `fresh…`.

        The grounder keeps a copy of a relation without the columns of its `_`, which takes longer than to see
        a few tuples twice. Many could differ where one key is kept and numbers or other keys are not.
        """
        columns = list(zip(self.relations[atom.relation].columns, atom.arguments, strict=True))
        left_out = [column for column, term in columns if isinstance(term, Wildcard)]
        kept = sum(column.type in self.keys for column, term in columns if not isinstance(term, Wildcard))
        few = kept > 1 or (kept == 1 and all(self._small(column) for column in left_out))
        return [
            f"{fresh}_{place}" if few and isinstance(term, Wildcard) else self.term(term)
            for place, term in enumerate(atom.arguments)
        ]

    def _small(self, column: ColumnType) -> bool:
        """Whether a column has few values for each key."""
        return column.type in _SMALL if column.base == "number" else column.type not in self.keys

    def tie(self, tie: Tie) -> Iterator[str]:
        """A product with 0 waits for the key as a tuple does, and makes no symbol."""
        if tie.anchor:
            pairs = [(f"V_{left}", f"V_{right}") for left, right in zip(tie.left, tie.right, strict=True)]
            for left, right in pairs:
                yield f"{left} = {right}+0*V_{tie.anchor}"
                yield f"{right} = {left}+0*V_{tie.anchor}"
            return
        one, other = (",".join(f"V_{name}" for name in names) for names in (tie.left, tie.right))
        yield f"({one}) = ({other})"
        yield f"({other}) = ({one})"

    def premise(self, premise: Premise, outer: frozenset[str]) -> str:
        match premise:
            case Atom():
                return self.atom(premise)
            case Negation(atom=atom):
                return f"not {self.atom(atom)}"
            case Comparison(operator="=", left=left, right=Aggregate() as aggregate):
                return self.aggregate(left, aggregate, outer)
            case Comparison(operator="=", left=Aggregate() as aggregate, right=right):
                return self.aggregate(right, aggregate, outer)
            case Comparison(operator=operator, left=left, right=right):
                return f"{self.term(left)} {operator} {self.term(right)}"

    def aggregate(self, target: Term, aggregate: Aggregate, outer: frozenset[str]) -> str:
        """All bindings of the inner variables count, so they are all in the tuple, those of `_` too."""
        fresh: list[str] = []
        body = ", ".join(self._inner(premise, fresh) for premise in aggregate.body)
        names = dict.fromkeys(variable.name for variable in aggregate_variables(aggregate))
        inner = [f"V_{name}" for name in names if name not in outer] + fresh
        if aggregate.value is None:
            elements = ",".join(inner) or "0"
            return f"{self.term(target)} = #count {{ {elements} : {body} }}"
        value = self.term(aggregate.value)
        if aggregate.function == "sum":
            elements = ",".join([value, *inner])
            return f"{self.term(target)} = #sum {{ {elements} : {body} }}"
        # The least of nothing is #sup and the greatest #inf: the rule holds for numbers alone.
        term = self.term(target)
        return f"{term} = #{aggregate.function} {{ {value} : {body} }}, #inf < {term}, {term} < #sup"

    def _inner(self, premise: Premise, fresh: list[str]) -> str:
        """A premise of an aggregate; each `_` of a positive atom becomes a variable of its own."""
        if not isinstance(premise, Atom):
            return self.premise(premise, frozenset())
        arguments = []
        for term in premise.arguments:
            if isinstance(term, Wildcard):
                fresh.append(f"W{len(fresh)}")
                arguments.append(fresh[-1])
            else:
                arguments.append(self.term(term))
        return self._apply(premise.relation, arguments)

    def atom(self, atom: Atom) -> str:
        return self._apply(atom.relation, [self.term(term) for term in atom.arguments])

    def _apply(self, relation: str, arguments: list[str], start: str = "0") -> str:
        return f"{self.predicates[relation]}({','.join([start, *arguments])})"

    def term(self, term: Term) -> str:
        match term:
            case Variable(name=name):
                return f"V_{name}"
            case Wildcard():
                return "_"
            case Number(value=value):
                return str(value) if value >= 0 else f"({value})"
            case Text(value=value):
                return self.constants[value]
            case Arithmetic(operator=operator, left=left, right=right):
                return f"({self.term(left)}{_OPERATORS.get(operator, operator)}{self.term(right)})"
            case Aggregate():
                raise AssertionError("an aggregate is written by its premise")
