"""Writes out component instances: every relation and clause under a ground name, `instance.relation`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from kina.datalog import syntax
from kina.datalog.rules import ColumnType, Relation, Rule
from kina.datalog.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Clause,
    Comparison,
    Component,
    Declaration,
    Directive,
    Init,
    Negation,
    Premise,
    RuleFile,
    Term,
    Type,
    metadata_text,
)
from kina.diagnostics.finding import Finding, Label, ProgramError, error
from kina.source import Span

_KNOWN_KEYS = frozenset({"rule", "code", "says", "hide"})

Flat = tuple[Mapping[str, str], Mapping[str, Relation], tuple[Rule, ...]]


def flatten(files: tuple[RuleFile, ...]) -> Flat:
    """Types with what they are underneath, relations and rules; raises ProgramError (K805, K811, K813)."""
    book = _Book()
    items = [item for file in files for item in file.items]
    book.types(item for item in items if isinstance(item, Type))
    components = book.components(item for item in items if isinstance(item, Component))
    parts = [("", [item for item in items if isinstance(item, (Declaration, Directive, Clause))])]
    for init in (item for item in items if isinstance(item, Init)):
        parts.append((init.instance, book.members(init, components)))
    for instance, members in parts:
        book.declare(instance, [member for member in members if isinstance(member, Declaration)])
    for instance, members in parts:
        book.direct(instance, [member for member in members if isinstance(member, Directive)])
    for instance, members in parts:
        book.add_clauses(instance, [member for member in members if isinstance(member, Clause)])
    if book.findings:
        raise ProgramError(*book.findings)
    return book.bases, book.relations, tuple(book.rules)


@dataclass(slots=True)
class _Book:
    bases: dict[str, str] = field(default_factory=lambda: {"number": "number", "symbol": "symbol"})
    parents: dict[str, str] = field(default_factory=dict)
    declared: dict[str, Span] = field(default_factory=dict)
    instances: set[str] = field(default_factory=set)
    relations: dict[str, Relation] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def types(self, items: Iterator[Type]) -> None:
        """Fills `bases`: `number`, `symbol`, or for a subtype a path such as `symbol/Value`."""
        pending: dict[str, Type] = {}
        for item in items:
            if item.name in pending or item.name in self.bases:
                self._twice(
                    "type", item.name, item.span, pending[item.name].span if item.name in pending else None
                )
                continue
            pending[item.name] = item
        while pending:
            ready = [item for item in pending.values() if item.base in self.bases]
            for item in ready:
                path = self.bases[item.base]
                self.bases[item.name] = path if item.alias else f"{path}/{item.name}"
                del pending[item.name]
            if not ready:
                for item in pending.values():
                    what = "is its own base" if item.base in pending else "is not declared"
                    self.findings.append(error("K805", f"the type `{item.base}` {what}", item.span))
                break

    def components(self, items: Iterator[Component]) -> dict[str, Component]:
        found: dict[str, Component] = {}
        for item in items:
            if item.name in found:
                self._twice("component", item.name, item.span, found[item.name].span)
                continue
            found[item.name] = item
        return found

    def members(self, init: Init, components: dict[str, Component]) -> list[Declaration | Directive | Clause]:
        """The members of an instance, those of the outermost base first."""
        if init.instance in self.instances:
            self.findings.append(
                error("K811", f"the instance `{init.instance}` is declared twice", init.span)
            )
            return []
        self.instances.add(init.instance)
        chain: list[Component] = []
        name: str | None = init.component
        while name is not None:
            component = components.get(name)
            if component is None:
                at = chain[-1].span if chain else init.span
                self.findings.append(error("K805", f"the component `{name}` is not declared", at))
                return []
            if component in chain:
                self.findings.append(error("K805", f"the component `{name}` is its own base", component.span))
                return []
            chain.append(component)
            name = component.base
        return [member for component in reversed(chain) for member in component.items]

    def declare(self, instance: str, items: list[Declaration]) -> None:
        for item in items:
            name = _ground(instance, item.name)
            if name in self.relations:
                self._twice("relation", item.name, item.span, self.relations[name].span)
                continue
            self._check_metadata(item.metadata)
            columns = tuple(self._column(column) for column in item.columns)
            names = [column.name for column in item.columns]
            for index, column in enumerate(item.columns):
                if column.name in names[:index]:
                    self.findings.append(
                        error("K811", f"the column `{column.name}` is declared twice", column.span)
                    )
            says = metadata_text(item.metadata, "says")
            hidden = metadata_text(item.metadata, "hide") is not None
            self.relations[name] = Relation(
                name, item.name, instance, columns, item.doc, says, False, False, item.span, hidden
            )

    def direct(self, instance: str, items: list[Directive]) -> None:
        for item in items:
            name = self._resolve(instance, item.relation)
            relation = self.relations.get(name)
            if relation is None:
                self.findings.append(
                    error("K805", f"the relation `{item.relation}` is not declared", item.span)
                )
            elif item.kind == "input":
                self.relations[name] = replace(relation, is_input=True)
            else:
                self.relations[name] = replace(relation, is_output=True)

    def add_clauses(self, instance: str, items: list[Clause]) -> None:
        for item in items:
            self._check_metadata(item.metadata)
            clause = self._rename_clause(instance, item)
            self.rules.append(
                Rule(
                    id=len(self.rules),
                    name=metadata_text(item.metadata, "rule") or "",
                    code=metadata_text(item.metadata, "code"),
                    hidden=metadata_text(item.metadata, "hide") is not None,
                    doc=item.doc,
                    clause=clause,
                    instance=instance,
                )
            )

    def _column(self, column: syntax.Column) -> ColumnType:
        path = self.bases.get(column.type)
        if path is None:
            banned = column.type in {"float", "unsigned"}
            what = "is outside the rule language" if banned else "is not declared"
            self.findings.append(
                error("K802" if banned else "K805", f"the type `{column.type}` {what}", column.span)
            )
            path = "symbol"
        return ColumnType(column.name, column.type, path.split("/", 1)[0])

    def _resolve(self, instance: str, name: str) -> str:
        """A name inside a component means the component's own relation first, then a global one."""
        own = _ground(instance, name)
        return own if own in self.relations else name

    def _rename_clause(self, instance: str, clause: Clause) -> Clause:
        if not instance:
            return clause
        body = tuple(self._rename(instance, premise) for premise in clause.body)
        return replace(clause, head=self._rename_atom(instance, clause.head), body=body)

    def _rename(self, instance: str, premise: Premise) -> Premise:
        match premise:
            case Atom():
                return self._rename_atom(instance, premise)
            case Negation(atom=atom):
                return replace(premise, atom=self._rename_atom(instance, atom))
            case Comparison(left=left, right=right):
                return replace(
                    premise, left=self._rename_term(instance, left), right=self._rename_term(instance, right)
                )

    def _rename_term(self, instance: str, term: Term) -> Term:
        match term:
            case Aggregate(body=body):
                return replace(term, body=tuple(self._rename(instance, premise) for premise in body))
            case Arithmetic():
                return term
            case _:
                return term

    def _rename_atom(self, instance: str, atom: Atom) -> Atom:
        name = self._resolve(instance, atom.relation)
        return atom if name == atom.relation else replace(atom, relation=name)

    def _check_metadata(self, metadata: tuple[syntax.Metadata, ...]) -> None:
        keys: set[str] = set()
        for entry in metadata:
            if entry.key not in _KNOWN_KEYS:
                known = ", ".join(f"`{key}`" for key in sorted(_KNOWN_KEYS))
                message = f"`{entry.key}` is not a known annotation"
                self.findings.append(error("K813", message, entry.span, notes=(f"known are {known}",)))
            elif entry.key in keys:
                self.findings.append(
                    error("K813", f"the annotation `{entry.key}` is given twice", entry.span)
                )
            keys.add(entry.key)

    def _twice(self, what: str, name: str, span: Span, first: Span | None) -> None:
        labels = (Label(first, "first declared here"),) if first is not None else ()
        self.findings.append(error("K811", f"the {what} `{name}` is declared twice", span, labels=labels))


def _ground(instance: str, name: str) -> str:
    return f"{instance}.{name}" if instance else name
