"""Column types of a clause: one variable, one type, as Soufflé's own check sees it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kina.datalog.rules import Relation
from kina.datalog.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Negation,
    Number,
    Premise,
    Term,
    Text,
    Variable,
    aggregates,
    outer_variables,
    variables,
)
from kina.diagnostics.finding import Finding, Label, error
from kina.source import Span

#: A type as a path from what is underneath: `symbol/Value`. A constant fits every type of its base:
#: `symbol/*`.
TypePath = str


def check_types(
    clause: Clause, bases: Mapping[str, str], relations: Mapping[str, Relation]
) -> Iterable[Finding]:
    """A finding (K807) for each variable, argument and operand whose types do not agree."""
    scope = _Scope(bases, relations)
    scope.learn(clause.body)
    outer = outer_variables(clause)
    scope.use_atom(clause.head, "is")
    scope.use_body(clause.body)
    for premise in clause.body:
        for aggregate in aggregates(premise):
            inner = _Scope(
                bases, relations, {name: scope.types[name] for name in scope.types if name in outer}
            )
            inner.learn(aggregate.body)
            inner.use_body(aggregate.body)
            if aggregate.value is not None:
                inner.number(aggregate.value)
            scope.findings += inner.findings
    return scope.findings


@dataclass(slots=True)
class _Scope:
    bases: Mapping[str, str]
    relations: Mapping[str, Relation]
    types: dict[str, TypePath] = field(default_factory=dict)
    places: dict[str, Span] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def learn(self, body: tuple[Premise, ...]) -> None:
        """Gives each variable the narrowest type that a positive premise or an `=` gives it."""
        for premise in body:
            if isinstance(premise, Atom):
                for argument, path in zip(premise.arguments, self._columns(premise), strict=True):
                    if isinstance(argument, Variable):
                        self._narrow(argument, path)
        equalities = [
            premise for premise in body if isinstance(premise, Comparison) and premise.operator == "="
        ]
        for _ in equalities:
            for equality in equalities:
                for side, other in ((equality.left, equality.right), (equality.right, equality.left)):
                    found = self._type(other)
                    if isinstance(side, Variable) and side.name not in self.types and found is not None:
                        self._narrow(side, found)

    def use_body(self, body: tuple[Premise, ...]) -> None:
        for premise in body:
            match premise:
                case Atom():
                    self.use_atom(premise, "meets")
                case Negation(atom=atom):
                    self.use_atom(atom, "meets")
                case Comparison():
                    self._compare(premise)

    def use_atom(self, atom: Atom, mode: str) -> None:
        """In a head ("is") an argument is of the column's type; in a premise ("meets") one type holds
        the other.
        """
        relation = self.relations[atom.relation]
        for argument, path, column in zip(atom.arguments, self._columns(atom), relation.columns, strict=True):
            if isinstance(argument, Arithmetic):
                self._operands(argument)
            have = self._type(argument)
            fits = have is None or (_below(have, path) if mode == "is" else _related(have, path))
            if not fits:
                assert have is not None
                message = f"`{argument.span.text}` is a {_name(have)}, and `{column.name}` is a {_name(path)}"
                label = Label(relation.span, f"`{column.name}` is declared here")
                self.findings.append(error("K807", message, argument.span, labels=(label,)))

    def number(self, term: Term) -> None:
        """The term is a number."""
        have = self._type(term)
        if have is not None and not have.startswith("number"):
            self.findings.append(
                error("K807", f"`{term.span.text}` is a {_name(have)}, not a number", term.span)
            )
        if isinstance(term, Arithmetic):
            self._operands(term)

    def _compare(self, premise: Comparison) -> None:
        for side in (premise.left, premise.right):
            if isinstance(side, Arithmetic):
                self._operands(side)
        left, right = self._type(premise.left), self._type(premise.right)
        if left is not None and right is not None and not _related(left, right):
            message = f"`{premise.operator}` compares a {_name(left)} with a {_name(right)}"
            self.findings.append(error("K807", message, premise.span))

    def _operands(self, term: Arithmetic) -> None:
        for variable in variables(term):
            self.number(variable)
        for node in (term.left, term.right):
            if isinstance(node, Text):
                self.number(node)

    def _narrow(self, variable: Variable, path: TypePath) -> None:
        have = self.types.get(variable.name)
        if have is not None and not _related(have, path):
            message = f"`{variable.name}` is a {_name(have)} and a {_name(path)}"
            label = (
                Label(self.places[variable.name], f"a {_name(have)} here")
                if variable.name in self.places
                else None
            )
            self.findings.append(
                error(
                    "K807", message, variable.span, f"a {_name(path)} here", labels=(label,) if label else ()
                )
            )
            return
        if have is None or (_below(path, have) and not path.endswith("/*")):
            self.types[variable.name] = path
            self.places.setdefault(variable.name, variable.span)

    def _columns(self, atom: Atom) -> tuple[TypePath, ...]:
        return tuple(
            self.bases.get(column.type, "symbol") for column in self.relations[atom.relation].columns
        )

    def _type(self, term: Term) -> TypePath | None:
        match term:
            case Variable(name=name):
                return self.types.get(name)
            case Number() | Arithmetic() | Aggregate():
                return "number/*"
            case Text():
                return "symbol/*"
            case _:
                return None


def _below(path: TypePath, other: TypePath) -> bool:
    """Every value of `path` is one of `other`."""
    if path.endswith("/*"):
        return path.split("/", 1)[0] == other.split("/", 1)[0]
    return path == other or path.startswith(other + "/")


def _related(path: TypePath, other: TypePath) -> bool:
    return _below(path, other) or _below(other, path)


def _name(path: TypePath) -> str:
    return f"`{path.removesuffix('/*').rsplit('/', 1)[-1]}`"
