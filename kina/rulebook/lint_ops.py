"""What rules of ops leave out: attributes, dims, and clauses that no instance of an op meets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Atom, Negation, Text, Variable
from kina.diagnostics.finding import Finding, Label
from kina.facts.names import encode
from kina.frontend.ops import OPS, OpSpec
from kina.frontend.suggest import did_you_mean
from kina.rulebook.base import ATTRIBUTE_RELATIONS, RuleBase
from kina.rulebook.catalogue import AttributeRole, Catalogue, OpEntry
from kina.rulebook.evaluate import ATTRIBUTE_INPUTS
from kina.rulebook.form import UNRULED
from kina.rulebook.lint_logic import dead_clauses
from kina.rulebook.lint_text import warning
from kina.rulebook.usage import distinct
from kina.source import Span

#: Inputs that hold what an attribute says without being named after it: by them a rule reads it all the same.
_STANDS_FOR = {
    ("constant", "value"): "value_splat",
    ("constant", "data"): "value_splat",
    ("reshape", "shape"): "op_reshape_factor",
}


def lint_ops(base: RuleBase, found: Catalogue, kinds: Collection[str]) -> Iterator[Finding]:
    """Every attribute that the rules of `kinds` do not account for (K852), or not truly (K853, K854), dim of
    which no rule speaks (K855), and clause about ops that never fires (K851)."""
    rulebook = base.rulebook
    yield from _never_fired(rulebook, found, dead_clauses(rulebook, base.table))
    yield from _unknown(rulebook, base.table)
    yield from _unmade(base, found, kinds)
    for entry in found.entries.values():
        if entry.kind in kinds:
            place = spoken_of(rulebook, entry.kind)
            for attribute in entry.attributes:
                yield from _attribute(entry, attribute, place, rulebook)
            yield from _unruled(entry, place)
            if entry.kind not in OPS:
                yield from _unfollowed(found, entry, rulebook)


def kinds_of(base: RuleBase, files: Collection[str]) -> frozenset[str]:
    """The kinds that clauses of some files name."""
    return frozenset(
        term.value
        for rule in base.rulebook.rules
        if rule.clause.span.file in files
        for atom in (rule.head, *rule.body)
        if isinstance(atom, Atom)
        for term in atom.arguments
        if isinstance(term, Text) and term.value in base.table
    )


def spoken_of(rulebook: Rulebook, kind: str) -> Span | None:
    """Where a clause names the kind: first in what it says of attributes, then anywhere."""
    places = [
        (rule.head.relation not in ATTRIBUTE_RELATIONS, rule.id, atom.span)
        for rule in rulebook.rules
        for atom in (rule.head, *rule.body)
        if isinstance(atom, Atom)
        for term in atom.arguments
        if isinstance(term, Text) and term.value == kind
    ]
    return min(places, key=lambda place: place[:2])[2] if places else None


def _never_fired(rulebook: Rulebook, found: Catalogue, dead: Collection[Span]) -> Iterator[Finding]:
    """Instances of every op meet every clause about ops that can be met."""
    evaluation = found.evaluation
    fired = {firing.rule for op in evaluation.program.ops for firing in evaluation.fired(op.id)}
    for rule in rulebook.rules:
        column = rulebook.relations[rule.head.relation].columns[:1]
        about_ops = any(each.type == "Op" for each in column) and rule.head.relation in evaluation.relations
        if about_ops and rule.body and rule.id not in fired and rule.clause.span not in dead:
            message = f"`{rule.name or rule.head.relation}` fires for no instance of any op"
            yield warning("K851", message, rule.head.span, rule=rule.name)


def _unmade(base: RuleBase, found: Catalogue, kinds: Collection[str]) -> Iterator[Finding]:
    """Declared ops that nothing could be asked about."""
    for kind in base.table:
        if kind in kinds and kind not in found.entries:
            message = f"no instance of `{kind}` could be made, so its rules are not asked about it"
            yield warning("K851", message, spoken_of(base.rulebook, kind))


def _unknown(rulebook: Rulebook, table: Mapping[str, OpSpec]) -> Iterator[Finding]:
    """Attributes that no op has."""
    for rule in distinct(rulebook):
        yield from _misnamed(rule, table)
        match rule.head:
            case Atom(relation=relation, arguments=(Text(value=kind), Text(value=name))):
                if relation in ATTRIBUTE_RELATIONS and kind not in table:
                    yield warning("K853", f"no op is a `{kind}`", rule.head.span)
                elif relation in ATTRIBUTE_RELATIONS and name not in table[kind].by_name:
                    yield warning("K853", f"`{kind}` has no attribute `{name}`", rule.head.span)
            case _:
                pass


def _misnamed(rule: Rule, table: Mapping[str, OpSpec]) -> Iterator[Finding]:
    """Attributes in a clause that none of the kinds it is about has, and words that they never are.

    A premise that asks for one never holds, and its negation always does.
    """
    atoms = [each for each in map(_atom, (rule.head, *rule.body)) if each is not None]
    named = [atom.arguments[1] for atom in atoms if atom.relation == "op_kind"]
    kinds = [table[kind.value] for kind in named if isinstance(kind, Text) and kind.value in table]
    for atom in atoms:
        if atom.relation in (*ATTRIBUTE_INPUTS, "attribute_follows"):
            yield from _misnamed_in(atom, rule, kinds, table)


def _atom(premise: object) -> Atom | None:
    """What a premise, or its negation, asks for."""
    inner = premise.atom if isinstance(premise, Negation) else premise
    return inner if isinstance(inner, Atom) else None


def _misnamed_in(
    atom: Atom, rule: Rule, kinds: Sequence[OpSpec], table: Mapping[str, OpSpec]
) -> Iterator[Finding]:
    name = atom.arguments[1]
    if not isinstance(name, Text):
        return
    known = [each.by_name for each in kinds or table.values()]
    specs = [each[name.value] for each in known if name.value in each]
    if not specs:
        one = len({each.kind for each in kinds}) == 1
        message = f"`{kinds[0].kind}` has no attribute" if one else "no such op has an attribute"
        helps = did_you_mean(name.value, [each for names in known for each in names])
        yield warning("K853", f"{message} `{name.value}`", name.span, rule=rule.name, helps=helps)
        return
    word = atom.arguments[2] if atom.relation == "op_word" else None
    choices = [choice for each in specs for choice in each.choices]
    if isinstance(word, Text) and all(each.choices for each in specs) and word.value not in choices:
        message = f"`{name.value}` is never `{word.value}`"
        listed = ", ".join(f"`{each}`" for each in dict.fromkeys(choices))
        yield warning("K853", message, word.span, rule=rule.name, notes=(f"it is one of {listed}",))


def _attribute(
    entry: OpEntry, attribute: AttributeRole, place: Span | None, rulebook: Rulebook
) -> Iterator[Finding]:
    name = f"`{attribute.name}` of `{entry.kind}`"
    said = claim_span(rulebook, entry.kind, attribute.name)
    if not attribute.roles:
        words = ", ".join(f"`{relation}`" for relation in ATTRIBUTE_RELATIONS)
        yield warning("K852", f"no rule says what {name} does to layouts", place, f"say it by one of {words}")
    elif "does not matter" in attribute.roles and len(attribute.roles) > 1:
        yield warning("K853", f"{name} cannot both matter and not matter", said)
    elif "does not matter" in attribute.roles and attribute.readers:
        labels = (Label(attribute.readers[0].head.span, "reads it"),)
        yield warning("K853", f"{name} does not matter, and a rule reads it", said, labels=labels)
    elif "guards" in attribute.roles and not _is_read(entry, attribute):
        yield warning(
            "K854",
            f"{name} guards its rules, and none of them reads it",
            said,
            notes=tuple(_sizes(entry.clauses)),
        )


def _unfollowed(found: Catalogue, entry: OpEntry, rulebook: Rulebook) -> Iterator[Finding]:
    """Attributes of a declared op that are to change with the shards, and follow a dim of none."""
    evaluation = found.evaluation
    ops = [op for op in evaluation.program.ops if op.kind == entry.kind]
    followed = {row[1] for op in ops for row in evaluation.rows("attribute_follows", op.id)}
    for attribute in entry.attributes:
        if "localised" in attribute.roles and encode(attribute.name) not in followed:
            message = (
                f"`{attribute.name}` of `{entry.kind}` is localised, and no rule says which dim it follows"
            )
            place = claim_span(rulebook, entry.kind, attribute.name)
            yield warning("K854", message, place, notes=("`attribute_follows` says it",))


def claim_span(rulebook: Rulebook, kind: str, name: str) -> Span | None:
    """Where a fact says what an attribute does."""
    for rule in distinct(rulebook):
        match rule.head:
            case Atom(relation=relation, arguments=(Text(value=found), Text(value=attribute))):
                if relation in ATTRIBUTE_RELATIONS and (found, attribute) == (kind, name):
                    return rule.head.span
            case _:
                pass
    return None


def _is_read(entry: OpEntry, attribute: AttributeRole) -> bool:
    stands = _STANDS_FOR.get((entry.kind, attribute.name))
    return bool(attribute.readers) or any(stands in _relations(rule) for rule in entry.clauses)


def _relations(rule: Rule) -> Sequence[str]:
    atoms = (
        premise if isinstance(premise, Atom) else getattr(premise, "atom", None) for premise in rule.body
    )
    return [atom.relation for atom in atoms if atom is not None]


def _sizes(rules: Sequence[Rule]) -> Iterator[str]:
    """The clauses that ask two sizes to be equal instead."""
    for rule in rules:
        sizes = Counter(
            premise.arguments[2].name
            for premise in rule.body
            if isinstance(premise, Atom)
            and premise.relation == "value_dim"
            and isinstance(premise.arguments[2], Variable)
        )
        if any(count > 1 for count in sizes.values()):
            yield f"`{rule.name}`, {rule.place}, asks for equal sizes, which may be so by chance"


def _unruled(entry: OpEntry, place: Span | None) -> Iterator[Finding]:
    said: Mapping[str, str] = {
        shown.form.einsum: shown.instances[0].text for shown in entry.forms if UNRULED in shown.form.einsum
    }
    for einsum, instance in said.items():
        message = f"no rule says what becomes of some dims of `{entry.kind}`: {einsum}"
        yield warning("K855", message, place, notes=(f"so for {instance}",))
