"""Rules that Soufflé drops; the schema and the documentation that rule files carry."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina.datalog.lints import lost_rules
from kina.datalog.modules import parse_text
from kina.datalog.souffle_engine import find_souffle
from kina.facts.dump import dump
from kina.facts.entry import entry_text
from kina.facts.rulebook import rule_docs, rules_of_code
from kina.facts.schema import load_schema
from kina.frontend.form import form
from kina.frontend.reader import load, read
from kina.paths import rules_path

ROOT = Path(__file__).parents[2]


@pytest.mark.souffle
def test_merged_rules_are_noticed() -> None:
    install = find_souffle()
    assert install is not None
    text = '.decl e(x: number)\n.input e\n.decl p(x: number)\n.output p\n@[rule = "a.one"]\np(x) :- e(x).\n'
    assert lost_rules(install, parse_text(text + '@[rule = "a.two"]\np(y) :- e(y).\n', "a.dl", ())) == (
        "a.two",
    )
    assert lost_rules(install, parse_text(text, "a.dl", ())) == ()


def test_rules_are_documented_by_name() -> None:
    rulebook = parse_text(entry_text((0, 1), True), "main.dl", (rules_path(),))
    documents = rule_docs(rulebook)
    assert set(documents) == {rule.name for rule in rulebook.rules if rule.name}
    objecting = {document.code for document in documents.values() if document.code}
    for code in objecting:
        assert all(documents[name].code == code for name in rules_of_code(rulebook, code))


@pytest.mark.parametrize("example", ["transformer", "fsdp", "grouped_heads"])
def test_facts_fit_the_schema(example: str) -> None:
    schema = load_schema(rules_path())
    facts = dump(form(read(load(str(ROOT / "examples" / f"{example}.kina")))))
    assert schema.misfits(facts.relations) == ()


@pytest.mark.parametrize(
    ("facts", "part"),
    [
        ({"nothing": [("a",)]}, "no input relation `nothing`"),
        ({"op_kind": [("a",)]}, "has 2 columns, and a fact has 1"),
        ({"op_kind": [("a", 1)]}, "`kind` of `op_kind` cannot hold 1"),
        ({"op_kind": [("a\t", "b")]}, "`op` of `op_kind`"),
        ({"value_rank": [("a", -1)]}, "cannot hold -1"),
        ({"value_rank": [("a", 2**31)]}, "cannot hold 2147483648"),
        ({"value_rank": [("a", True)]}, "cannot hold True"),
    ],
)
def test_facts_that_do_not_fit(facts: dict[str, list[tuple[str | int, ...]]], part: str) -> None:
    assert part in load_schema(rules_path()).misfits(facts)[0]
