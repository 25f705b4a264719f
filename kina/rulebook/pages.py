"""`kina rules show`: the page of an op, a rule or a relation, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kina.datalog.rules import Rule, Rulebook, dependencies
from kina.rulebook.catalogue import Catalogue, OpEntry, Shown
from kina.rulebook.listing import linear_parts, role_text
from kina.rulebook.usage import Usage, declared, distinct


def op_page(entry: OpEntry, rulebook: Rulebook) -> str:
    """What the rules say of an op: each of its forms, its attributes, and the clauses that say it."""
    out = [f"# {entry.kind}", "", f"{entry.doc[:1].upper()}{entry.doc[1:].rstrip('.')}.", ""]
    for shown in entry.forms:
        out += [*_form(entry, shown), ""]
    if entry.attributes:
        out += ["## Attributes", ""]
        for attribute in entry.attributes:
            places = f" ({', '.join(attribute.places)})" if attribute.places else ""
            out.append(f"- `{attribute.name}`, {attribute.doc}: {role_text(attribute)}{places}")
        out.append("")
    out += ["## Clauses", ""]
    out += [_clause(rulebook, rule) for rule in (*entry.facts, *entry.clauses)]
    return "\n".join(out).rstrip() + "\n"


def _form(entry: OpEntry, shown: Shown) -> Iterator[str]:
    form = shown.form
    yield f"## {form.einsum}"
    yield ""
    yield from (f"    {instance.text}" for instance in shown.instances)
    yield ""
    if form.roles:
        yield "- factors: " + ", ".join(f"{role.letter} {role}" for role in form.roles)
    else:
        yield "- factors: none, every dim stays whole"
    pending = "; ".join(f"{kind} over the axes of {letters}" for kind, letters in form.pending)
    yield f"- pending result: {pending or 'none'}"
    yield f"- linear in: {'; '.join(linear_parts(form, entry.operands)) or 'no operand'}"
    once = [
        name for name, each in zip(entry.operands, form.linearity, strict=False) if each.once and form.pending
    ]
    if once:
        yield f"- counts once in a pending result: {', '.join(once)}"
    if form.keeps_shapes:
        yield "- keeps shapes: layouts pass before anything is computed"


def _clause(rulebook: Rulebook, rule: Rule) -> str:
    head = declared(rulebook, rule.head.relation)
    if not rule.body:
        return f"- `{rule.clause.span.text.strip()}` {rule.place}"
    return f"- `{rule.name}` derives `{head}`, {rule.place}: {_sentence(rule.doc)}"


def rule_uses(name: str, found: Catalogue, rulebook: Rulebook) -> str:
    """What is to be said of a rule beside its page: the ops it speaks of, and the rules that read it."""
    kinds = [
        kind for kind, entry in found.entries.items() if any(rule.name == name for rule in entry.clauses)
    ]
    out = ["## Ops", "", _listed(kinds) or "It speaks of no op in particular.", ""]
    heads = {declared(rulebook, rule.head.relation) for rule in rulebook.rules if rule.name == name}
    readers = [
        rule
        for rule in distinct(rulebook)
        if any(declared(rulebook, read) in heads for read in _reads(rule, rulebook))
    ]
    out += ["## Read by", ""]
    out += [f"- `{rule.name}`, {rule.place}" for rule in readers] or ["No rule reads what it derives."]
    return "\n".join(out) + "\n"


def _reads(rule: Rule, rulebook: Rulebook) -> Iterable[str]:
    return (name for name, _ in dependencies(rule.clause))


def relation_page(usage: Usage) -> str:
    """What a relation says, its columns, and the clauses that make and read it."""
    relation = usage.relation
    columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    out = [f"# {usage.name}({columns})", "", relation.doc.strip() or "It is not documented.", ""]
    if relation.says:
        out += [f"In a proof: {relation.says}", ""]
    kind = "an input" if relation.is_input else "an output" if relation.is_output else ""
    out += [f"{relation.place}{', ' + kind if kind else ''}, level {usage.level}", ""]
    out += ["## Made by", "", *(_makers(usage) or ["The program."]), ""]
    out += ["## Read by", ""]
    out += [
        f"- `{use.rule.name or 'a fact'}`, {use.rule.place}{', by negation' if use.against else ''}"
        for use in usage.readers
    ] or ["No rule: Kina reads it." if relation.is_output else "No rule."]
    return "\n".join(out) + "\n"


def _makers(usage: Usage) -> list[str]:
    """A line for each rule, one for all facts that stand together."""
    named = [f"- `{rule.name}`, {rule.place}: {_sentence(rule.doc)}" for rule in usage.makers if rule.name]
    facts = [rule for rule in usage.makers if not rule.name]
    if facts:
        count = "1 fact" if len(facts) == 1 else f"{len(facts)} facts"
        named.append(f"- {count}, from {facts[0].place} on")
    return named


def _sentence(doc: str) -> str:
    return " ".join(doc.split())


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
