"""The documentation that rule files carry: what is said of each rule, and where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kina.datalog.rules import Rule, Rulebook


@dataclass(frozen=True, slots=True)
class RuleDoc:
    """A named rule: its sentence, place, code if it objects, and the head relations of its clauses."""

    name: str
    doc: str
    place: str
    code: str | None
    hidden: bool
    heads: tuple[str, ...]


def rule_docs(rulebook: Rulebook) -> Mapping[str, RuleDoc]:
    """Rules by name, in the order of the text; instances of one clause are one rule."""
    grouped: dict[str, list[Rule]] = {}
    for rule in rulebook.rules:
        if rule.name:
            grouped.setdefault(rule.name, []).append(rule)
    return {name: _document(rulebook, rules) for name, rules in grouped.items()}


def rules_of_code(rulebook: Rulebook, code: str) -> tuple[str, ...]:
    """Names of the rules that object with `code`."""
    return tuple(dict.fromkeys(rule.name for rule in rulebook.rules if rule.code == code))


def _document(rulebook: Rulebook, rules: list[Rule]) -> RuleDoc:
    first = rules[0]
    heads = dict.fromkeys(rulebook.relations[rule.head.relation].declared for rule in rules)
    return RuleDoc(first.name, first.doc, first.place, first.code, first.hidden, tuple(heads))
