"""Which clauses differ between two rule bases: by their names, and by what they say however it is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Clause
from kina.rulebook.usage import declared, distinct

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A clause that was added, removed or changed. `name` is that of its rule, or the text of a fact.

    `relation` is what it derives, under its declared name; a place is empty where the clause is not.
    """

    name: str
    what: str
    relation: str
    base_at: str
    head_at: str
    base_text: str = ""
    head_text: str = ""


def rule_changes(base: Rulebook, head: Rulebook) -> tuple[RuleChange, ...]:
    """The changes from `base` to `head`, in the order of the text of `head`, what was removed last."""
    before, after = _by_key(base), _by_key(head)
    found = list(_come(before, after))
    for key, rules in before.items():
        if key not in after:
            found += [_pair("removed", rule, None) for rule in rules]
    return tuple(found)


def _come(before: dict[Key, list[Rule]], after: dict[Key, list[Rule]]) -> Iterator[RuleChange]:
    for key, rules in after.items():
        old = before.get(key, [])
        gone = _without(old, rules)
        come = _without(rules, old)
        for one, two in zip(gone, come, strict=False):
            yield _pair("changed", one, two)
        for rule in come[len(gone) :]:
            yield _pair("added", None, rule)
        for rule in gone[len(come) :]:
            yield _pair("removed", rule, None)


def _without(rules: list[Rule], others: list[Rule]) -> list[Rule]:
    """The rules whose clause is none of the others'."""
    left = Counter(clause_text(rule.clause) for rule in others)
    found = []
    for rule in rules:
        text = clause_text(rule.clause)
        if left[text]:
            left[text] -= 1
        else:
            found.append(rule)
    return found


def _pair(what: str, one: Rule | None, two: Rule | None) -> RuleChange:
    rule = two or one
    assert rule is not None
    return RuleChange(
        rule.name or clause_text(rule.clause),
        what,
        rule.head.relation.rpartition(".")[2],
        one.place if one else "",
        two.place if two else "",
        one.clause.span.text if one else "",
        two.clause.span.text if two else "",
    )


def _by_key(rulebook: Rulebook) -> dict[Key, list[Rule]]:
    """The clauses under their relation and name; facts have no name and go by their text."""
    found: dict[Key, list[Rule]] = {}
    for rule in distinct(rulebook):
        name = rule.name or clause_text(rule.clause)
        found.setdefault((declared(rulebook, rule.head.relation), name), []).append(rule)
    return found


def clause_text(clause: Clause) -> str:
    """A clause in one line, without its comments: equal for clauses that are written differently only."""
    parts = [_plain(clause.head.span.text), *(_plain(premise.span.text) for premise in clause.body)]
    head, *body = parts
    return f"{head} :- {', '.join(body)}." if body else f"{head}."


def _plain(text: str) -> str:
    return " ".join(text.split())
