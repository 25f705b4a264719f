"""Kina's own rules lint clean, each lint notices what it is for, and the headers of rule files are true."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from kina import cli
from kina.datalog.lints import lost_rules
from kina.datalog.modules import parse_text
from kina.datalog.rules import Rulebook, dependencies
from kina.datalog.souffle_engine import find_souffle
from kina.datalog.syntax import Include, Once, RuleFile
from kina.datalog.trees import parse
from kina.diagnose.solved import rules_of
from kina.diagnostics.pages import codes
from kina.facts.entry import entry_text
from kina.paths import rules_path
from kina.rulebook.base import RuleBase, clauses, own_rules
from kina.rulebook.lint import lint
from kina.rulebook.lint_logic import covers
from kina.rulebook.lint_tests import lint_tests
from kina.rulebook.lint_text import lint_text, unused_codes
from kina.source import Source
from tests.rulebook.changed import copied

#: Inputs that no rule of Kina's reads, for rules of others.
UNREAD = {"given_priority", "op_derived", "op_list_negative", "program_result"}
FILES = sorted(rules_path().glob("*.dl"))

GOOD = """.once
.include "sharding.dl"
// The hyperbolic tangent.

/// Holds if `op` is smooth.
@[says = "{op}"]
.decl smooth(op: Op)
.output smooth

/// It is.
@[rule = "a.smooth"]
smooth(op) :-
    op_kind(op, "tanh").

/// Each element is computed from the one at its place.
@[rule = "a.place"]
factor(op, port, dim, dim) :-
    smooth(op),
    port_value(op, port, value),
    value_dim(value, dim, _).
"""


@cache
def rulebook() -> Rulebook:
    """All rules, with the levels of two priorities in a program with gradients."""
    return rules_of(entry_text((0, 1), True))


def written(text: str) -> list[tuple[str, str]]:
    """The codes and messages about how a file is written."""
    findings = lint_text([parse(Source("a.dl", text))], codes())
    return [(finding.code, finding.message) for finding in findings]


def found(text: str) -> list[tuple[str, str]]:
    """The codes and messages of the lint of a file alone."""
    base = RuleBase(rules_path(), Source("a.dl", text))
    return [(finding.code, finding.message) for finding in lint(base, solver="clingo")]


def beside(text: str, tests: str | None) -> list[tuple[str, str]]:
    """The codes and messages about the tests beside a file alone."""
    base = RuleBase(rules_path(), Source("a.dl", text))
    source = Source("a.test.md", tests) if tests is not None else None
    return [
        (finding.code, finding.message)
        for finding in lint_tests(base, base.files, lambda _: source, "clingo")
    ]


def test_kinas_own_rules_lint_clean() -> None:
    assert lint(own_rules(), solver="clingo") == ()


@pytest.mark.parametrize(
    ("old", "new", "code", "part"),
    [
        ('@[rule = "a.smooth"]\n', "", "K840", "a clause of `smooth` has no name"),
        ("a.smooth", "b.smooth", "K841", "does not begin with the name of its file, `a`"),
        ("a.smooth", "a.Smooth", "K841", "not of the form `a.what-it-does`"),
        ("a.smooth", "smooth", "K841", "not of the form"),
        ("a.smooth", "a.place", "K841", "the name of another clause too"),
        ("smooth(", "notSmooth(", "K841", "`notSmooth`"),
        ("smooth(", "no_corner(", "K841", "`no_corner`"),
        ("/// It is.\n", "", "K842", "`a.smooth` has no sentence"),
        ("/// Holds if `op` is smooth.\n", "", "K843", "`smooth` is not documented"),
        ("Holds if", "True if", "K843", "does not begin with `Holds if`"),
        ("`op` is smooth", "it is smooth", "K843", "does not name `op`"),
        ("{op}", "{value}", "K844", "names `value`, which is no column"),
        ('@[rule = "a.smooth"]', '@[rule = "a.smooth"]\n@[code = "K999"]', "K845", "`K999` has no page"),
        ('@[rule = "a.smooth"]', '@[rule = "a.smooth"]\n@[code = "999"]', "K845", "K and three digits"),
        ("// The", "// Codes K320. The", "K847", "it has K320, and no clause"),
        ("// The hyperbolic tangent.\n", "", "K847", "does not begin with `//` lines"),
        ("/// It is.", "//\n" * 300 + "/// It is.", "K846", "lines, and 299 are read with ease"),
        ("smooth(op),\n    port", "smooth(op), port", "K846", "two premises stand on one line"),
        ("_).\n", "_),\n" + ",\n".join(["dim < 9"] * 8) + ".\n", "K846", "a clause has 11 premises"),
        ("op: Op)", f"op: Op{''.join(f', c{n}: Dim' for n in range(6))})", "K846", "`smooth` has 7 columns"),
    ],
)
def test_what_is_written_is_read(old: str, new: str, code: str, part: str) -> None:
    assert written(GOOD) == []
    assert code in {each for each, message in written(GOOD.replace(old, new)) if part in message}


TANH = 'op_kind(op, "tanh")'


@pytest.mark.parametrize(
    ("old", "new", "code", "part"),
    [
        (".output smooth\n", "", "", ""),
        ("smooth(op),\n    port", f"{TANH},\n    port", "", ""),
        ("smooth(op),\n    port", "op_kind(op, _),\n    port", "K852", "`permutation` of `transpose`"),
        (TANH, 'op_kind(op, "tahn")', "K849", "no op is a `tahn`"),
        (TANH, f'{TANH},\n    op_word(op, "kidn", _)', "K849", "no op has an attribute `kidn`"),
        (TANH, f'{TANH},\n    reduction_known("summ")', "K849", "no fact of `reduction_known`"),
        (TANH, f"{TANH},\n    shape_keeping(op)", "K849", "nothing makes `shape_keeping`"),
        (TANH, f"{TANH},\n    op_derived(op)", "K851", "`a.smooth` fires for no instance of any op"),
        ("port_value(op, port, value)", "op_operand(op, _, port, value)", "K855", "`tanh`: (i,j)->(?,?)"),
    ],
)
def test_what_is_meant_is_asked_for(old: str, new: str, code: str, part: str) -> None:
    text = GOOD.replace(old, new)
    assert text != GOOD
    if code == "K852":
        text += '\nattribute_guards("transpose", "shape").\n'
    objections = found(text)
    assert code in {each for each, message in objections if part in message} if code else objections == []


def test_what_nothing_reads() -> None:
    text = GOOD.replace(".output smooth\n", "").replace("smooth(op),\n    port", f"{TANH},\n    port")
    assert found(text) == [("K848", "nothing reads `smooth`")]


def test_what_is_not_utf_8_or_no_rule_is_said_with_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "lint", "nowhere.dl"]) == 2
    assert "`nowhere.dl` cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("p(x) :- e(x).", "p(y) :- e(y).", True),
        ("p(x) :- e(x), f(x).", "p(y) :- f(y), e(y).", True),
        ("p(x) :- e(x).", "p(x) :- e(x), f(x).", True),
        ("p(x) :- e(x), f(x).", "p(x) :- e(x).", False),
        ("p(x) :- e(x), f(_).", "p(x) :- e(x), f(x).", True),
        ("p(x) :- e(x), f(x).", "p(x) :- e(x), f(_).", False),
        ("p(x) :- e(x), !f(x).", "p(x) :- e(x).", False),
        ("p(x) :- e(x), !g(x, _).", "p(x) :- e(x), !g(x, 1).", False),
        ("p(x) :- e(x), x > 1.", "p(y) :- e(y), y > 1.", True),
        ("p(x) :- e(x), x > 1.", "p(y) :- e(y), y > 2.", False),
        ("p(x + 1) :- e(x).", "p(y + 1) :- e(y).", True),
        ("p(x + 1) :- e(x).", "p(y + 2) :- e(y).", False),
        ("p(1) :- e(1).", "p(x) :- e(x).", False),
        ("p(x) :- e(x).", "p(1) :- e(1).", True),
    ],
)
def test_a_clause_covers_what_it_derives(one: str, two: str, expected: bool) -> None:
    declared = ".decl e(x: number)\n.decl f(x: number)\n.decl g(x: number, y: number)\n.decl p(x: number)\n"
    general, special = parse_text(f"{declared}{one}\n{two}\n", "a.dl", ()).rules
    assert covers(general, special) is expected


def test_clauses_that_many_ways_would_cover_end() -> None:
    many = ", ".join(f"g(x{number}, x{number + 1})" for number in range(40))
    declared = ".decl g(x: number, y: number)\n.decl p(x: number)\n"
    text = f"{declared}p(x0) :- {many}, g(x40, 7).\np(x0) :- {many}, g(x40, 8).\n"
    general, special = parse_text(text, "a.dl", ()).rules
    assert covers(general, special) is False


def test_file_names_are_unique() -> None:
    files = [parse(Source(name, "// A.\n")) for name in ("one/a.dl", "two/a.dl")]
    (finding,) = lint_text(files, ())
    assert (finding.code, finding.message) == ("K841", "`one/a.dl` has the same name")


def test_a_file_that_nothing_includes(tmp_path: Path) -> None:
    for file in FILES:
        (tmp_path / file.name).write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "extra.dl").write_text(GOOD.replace("a.", "extra."), encoding="utf-8")
    base = RuleBase(tmp_path)
    assert [finding.code for finding in lint(base, base.files[-1:], "clingo")] == ["K848"]


def test_each_code_of_a_rule_family_is_used() -> None:
    # K203 and K390 are found by Python out of what the rules derive.
    assert set(unused_codes(own_rules().files, codes())) <= {"K203", "K390"}


@pytest.mark.souffle
def test_soufflé_compiles_every_rule() -> None:
    install = find_souffle()
    assert install is not None
    assert lost_rules(install, rulebook()) == ()


@pytest.mark.parametrize("file", own_rules().files, ids=lambda file: file.source.name)
def test_a_file_names_its_tests(file: RuleFile) -> None:
    if any(clause.body for clause in clauses(file)):
        stem = Path(file.source.name).stem
        assert f"Tests: {stem}.test.md." in file.source.text.replace("\n// ", " ")
        assert (rules_path() / f"{stem}.test.md").is_file()


def test_the_base_includes_every_file() -> None:
    lists = [file for file in own_rules().files if file.source.name in ("rules/base.dl", "rules/layouts.dl")]
    included = {item.path for file in lists for item in file.items if isinstance(item, Include)}
    assert included == {file.name for file in FILES} - {"base.dl"}
    assert all(isinstance(item, Include | Once) for file in lists for item in file.items)


def test_every_input_is_read_but_some() -> None:
    read = {name for rule in rulebook().rules for name, _ in dependencies(rule.clause)}
    assert {relation.name for relation in rulebook().inputs} - read <= UNREAD


TEST = """# a.dl

## a.smooth, a.place

A dim passes.

```kina
(mesh (x 2))
(defn f ((a (tensor f32 [4 6]) @sharded(axis=0)))
  (let ((y (tanh a)))
    y))
```

```expect
factor("f.y", "f.y/0", 1, 1)
!factor("f.y", "f.y/0", 0, 1)
smooth("f.y")
```

```kina near miss
(mesh (x 2))
(defn f ((a (tensor f32 [4 6]) @sharded(axis=0)))
  (let ((y (negate a)))
    y))
```

```expect
!smooth(_)
```
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "part"),
    [
        (", a.place", "", "K856", "`a.place` has no section in a.test.md"),
        ("a.place", "a.plaice", "K857", "there is no rule `a.plaice`"),
        ("1, 1)", "1, 0)", "K857", 'factor("f.y", "f.y/0", 1, 0)` is not derived'),
        ("!smooth(_)", "smooth(_)", "K857", "`smooth(_)` is not derived"),
        ("0, 1)", "_, _)", "K857", "is derived, and must not be"),
        ('smooth("f.y")', 'smooht("f.y")', "K857", "there is no relation `smooht`"),
        ('smooth("f.y")', 'smooth("f.y", 1)', "K857", "`smooth` has 1 columns, not 2"),
        ('smooth("f.y")', "smooth(f.y)", "K857", "is no column of a tuple"),
        ('smooth("f.y")', "smooth", "K857", "is no tuple"),
        ("(negate a)", "(tanh a)", "K857", "`a.smooth` fires where it nearly does"),
        ("(tanh a)", "(negate a)", "K857", "`a.smooth` fires in no program of its section"),
        ("(tanh a)", "(tahn a)", "K857", "the program is in error: "),
        ("near miss", "far miss", "K857", "not `far miss`"),
        ("```expect", "```expected", "K857", "no block is called `expected`"),
        ("## a.smooth, a.place", "## ,", "K857", "a heading names the rules"),
        ("```expect", "```facts\nop_kind(1, 2)\n```\n\n```expect", "K857", "cannot hold 1"),
        ("```expect", "```facts\nop_kind(_, _)\n```\n\n```expect", "K857", "leaves no column open"),
        ("```expect", '```facts\nnowhere("a")\n```\n\n```expect', "K857", "no input relation `nowhere`"),
    ],
)
def test_tests_beside_rules_are_run(old: str, new: str, code: str, part: str) -> None:
    objections = beside(GOOD, TEST.replace(old, new))
    assert [each for each, message in objections if part in message][:1] == [code]


def test_a_test_that_holds_says_nothing() -> None:
    assert beside(GOOD, TEST) == []
    assert beside(GOOD, None) == [("K856", "`a.smooth` has no section in a.test.md")]


def test_rules_that_name_things_of_their_own_are_evaluated_apart() -> None:
    own = GOOD.replace(f"smooth(op) :-\n    {TANH}.", 'smooth("mine") :-\n    op_kind(_, "tanh").')
    assert own != GOOD
    assert ("K857", '`smooth("f.y")` is not derived') in beside(own, TEST)


def test_a_guard_that_sizes_stand_in_for() -> None:
    text = GOOD.replace('"tanh"', '"reverse"')
    text = text.replace("/// Holds", 'attribute_guards("reverse", "dimensions").\n\n/// Holds')
    text = text.replace(
        "value_dim(value, dim, _)", "value_dim(value, dim, size),\n    value_dim(value, 0, size)"
    )
    objections = lint(RuleBase(rules_path(), Source("a.dl", text)), solver="clingo")
    guard = next(each for each in objections if each.code == "K854")
    assert guard.notes == ("`a.place`, a.dl:19, asks for equal sizes, which may be so by chance",)


def test_every_file_that_is_none_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    faults = [(name, ".decl ", ".dcl ") for name in ("scatter.dl", "steps.dl")]
    base = copied(tmp_path, *faults)
    assert cli.run(["rules", "lint", "--base", str(base), "--format", "concise"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["rules/scatter.dl", "rules/steps.dl"]
    assert all("error[K80" in line for line in lines)


@pytest.mark.parametrize("form", ["concise", "json", "sarif", "github"])
def test_formats(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "lint", "sanity.dl", "--no-tests", "--solver", "clingo", "--format", form]) == 0
    out = capsys.readouterr().out
    if form == "json":
        assert json.loads(out) == {"version": 1, "ok": True, "files": ["rules/sanity.dl"], "findings": []}
    elif form == "sarif":
        assert json.loads(out)["runs"][0]["results"] == []
    else:
        assert out == ""
