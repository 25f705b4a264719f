"""Entry files with fewer rules say the same of what they are for."""

from __future__ import annotations

import pytest

from kina.datalog.proofs import proof_relations
from kina.datalog.rules import Rule, Rulebook
from kina.diagnose.layered import BOUNDARY
from kina.diagnose.solved import rules_of
from kina.facts.entry import entry_text, layouts_only, ops_only

ENTRY = entry_text((0, 2), True, ["mine.dl"])
BASE = entry_text((0, 2), True)


def rules_for(rulebook: Rulebook, relation: str) -> set[tuple[str, str, str]]:
    """Name, place and relation of all that a proof about a relation rests on."""
    needed = proof_relations(rulebook, relation)

    def told(rule: Rule) -> tuple[str, str, str]:
        return rule.name, rule.place, rule.head.relation

    return {told(rule) for rule in rulebook.rules if rule.head.relation in needed}


@pytest.mark.parametrize("gradients", [True, False])
def test_each_clause_that_is_left_keeps_its_line(gradients: bool) -> None:
    before, after = ENTRY.split("\n"), layouts_only(ENTRY, gradients).split("\n")
    assert len(before) == len(after)
    changed = [(one, two) for one, two in zip(before, after, strict=True) if one != two]
    assert changed[0] == ('.include "base.dl"', '.include "layouts.dl"')
    assert all(two == "" for _, two in changed[1:])
    assert bool(changed[1:]) != gradients
    assert ("_derived_" in "".join(after)) == gradients


@pytest.mark.parametrize("relation", ["granted", "contested_at", "root_ask", "p2_written_sideways.accepted"])
def test_layouts_rest_on_their_part_of_the_rules(relation: str) -> None:
    assert rules_for(rules_of(layouts_only(BASE)), relation) == rules_for(rules_of(BASE), relation)


def test_what_the_user_wrote_rests_on_no_gradient() -> None:
    written, whole = rules_of(layouts_only(BASE, gradients=False)), rules_of(BASE)
    goal = "p0_written_sideways.accepted"
    assert rules_for(written, goal) == rules_for(whole, goal)


def test_how_ops_connect_rests_on_no_level() -> None:
    ops, whole = rules_of(ops_only(BASE)), rules_of(BASE)
    assert not any(relation.instance for relation in ops.relations.values())
    for relation in BOUNDARY:
        assert rules_for(ops, relation) == rules_for(whole, relation)
    assert '.include "mine.dl"' in ops_only(ENTRY)
