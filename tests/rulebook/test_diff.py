"""What a change of rules does: to clauses, to ops, to programs; and how that is shown."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from random import Random

import jsonschema
import pytest

from kina import cli
from kina.audit.outcome import Incorrect, OpReport
from kina.datalog.modules import parse_text
from kina.diagnostics.finding import SetupError
from kina.diagnostics.style import Style
from kina.paths import rules_path, schema_path
from kina.rulebook.base import RuleBase, own_rules
from kina.rulebook.changes import rule_changes
from kina.rulebook.diff import Conditions, Diff, Verdict, conditions, failures, with_audit
from kina.rulebook.diff_markdown import LIMIT, MARK, code, diff_markdown
from kina.rulebook.diff_ops import OpChange, op_changes
from kina.rulebook.diff_program import Difference, ProgramChange
from kina.rulebook.diff_programs import Compared, compare_programs, programs_in
from kina.rulebook.diff_text import diff_text
from kina.rulebook.evaluate import op_cone
from kina.rulebook.sides import Side
from kina.rulebook.usage import distinct
from tests.rulebook.changed import ABSOLUTE, UNSPLIT, copied

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_path("rules_diff").read_text(encoding="utf-8")))
MLP = """(mesh (model 4))
(defn mlp ((x (tensor f32 [8 64]))
           (w1 (tensor f32 [64 256]) @sharded(axis=1))
           (w2 (tensor f32 [256 64])))
  (matmul (relu (matmul x w1)) w2))
"""
SORTED = "(mesh (x 2))\n(defn f ((a (tensor f32 [4 6]) @sharded(axis=0)))\n  (sort a 1))\n"
WRONG = "(mesh (x 2))\n(defn f ((a (tensor f32 [4 6]) @sharded(axis=7)))\n  (exp a))\n"


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> RuleBase:
    """A rule base with two changes that have nothing to do with each other."""
    return RuleBase(copied(tmp_path_factory.mktemp("changed"), UNSPLIT, ABSOLUTE))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    for name, text in (("mlp", MLP), ("sorted", SORTED), ("wrong", WRONG)):
        (folder / f"{name}.kina").write_text(text, encoding="utf-8")
    return folder


CONTRACTING = ("contraction.contracting-dim",)
NAMED = '@[rule = "a.b"]\np(x) :- e(x)'
E = ".decl e(x: number)\n.decl p(x: number)\n"


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        (f"{NAMED}.", '/// Why.\n@[rule = "a.b"]\np(x) :-\n    e(x).  // so', []),
        (f"{NAMED}.", f"{NAMED}, x > 1.", [("a.b", "changed")]),
        (
            '@[rule = "a.b"]\np(x) :- e(x).',
            '@[rule = "a.c"]\np(x) :- e(x).',
            [("a.c", "added"), ("a.b", "removed")],
        ),
        ("e(1).\ne(2).", "e(2).\ne(1).", []),
        ("e(1).", "e(1).\ne(3).", [("e(3).", "added")]),
        ("e(1).\ne(3).", "e(1).", [("e(3).", "removed")]),
        (
            "p(x) :- e(x).",
            "p(x) :- e(x), x > 1.",
            [("p(x) :- e(x), x > 1.", "added"), ("p(x) :- e(x).", "removed")],
        ),
    ],
)
def test_clauses_are_compared_by_name_and_by_what_they_say(
    base: str, head: str, expected: list[tuple[str, str]]
) -> None:
    books = [parse_text(f"{E}{text}\n", "a.dl", ()) for text in (base, head)]
    assert [(change.name, change.what) for change in rule_changes(*books)] == expected


def test_what_changes_for_ops_and_by_which_rule(changed: RuleBase) -> None:
    changes = rule_changes(own_rules().rulebook, changed.rulebook)
    assert [(each.name, each.what) for each in changes] == [
        ('additive_kind("abs").', "added"),
        ("contraction.contracting-dim", "changed"),
    ]
    found = op_changes(own_rules(), changed, changes, "clingo")
    assert [(each.op, each.what, each.before or each.after, each.rules) for each in found] == [
        ("abs", "gained", "a pending sum of x passes alone", ('additive_kind("abs").',)),
        (
            "dot_general",
            "lost",
            "split lhs dim 2, rhs dim 1 to a pending sum",
            ("contraction.contracting-dim",),
        ),
        (
            "dot_general",
            "lost",
            "split lhs dim 1, rhs dim 1 to a pending sum",
            ("contraction.contracting-dim",),
        ),
    ]
    assert found[1].forms == ("(i,j,k),(i,k,l)->(i,j,l)", "(i,j,?),(i,?,k)->(i,j,k)")


def test_numbers_of_factors_do_not_count(tmp_path: Path) -> None:
    """A rule that numbers its factors otherwise says the same."""
    contraction = (rules_path() / "contraction.dl").read_text(encoding="utf-8")
    edit = ("contraction.dl", contraction, contraction.replace("100 + index", "200 + index"))
    other = RuleBase(copied(tmp_path, edit))
    changes = rule_changes(own_rules().rulebook, other.rulebook)
    assert len(changes) == 2
    assert op_changes(own_rules(), other, changes, "clingo") == ()


def test_what_changes_in_programs_and_by_which_rule(changed: RuleBase, programs: Path) -> None:
    changes = rule_changes(own_rules().rulebook, changed.rulebook)
    files = programs_in([str(programs)])
    found = compare_programs(files, own_rules(), changed, changes, None, "clingo")
    (mlp,) = found.changed
    assert mlp.file == str(programs / "mlp.kina")
    assert mlp.rules == ("contraction.contracting-dim",)
    assert mlp.bytes == (3072, 6144)
    assert [(each.about, each.before, each.after) for each in mlp.layouts] == [
        ("mlp.w2", "f32[256@model,64]", "f32[256,64]")
    ]
    assert [(each.about, each.before, each.after) for each in mlp.collectives] == [
        ("mlp.matmul#2", "all_reduce(model), 3,072 bytes", ""),
        ("mlp.relu", "", "all_gather(model), 6,144 bytes"),
    ]
    assert {rule for each in (*mlp.layouts, *mlp.collectives) for rule in each.rules} == set(mlp.rules)
    assert found.same == (str(programs / "sorted.kina"),)
    ((left_out, why),) = found.left_out
    assert left_out == str(programs / "wrong.kina")
    assert why.startswith("it is in error whatever the rules: ")


def test_large_programs_are_left_out_if_a_change_touches_them(changed: RuleBase, programs: Path) -> None:
    changes = rule_changes(own_rules().rulebook, changed.rulebook)
    files = [str(programs / name) for name in ("mlp.kina", "sorted.kina")]
    found = compare_programs(files, own_rules(), changed, changes, 1, "clingo")
    assert found.same == (files[1],)
    assert [file for file, _ in found.left_out] == files[:1]


def test_a_change_of_what_all_ops_share(tmp_path: Path, programs: Path) -> None:
    """Steps between operands are taken away: w2 does not follow any more."""
    edit = ("steps.dl", '    !op_kind(op, "concatenate"),\n    !value_constant(value),\n', "    1 = 2,\n")
    other = RuleBase(copied(tmp_path, edit))
    changes = rule_changes(own_rules().rulebook, other.rulebook)
    assert [each.name for each in changes] == ["steps.op-sideways"]
    found = compare_programs([str(programs / "mlp.kina")], own_rules(), other, changes, None, "clingo")
    (mlp,) = found.changed
    assert mlp.layouts[0].rules == ("steps.op-sideways",)


def test_a_folder_that_is_not_there_is_said() -> None:
    with pytest.raises(SetupError, match="no program and no folder"):
        programs_in(["nowhere"])


def test_conditions() -> None:
    assert conditions("incorrect, missing,bytes+5%") == Conditions(True, True, growth=5)
    assert conditions("") == Conditions()
    for word in ("wrong", "bytes+x%", "bytes", "bytes+5"):
        with pytest.raises(ValueError, match=re.escape(word)):
            conditions(f"lost,{word}")


def program(name: str, moved: tuple[int, int], errors: tuple[int, int] = (0, 0)) -> ProgramChange:
    layouts = (Difference("f.w", "f32[4@x]", "f32[4]", 12, ("a.b",)),)
    return ProgramChange(name, ("a.b", "a.c"), layouts, (), (), moved, (8, 8), errors)


def difference(*changed: ProgramChange, verdicts: tuple[Verdict, ...] = ()) -> Diff:
    base = own_rules().rulebook
    rules = rule_changes(parse_text("", "a.dl", ()), base)[-3:]
    programs = Compared(changed, ("same.kina",), (("large.kina", "it has 9,000 ops"),))
    return Diff("main", "the working tree", rules, (), programs, ("abs",) if verdicts else (), verdicts)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("bytes+5%", ["bytes grow by more than 5 % in `grown.kina`, `some.kina`"]),
        ("bytes+50%", ["bytes grow by more than 50 % in `some.kina`"]),
        ("errors", ["there are errors in `broken.kina`"]),
        ("incorrect", ["a placement of `abs` is incorrect"]),
        ("missing,lost", []),
    ],
)
def test_what_fails(asked: str, expected: list[str]) -> None:
    found = difference(
        program("grown.kina", (100, 106)),
        program("fewer.kina", (100, 90)),
        program("some.kina", (0, 1)),
        program("broken.kina", (0, 0), (0, 1)),
        verdicts=(
            Verdict("abs", "incorrect", "wrong numbers", True, ("a.b",), 0),
            Verdict("exp", "missing", "a sum", False, (), 8),
        ),
    )
    assert list(failures(found, conditions(asked))) == expected


def test_markdown_fits_a_comment_and_cannot_be_broken_out_of() -> None:
    name = "`</details><img src=x>| @all `` $x$\n# x.kina"
    many = [program(f"{name}{number}", (number, number + 1)) for number in range(600)]
    text = diff_markdown(difference(*many), ["bytes grow in `@all <b>`"])
    assert text.startswith(f"{MARK}\n### What the change of rules does: `main` → `the working tree`")
    assert len(text) <= LIMIT
    assert "does not fit a comment" in text
    markup = re.sub(r"(`+).*?\1", "", text)
    assert "<img" not in markup
    assert markup.count("<details>") == markup.count("</details>")
    short = diff_markdown(difference(program("a.kina", (1, 2))), [])
    assert "does not fit" not in short
    assert "| layout | `f.w` | `f32[4@x]` | `f32[4]` | ×12 | `a.b` |" in short


@pytest.mark.parametrize(
    ("text", "span"), [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a|b", "`a\\|b`"), ("", "`  `")]
)
def test_code_spans(text: str, span: str) -> None:
    assert code(text) == span


def test_text_shows_what_made_each_difference() -> None:
    text = diff_text(difference(program("a.kina", (1, 2))), ["it does"], Style())
    assert "a.kina, by a.b, a.c\n    layout f.w: f32[4@x] -> f32[4] ×12, by a.b\n" in text
    assert text.endswith("1 program as before\nleft out: large.kina: it has 9,000 ops\n\nfails: it does\n")


@cache
def own_folder() -> str:
    return str(rules_path())


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_the_command(
    form: str, changed: RuleBase, programs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["rules", "diff", own_folder(), str(changed.folder), "--programs", str(programs / "mlp.kina")]
    assert cli.run([*arguments, "--solver", "clingo", "--format", form, "--fail-on", "lost,bytes+50%"]) == 1
    out = capsys.readouterr().out
    if form == "json":
        found = json.loads(out)
        SCHEMA.validate(found)
        assert [len(found[key]) for key in ("rules", "ops", "programs", "failures")] == [2, 3, 1, 2]
    assert "contraction.contracting-dim" in out
    assert "a placement of `dot_general` is lost" in out


def test_nothing_differs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    same = copied(tmp_path, ("contraction.dl", "// Ops", "// All ops"))
    assert cli.run(["rules", "diff", str(same), "--programs", "examples/mlp.kina"]) == 0
    assert "no rule differs" in capsys.readouterr().out


def test_what_the_audit_says_of_one_side_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def reports(kinds: tuple[str, ...], base: RuleBase, *_: object) -> tuple[OpReport, ...]:
        wrong = Incorrect(("a.b",), "wrong numbers", 1, None)
        old = Incorrect(("a.c",), "wrong as before", 1, None)
        found = (old, wrong) if base.folder == Path("head") else (old,)
        return tuple(OpReport(kind, 1, 1, 1, 1, found, (), (), (), ()) for kind in kinds)

    monkeypatch.setattr("kina.audit.workers.audit_ops", reports)
    ops = (OpChange("abs", "gained", "", "passes", ("", ""), ("f32[4]",), ("a.b",)),)
    compared = Diff("base", "head", (), ops, Compared((), (), ()))
    found = with_audit(compared, Side(Path("base"), ""), Side(Path("head"), ""), 0, "auto", 1, print)
    assert found.audited == ("abs",)
    assert found.verdicts == (Verdict("abs", "incorrect", "wrong numbers", True, ("a.b",), 0),)
    back = with_audit(compared, Side(Path("head"), ""), Side(Path("base"), ""), 0, "auto", 1, print)
    assert [one.new for one in back.verdicts] == [False]
    assert failures(back, conditions("incorrect")) == ()


@pytest.mark.deep
def test_the_audit_says_what_is_incorrect_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = copied(tmp_path, ABSOLUTE)
    program = "tests/cases/iota_along_split_dim.kina"
    arguments = ["rules", "diff", own_folder(), str(wrong), "--programs", program]
    assert cli.run([*arguments, "--fail-on", "incorrect", "--format", "json", "--jobs", "1"]) == 1
    found = json.loads(capsys.readouterr().out)
    SCHEMA.validate(found)
    assert found["failures"] == ["a placement of `abs` is incorrect"]
    assert {(each["op"], each["verdict"], each["new"]) for each in found["audit"]["verdicts"]} == {
        ("abs", "incorrect", True)
    }


def test_rules_at_fault_are_said_with_their_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = copied(tmp_path, ("scatter.dl", ".decl index_matched", ".dcl index_matched"))
    assert cli.run(["rules", "diff", str(broken), own_folder()]) == 1
    said = capsys.readouterr()
    assert "error[K80" in said.err
    assert f"in the rules of {broken}".replace(" ", "") in re.sub(r"\s", "", said.err)
    assert said.out == ""


@pytest.mark.parametrize("word", ["incorect", "bytes+5"])
def test_a_condition_that_is_none(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "diff", "HEAD", "--fail-on", word]) == 2
    assert f"`{word}` is none of" in capsys.readouterr().err


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(6))
def test_programs_that_are_not_planned_would_not_change(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a clause about ops holds no more, programs said to be as before are so when they are planned."""
    chosen = Random(f"clause {seed}")
    cone = set(op_cone(own_rules().rulebook))
    named = [rule for rule in distinct(own_rules().rulebook) if rule.body and rule.head.relation in cone]
    rule = chosen.choice(named)
    span = rule.clause.span
    never = f"{span.text.removesuffix('.')},\n    1 = 2."
    other = RuleBase(copied(tmp_path, (Path(span.file).name, span.text, never)))
    changes = rule_changes(own_rules().rulebook, other.rulebook)
    files = programs_in(["tests/cases"])
    quick = compare_programs(files, own_rules(), other, changes, None, "clingo")
    monkeypatch.setattr("kina.rulebook.diff_programs.speak_of_ops", lambda *_: False)
    whole = compare_programs(files, own_rules(), other, changes, None, "clingo")
    assert [each.file for each in quick.changed] == [each.file for each in whole.changed]
    assert quick.same == whole.same
