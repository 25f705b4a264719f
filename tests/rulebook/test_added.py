"""Rule files of others, and the ops that they come with, under the tools for rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kina import cli
from kina.frontend.spec import check_ir
from kina.rulebook.base import own_rules
from kina.rulebook.catalogue import catalogue, instances_of
from kina.rulebook.declared import with_added
from kina.rulebook.instances import program_of

OPS = """(defop scaled_rows ((a (tensor t [n d])) (b (tensor t [(* 2 n)])) (first (position :default 0))
                    (mode (word near far)) (on (flag)))
  (tensor t [n d])
  (let ((places (add (iota i32 [n] 0) (broadcast first [n] []))))
    (multiply a (broadcast (convert places t) [n d] [0]))))

(defop seldom ((a (tensor f32 [n])) (k (number :least 1000)))
  (tensor f32 [n])
  (multiply a 2.0))
"""
RULES = """.once
.include "sharding.dl"
// Rows that are scaled by their place.

attribute_localised("scaled_rows", "first").
attribute_guards("scaled_rows", "mode").
attribute_indifferent("scaled_rows", "on").

/// Each row is scaled by its place.
@[rule = "rows.columns"]
factor(op, port, 1, 1) :-
    op_kind(op, "scaled_rows"),
    port_value(op, port, value),
    value_rank(value, 2).

/// Rows that are near stay together.
@[rule = "rows.near"]
dim_whole(op, port, 0) :-
    op_kind(op, "scaled_rows"),
    op_word(op, "mode", "near"),
    port_value(op, port, _).

/// Rows that are far do not, but for the places.
@[rule = "rows.far"]
dim_whole(op, port, 0) :-
    op_kind(op, "scaled_rows"),
    op_word(op, "mode", "far"),
    port_value(op, port, _).

/// The first row of a shard is not the first of all.
@[rule = "rows.first"]
attribute_follows(op, "first", 0, port, 0) :-
    op_kind(op, "scaled_rows"),
    op_operand(op, 0, port, _).
"""
TESTS = """# rows.dl

## rows.columns, rows.near, rows.first

Columns may be split.

```kina
(mesh (x 2))
(defn f ((a (tensor f32 [4 6]) @sharded(axis=1)) (b (tensor f32 [8])))
  (let ((y (scaled_rows a b :mode near :on true)))
    y))
```

```expect
factor("f.y", "f.y/0", 1, 1)
dim_whole("f.y", "f.y/1", 0)
layout("f.y", 1, "x")
```
"""


FOLLOWS = """
/// The first row of a shard is not the first of all.
@[rule = "rows.first"]
attribute_follows(op, "first", 0, port, 0) :-
    op_kind(op, "scaled_rows"),
    op_operand(op, 0, port, _).
"""
FAR = '    op_kind(op, "scaled_rows"),\n    op_word(op, "mode", "far"),\n'


@pytest.fixture
def ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a rule file, its ops and its tests, in which commands run."""
    for name, text in (("rows.kina", OPS), ("rows.dl", RULES), ("rows.test.md", TESTS)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def linted(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    code = cli.run(["rules", "lint", *arguments, "--solver", "clingo", "--format", "concise"])
    lines = capsys.readouterr().out.splitlines()
    assert code == (1 if lines else 0)
    return lines


def test_instances_of_declared_ops(ours: Path) -> None:
    base = with_added(own_rules(), ["rows.dl"])
    made = [instance for instance in instances_of(base) if instance.kind == "scaled_rows"]
    assert [str(operand) for operand in made[0].operands] == ["f32[6,8]", "f32[12]"]
    given = [dict(instance.attributes) for instance in made]
    assert {each["mode"] for each in given} == {"near", "far"}
    assert {each["on"] for each in given} == {False, True}
    check_ir(program_of(made, base.declared))


def test_what_rules_say_of_declared_ops(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (entry,) = [
        each
        for each in catalogue(with_added(own_rules(), ["rows.dl"]), "clingo").entries.values()
        if each.kind == "scaled_rows"
    ]
    assert {shown.form.einsum for shown in entry.forms} == {"(_,i),(_)->(_,i)"}
    assert cli.run(["rules", "show", "scaled_rows", "--rules", "rows.dl", "--format", "json"]) == 0
    op = json.loads(capsys.readouterr().out)["op"]
    assert {each["name"]: each["roles"] for each in op["attributes"]} == {
        "first": ["localised"],
        "mode": ["guards"],
        "on": ["does not matter"],
    }
    assert cli.run(["rules", "list", "--rules", "rows.dl"]) == 0
    assert "\nscaled_rows " in capsys.readouterr().out


def test_a_file_of_ones_own_is_linted_with_its_tests(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert linted(capsys, "rows.dl") == [
        "rows.dl:25:1: warning[K856] `rows.far` has no section in rows.test.md (rows.far)"
    ]
    (ours / "rows.test.md").write_text(
        TESTS.replace("rows.near, ", "rows.near, rows.far, "), encoding="utf-8"
    )
    assert linted(capsys, "rows.dl") == [
        "rows.test.md:3:1: warning[K857] `rows.far` fires in no program of its section (rows.far)"
    ]
    assert linted(capsys, "rows.dl", "--no-tests") == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('attribute_guards("scaled_rows", "mode").\n', "", "K852] no rule says what `mode` of `scaled_rows`"),
        ('"mode", "near"', '"mode", "neer"', "K851] `rows.near` fires for no instance of any op"),
        ('"scaled_rows"),\n    op_word', '"scaled_row"),\n    op_word', "K849] `rows.near` never holds"),
        (FAR, FAR.replace("scaled_rows", "seldom"), "K851] no instance of `seldom` could be made"),
        ("rows.far", "rows.near", "K841] `rows.near` is the name of another clause too"),
        (".decl", ".dcl", ""),
        ('"mode", "near"', '"mode", "neer"', "K853] `mode` is never `neer`"),
        ('"mode", "near"', '"moed", "near"', "K853] `scaled_rows` has no attribute `moed`"),
        ("value_rank(value, 2)", '!op_word(op, "mode", "neer"), value_rank(value, 2)', "never `neer`"),
        ("value_rank(value, 2)", '!op_number(op, "frist", 2), value_rank(value, 2)', "attribute `frist`"),
        ('"first", 0', '"strat", 0', "K853] `scaled_rows` has no attribute `strat`"),
        (FOLLOWS, "", "K854] `first` of `scaled_rows` is localised, and no rule says which dim it follows"),
    ],
)
def test_what_is_wrong_with_it(
    old: str, new: str, said: str, ours: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (ours / "rows.dl").write_text(RULES.replace(old, new), encoding="utf-8")
    assert any(said in line for line in linted(capsys, "rows.dl", "--no-tests")) == bool(said)


def test_files_of_both_kinds(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["rows.dl", "sanity.dl", "--no-tests", "--format", "json", "--solver", "clingo"]
    assert cli.run(["rules", "lint", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == ["rules/sanity.dl", "rows.dl"]


def test_a_file_here_is_not_the_one_of_the_same_name(ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ours / "sanity.dl").write_text("// Nothing.\n.decl Bad(op: Op)\n", encoding="utf-8")
    lines = linted(capsys, "sanity.dl", "--no-tests")
    assert any(line.startswith("sanity.dl:2:1: warning[K843]") for line in lines)


@pytest.mark.parametrize(
    ("text", "code"),
    [("factor(", "K801"), ('.include "/etc/passwd"\n', "K804"), ("factor(a) :- b(a).\n", "K80")],
)
def test_what_is_no_rule_file(text: str, code: str, ours: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ours / "rows.dl").write_text(text, encoding="utf-8")
    assert all("rows.dl:1:" in line and f"error[{code}" in line for line in linted(capsys, "rows.dl"))
