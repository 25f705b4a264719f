"""The syntax tree of a rule file: frozen nodes, each with the span of the text it stands for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kina.source import Source, Span


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class Wildcard:
    """`_`: some value that nothing else asks for."""

    span: Span


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span


@dataclass(frozen=True, slots=True)
class Text:
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`left operator right` on numbers, operator one of + - * / %. `depth` counts nested operators."""

    operator: str
    left: Term
    right: Term
    span: Span
    depth: int


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`count : { body }` or `sum|min|max value : { body }`, over all bindings of the inner variables."""

    function: str
    value: Term | None
    body: tuple[Premise, ...]
    span: Span


Term = Variable | Wildcard | Number | Text | Arithmetic | Aggregate


@dataclass(frozen=True, slots=True)
class Atom:
    relation: str
    arguments: tuple[Term, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Negation:
    atom: Atom
    span: Span


@dataclass(frozen=True, slots=True)
class Comparison:
    """`left operator right`, operator one of = != < <= > >=; an aggregate is one whole side of `=`."""

    operator: str
    left: Term
    right: Term
    span: Span


Premise = Atom | Negation | Comparison


@dataclass(frozen=True, slots=True)
class Metadata:
    """One `key = "text"` of an annotation `@[...]`; the text of a bare `@[hide]` is empty."""

    key: str
    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class Clause:
    head: Atom
    body: tuple[Premise, ...]
    metadata: tuple[Metadata, ...]
    doc: str
    span: Span


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: str
    span: Span


@dataclass(frozen=True, slots=True)
class Declaration:
    name: str
    columns: tuple[Column, ...]
    metadata: tuple[Metadata, ...]
    doc: str
    span: Span


@dataclass(frozen=True, slots=True)
class Type:
    """`.type name <: base`, or with `alias` `.type name = base`, which is another name of `base`."""

    name: str
    base: str
    alias: bool
    metadata: tuple[Metadata, ...]
    doc: str
    span: Span


@dataclass(frozen=True, slots=True)
class Directive:
    """`.input relation` or `.output relation`; `kind` is the word."""

    kind: str
    relation: str
    span: Span


@dataclass(frozen=True, slots=True)
class Component:
    """`.comp name : base { items }`."""

    name: str
    base: str | None
    items: tuple[Declaration | Directive | Clause, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Init:
    """`.init instance = component`."""

    instance: str
    component: str
    span: Span


@dataclass(frozen=True, slots=True)
class Include:
    path: str
    span: Span


@dataclass(frozen=True, slots=True)
class Once:
    span: Span


Item = Clause | Declaration | Type | Directive | Component | Init | Include | Once


@dataclass(frozen=True, slots=True)
class RuleFile:
    """One parsed `.dl` file, its items in the order of the text."""

    source: Source
    items: tuple[Item, ...]


def walk(term: Term) -> Iterator[Term]:
    """The term and all terms inside it, bodies of aggregates left out."""
    stack = [term]
    while stack:
        node = stack.pop()
        yield node
        match node:
            case Arithmetic(left=left, right=right):
                stack += [right, left]
            case Aggregate(value=value) if value is not None:
                stack.append(value)
            case _:
                pass


def premise_terms(premise: Premise) -> tuple[Term, ...]:
    """The terms that stand directly in a premise."""
    match premise:
        case Atom(arguments=arguments) | Negation(atom=Atom(arguments=arguments)):
            return arguments
        case Comparison(left=left, right=right):
            return (left, right)


def aggregates(premise: Premise) -> Iterator[Aggregate]:
    """The aggregates that stand in a premise."""
    for term in premise_terms(premise):
        for node in walk(term):
            if isinstance(node, Aggregate):
                yield node


def variables(term: Term) -> Iterator[Variable]:
    """The variables of a term, bodies and values of aggregates left out."""
    stack = [term]
    while stack:
        node = stack.pop()
        match node:
            case Variable():
                yield node
            case Arithmetic(left=left, right=right):
                stack += [right, left]
            case _:
                pass


def premise_variables(premise: Premise) -> Iterator[Variable]:
    """The variables of a premise that belong to the clause; those inside aggregates are left out."""
    for term in premise_terms(premise):
        yield from variables(term)


def aggregate_variables(aggregate: Aggregate) -> Iterator[Variable]:
    """The variables in the value and the body of an aggregate, in the order of the text."""
    if aggregate.value is not None:
        yield from variables(aggregate.value)
    for premise in aggregate.body:
        yield from premise_variables(premise)


def outer_variables(clause: Clause) -> frozenset[str]:
    """Names of the variables that the clause uses outside its aggregates.

    With several aggregates a name that only two of them share stays local to each.
    """
    names = {variable.name for term in clause.head.arguments for variable in variables(term)}
    for premise in clause.body:
        names.update(variable.name for variable in premise_variables(premise))
    return frozenset(names)


def metadata_text(metadata: tuple[Metadata, ...], key: str) -> str | None:
    """The text of the annotation `key`, None if there is none."""
    for entry in metadata:
        if entry.key == key:
            return entry.text
    return None
