"""What `kina explain` says of a rule."""

from __future__ import annotations

from kina.report.rule_page import rule_names, rule_page


def meanings(name: str) -> list[str]:
    page = rule_page(name)
    assert page is not None
    return [line for line in page.partition("## Relations")[2].splitlines() if line]


def test_the_meaning_of_each_relation_is_whole_and_without_its_example() -> None:
    said = {name: meanings(name) for name in rule_names()[::3]}
    assert all(said.values())
    cut = {line for lines in said.values() for line in lines if not line.endswith(".") or "Example:" in line}
    assert cut == set()


def test_what_is_said_of_alike_clauses_is_said_once() -> None:
    page = rule_page("levels.carry-on")
    assert page is not None
    assert page.count("Short proofs leave this step out.") == 1
    assert meanings("levels.carry-on")[0].startswith("- `before`: Holds if ")
