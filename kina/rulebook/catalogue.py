"""All that rules say of each kind of op, found by asking them about instances of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Text
from kina.frontend.ops import OpSpec
from kina.rulebook.base import ATTRIBUTE_RELATIONS, RuleBase
from kina.rulebook.evaluate import Evaluation, evaluate
from kina.rulebook.form import Form, form_of
from kina.rulebook.instances import Instance, instances, program_of


@dataclass(frozen=True, slots=True)
class AttributeRole:
    """What one attribute does to layouts, in the words of `ATTRIBUTE_RELATIONS`; no role if no rule says it.

    `places` are where the rules say so, and `readers` are the clauses about the kind that look at it.
    """

    name: str
    doc: str
    roles: tuple[str, ...]
    places: tuple[str, ...]
    readers: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A form, and the instances that have it."""

    form: Form
    instances: tuple[Instance, ...]


@dataclass(frozen=True, slots=True)
class OpEntry:
    """A kind with its forms, its attributes, the clauses that say so, and the facts that name it."""

    kind: str
    doc: str
    operands: tuple[str, ...]
    forms: tuple[Shown, ...]
    attributes: tuple[AttributeRole, ...]
    clauses: tuple[Rule, ...]
    facts: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What a rule base says of every kind, in the order of the op table."""

    entries: Mapping[str, OpEntry]
    evaluation: Evaluation
    instances: tuple[Instance, ...]


def catalogue(base: RuleBase, solver: str = "auto") -> Catalogue:
    """What the rules of `base` say of every kind.

    Raises ProgramError if a rule file is at fault, SetupError if the engine cannot be used.
    """
    made = instances_of(base)
    evaluation = evaluate(program_of(made, base.declared), base.compiled, solver)
    numbers: dict[str, list[int]] = {}
    for number, instance in enumerate(made):
        numbers.setdefault(instance.kind, []).append(number)
    roles = evaluation.attribute_roles()
    places = attribute_places(base.rulebook)
    entries = {
        kind: _entry(base.table[kind], which, made, evaluation, roles, places)
        for kind, which in numbers.items()
    }
    return Catalogue(entries, evaluation, made)


def _entry(
    spec: OpSpec,
    numbers: Sequence[int],
    made: Sequence[Instance],
    evaluation: Evaluation,
    roles: Mapping[tuple[str, str], tuple[str, ...]],
    places: Mapping[tuple[str, str], tuple[str, ...]],
) -> OpEntry:
    forms: dict[Form, list[Instance]] = {}
    for number in numbers:
        form = form_of(evaluation, evaluation.program.ops[number])
        forms.setdefault(form, []).append(made[number])
    rules = evaluation.rules.rulebook.rules
    firings = {firing for number in numbers for firing in evaluation.fired(number)}
    readers: dict[str, set[int]] = {}
    for firing in firings:
        for name in firing.attributes:
            readers.setdefault(name, set()).add(firing.rule)
    attributes = tuple(
        AttributeRole(
            each.name,
            each.doc,
            roles.get((spec.kind, each.name), ()),
            places.get((spec.kind, each.name), ()),
            tuple(rules[number] for number in sorted(readers.get(each.name, ()))),
        )
        for each in spec.attributes
    )
    return OpEntry(
        spec.kind,
        spec.doc,
        operand_names(spec, len(made[numbers[0]].operands)),
        tuple(Shown(form, tuple(found)) for form, found in forms.items()),
        attributes,
        tuple(rules[number] for number in sorted({firing.rule for firing in firings})),
        tuple(rule for rule in rules if _names(rule, spec.kind)),
    )


def _names(rule: Rule, kind: str) -> bool:
    """Whether a rule is a fact about the kind that is not about one of its attributes."""
    first = rule.head.arguments[:1]
    named = any(isinstance(term, Text) and term.value == kind for term in first)
    return named and not rule.body and rule.head.relation not in ATTRIBUTE_RELATIONS


def instances_of(base: RuleBase) -> tuple[Instance, ...]:
    """Instances of every op, declared ones last."""
    if base.declared is None:
        return instances()
    from kina.rulebook.declared import declared_instances

    return (*instances(), *declared_instances(base.declared))


def operand_names(spec: OpSpec, operands: int) -> tuple[str, ...]:
    """A name for each of so many operands; the last one of the op table stands for all that follow."""
    names = spec.operand_names
    count = max(operands, len(names))
    if not names or len(names) == count:
        return names or tuple(f"operand {pos}" for pos in range(count))
    repeated = [f"{names[-1]}[{index}]" for index in range(count - len(names) + 1)]
    return (*names[:-1], *repeated)


def attribute_places(rulebook: Rulebook) -> dict[tuple[str, str], tuple[str, ...]]:
    """Where rules say what each (kind, attribute) does, in the order of `ATTRIBUTE_RELATIONS`."""
    found: dict[tuple[str, str], list[str]] = {}
    for relation in ATTRIBUTE_RELATIONS:
        for rule in rules_for(rulebook.rules, relation):
            match rule.head.arguments:
                case (Text(value=kind), Text(value=name)):
                    found.setdefault((kind, name), []).append(rule.place)
                case _:
                    pass
    return {key: tuple(places) for key, places in found.items()}


def rules_for(rules: Iterable[Rule], relation: str) -> list[Rule]:
    """The rules that derive a relation, by its ground name."""
    return [rule for rule in rules if rule.head.relation == relation]
