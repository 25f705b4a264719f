"""Rule files of one's own, and the ops that they declare, under every tool that takes a rule base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kina import cli
from kina.paths import schema_path
from tests.declared_ops import DOUBLE, TOTALS
from tests.rulebook.changed import copied
from tests.rulebook.test_sides import git

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_path("rules_diff").read_text(encoding="utf-8")))
PROGRAM = """(mesh (x 2))
(defn f ((a (tensor f32 [4 6]) @sharded(axis=1)))
  (double a))
"""
#: Columns cannot be split any more.
ROWS_ALONE = ("value_dim(value, dim, _).", "value_dim(value, dim, _), dim < 1.")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without a rule base, with a program and a rule file in a folder of an odd name."""
    root = tmp_path / "a checkout"
    (root / "my ops").mkdir(parents=True)
    DOUBLE.write(root / "my ops")
    (root / "p.kina").write_text(PROGRAM, encoding="utf-8")
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", ".")
    git(root, "commit", "--quiet", "--message=ops")
    monkeypatch.chdir(root)
    return root


def edited(file: Path, *pairs: tuple[str, str]) -> None:
    text = file.read_text(encoding="utf-8")
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")


def diffed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    programs = [] if "--programs" in arguments else ["--programs", "p.kina"]
    assert cli.run(["rules", "diff", *arguments, *programs, "--format", "json", "--solver", "clingo"]) == 0
    out = capsys.readouterr().out
    found: dict[str, Any] = json.loads(out)
    SCHEMA.validate(found)
    assert "/kina-" not in out, "the name of a copy is printed"
    return found


@pytest.mark.parametrize("rules", ["my ops/double.dl", "my ops"])
def test_what_changed_since_a_revision(
    rules: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited(repository / "my ops" / "double.dl", ROWS_ALONE)
    found = diffed(capsys, "main", "--rules", rules)
    assert [(each["rule"], each["base_at"]) for each in found["rules"]] == [
        ("double.dims", "my ops/double.dl:7")
    ]
    assert [(each["op"], each["change"], each["before"]) for each in found["ops"]] == [
        ("double", "lost", "split a dim 1, result dim 1")
    ]
    (program,) = found["programs"]
    assert program["layouts"][0]["before"] == "f32[4,6@x]"
    assert program["rules"] == ["double.dims"]


def test_a_folder_of_rules_beside_the_programs(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each side has its own version of what lies beside the program."""
    (repository / "my ops").rename(repository / "rules")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "--message=beside")
    edited(repository / "rules" / "double.dl", ROWS_ALONE)
    found = diffed(capsys, "main")
    assert found["head"] == "the working tree"
    assert [each["change"] for each in found["ops"]] == ["lost"]
    assert [each["file"] for each in found["programs"]] == ["p.kina"]
    assert diffed(capsys, "HEAD", "main")["rules"] == []


def test_an_op_that_comes_and_one_that_goes(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    TOTALS.write(repository / "my ops")
    (repository / "my ops" / "double.dl").unlink()
    (repository / "my ops" / "double.kina").unlink()
    found = diffed(capsys, "main", "--rules", "my ops")
    assert {(each["op"], each["change"]): each["after"] or each["before"] for each in found["ops"]} == {
        ("totals", "gained"): "((a (tensor t [n d])) (w (tensor t [n d]))) -> (tensor t [n])",
        ("double", "lost"): "((a (tensor t [n d]))) -> (tensor t [n d])",
    }
    ((file, reason),) = [each.values() for each in found["left_out"]]
    assert file == "p.kina"
    assert reason == "it is in error with the ops of the second rule base: `double` is no op and no function"
    gone = diffed(capsys, "main", "--rules", "my ops/double.dl")
    assert [(each["op"], each["change"]) for each in gone["ops"]] == [("double", "lost")]
    edited(repository / "p.kina", ("double a", "totals a a"))
    come = diffed(capsys, "main", "--rules", "my ops/totals.dl")
    assert come["left_out"][0]["reason"].startswith("it is in error with the ops of the first rule base")


@pytest.mark.parametrize(
    ("old", "new", "was", "now"),
    [
        ("(add a a)", "(multiply a 2.0)", None, "its body"),
        (
            "(a (tensor t [n d]))",
            "(a (tensor t [n d])) (by (real :default 1.5))",
            "((a (tensor t [n d]))) -> (tensor t [n d])",
            "((a (tensor t [n d])) (by (real :default 1.5))) -> (tensor t [n d])",
        ),
    ],
)
def test_an_op_that_is_declared_otherwise(
    old: str, new: str, was: str | None, now: str, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edited(repository / "my ops" / "double.kina", (old, new))
    found = diffed(capsys, "main", "--rules", "my ops")
    assert [(each["op"], each["change"], each["before"], each["after"]) for each in found["ops"]] == [
        ("double", "changed", was, now)
    ]
    assert found["rules"] == []
    assert cli.run(["rules", "diff", "main", "--rules", "my ops", "--programs", "p.kina"]) == 0
    text = capsys.readouterr().out
    assert "no rule differs" in text
    assert now in text
    assert cli.run(["rules", "diff", "main", "--rules", "my ops", "--format", "markdown"]) == 0
    assert now in capsys.readouterr().out


def test_two_files_without_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        DOUBLE.write(tmp_path / name)
    edited(tmp_path / "new" / "double.dl", ROWS_ALONE)
    (tmp_path / "p.kina").write_text(PROGRAM, encoding="utf-8")
    for pair in (("old/double.dl", "new/double.dl"), ("old", "new")):
        found = diffed(capsys, *pair)
        assert [(each["op"], each["change"]) for each in found["ops"]] == [("double", "lost")]
        assert len(found["programs"]) == 1


def test_rules_that_contradict_each_other_on_a_program(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = 'whole: dim_whole(op, port, 1) :- op_kind(op, "double"), op_operand(op, 0, port, _).'
    edited(
        repository / "my ops" / "double.dl",
        (
            "/// The rule linear",
            f'/// Columns.\n@[rule = "double.whole"]\n{whole[7:]}\n\n/// The rule linear',
        ),
    )
    found = diffed(capsys, "main", "--rules", "my ops")
    (program,) = found["programs"]
    assert program["errors"] == {"before": 0, "after": 1}
    assert program["findings"][0]["code"] == "K901"


def test_a_rule_base_that_declares_ops(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    include = ("base.dl", '.include "sanity.dl"', '.include "sanity.dl"\n.include "double.dl"')
    bases = [copied(tmp_path / name, include) for name in ("one", "two")]
    for base in bases:
        DOUBLE.write(base)
    edited(bases[1] / "double.dl", ROWS_ALONE)
    assert cli.run(["rules", "list", "--base", str(bases[0])]) == 0
    assert "\ndouble " in capsys.readouterr().out
    assert cli.run(["rules", "show", "double", "--base", str(bases[0])]) == 0
    assert "# double\n" in capsys.readouterr().out
    assert cli.run(["rules", "lint", "double.dl", "--no-tests", "--base", str(bases[0])]) == 1
    assert "K85" not in capsys.readouterr().err
    (tmp_path / "p.kina").write_text(PROGRAM, encoding="utf-8")
    found = diffed(capsys, *map(str, bases), "--programs", str(tmp_path / "p.kina"))
    assert [(each["op"], each["change"]) for each in found["ops"]] == [("double", "lost")]
    assert len(found["programs"]) == 1
    (bases[1] / "double.kina").write_text("(defop double", encoding="utf-8")
    for command in (["list", "--base", str(bases[1])], ["diff", *map(str, bases)]):
        assert cli.run(["rules", *command]) == 1
        assert "rules/double.kina:1:1" in capsys.readouterr().err


@pytest.mark.parametrize("about", ["my ops/double.dl", "double.dl"])
def test_the_graph_of_a_file(about: str, repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edited(
        repository / "my ops" / "double.dl",
        ("// Rules for a test.", "// Rules for a test.\n\n/// Holds if `op` is one.\n.decl one(op: Op)"),
        (
            "factor(op, port, dim, dim) :-",
            'one(op) :- op_kind(op, "double").\nfactor(op, port, dim, dim) :- one(op),',
        ),
    )
    assert cli.run(["rules", "graph", about, "--rules", "my ops"]) == 0
    assert ">one</text>" in capsys.readouterr().out
    if "/" in about:
        assert cli.run(["rules", "graph", about]) == 0
        assert ">one</text>" in capsys.readouterr().out
    assert cli.run(["rules", "graph", "nosuch.dl", "--rules", "my ops"]) == 2
    assert "there is no rule file and no relation `nosuch.dl`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "listed"),
    [
        (["add", "slice"], ["add", "slice"]),
        (["ops", "add"], ["add"]),
        (["my ops/double.dl"], ["double"]),
        (["double", "--rules", "my ops"], ["double"]),
        (["convolution.dl"], ["convolution"]),
        (["attributes", "reverse"], ["reverse"]),
        (["rules", "plan.layout"], ["plan.layout"]),
        (
            ["rules", "plan.layout", "double.dl", "--rules", "my ops"],
            ["plan.layout", "double.dims", "double.linear"],
        ),
        (["relations", "factor", "spread.dl"], ["factor", "slice_steps", "slice_spans_steps", "pad_around"]),
    ],
)
def test_a_list_of_some(
    arguments: list[str], listed: list[str], repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["rules", "list", *arguments, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (rows,) = (rows for key, rows in found.items() if key != "version")
    key = next(key for key in ("op", "name", "rule", "relation") if key in rows[0])
    assert [row[key] for row in rows] == listed
    assert cli.run(["rules", "list", *arguments]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in listed)


@pytest.mark.parametrize("what", [[], ["ops"], ["attributes"], ["rules"], ["relations"]])
def test_a_list_of_what_is_not_there(what: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "list", *what, "dot_generall"]) == 2
    said = capsys.readouterr()
    assert "`dot_generall`" in said.err
    assert said.out == ""


def test_what_is_near_is_of_the_same_rules(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "show", "doubel", "--rules", "my ops"]) == 2
    assert "near it: `double`" in capsys.readouterr().err
