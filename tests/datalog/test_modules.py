"""Includes, components and the checks on clauses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina.datalog.modules import load_rules, parse_text
from kina.diagnostics.finding import Finding, ProgramError, SetupError

DECLARED = """.type V <: symbol
.type W <: symbol
.type E <: V
.decl p(d: number)
.decl v(v: V)
.decl w(w: W)
.decl e(e: E)
.input p
.input v
.input w
.input e
.decl q(v: V)
.decl n(d: number)
"""


def faults(text: str) -> tuple[Finding, ...]:
    with pytest.raises(ProgramError) as caught:
        parse_text(text, "x.dl", ())
    return caught.value.findings


@pytest.mark.parametrize(
    ("clause", "code", "part"),
    [
        ("q(x) :- missing(x).", "K805", "`missing` is not declared"),
        ("p(x) :- n(x).", "K805", "input relation `p`"),
        (".output missing", "K805", "`missing`"),
        (".decl z(a: Nothing)", "K805", "`Nothing`"),
        (".decl z(a: float)", "K802", "`float`"),
        (".type A <: B .type B <: A", "K805", "its own base"),
        (".comp C : D { } .comp D : C { } .init i = C", "K805", "its own base"),
        (".init i = C", "K805", "component `C`"),
        ("q(x, x) :- v(x).", "K806", "1 column, and 2 arguments"),
        ("q(x) :- v(x), w(x).", "K807", "is a `V` and a `W`"),
        ("q(x) :- w(x).", "K807", "is a `W`"),
        ("q(x) :- v(x), !w(x).", "K807", "is a `V`"),
        ("q(x) :- v(x), w(y), x = y.", "K807", "compares"),
        ("q(x) :- v(x), p(y), x != y.", "K807", "compares"),
        ('n("a").', "K807", "`symbol`"),
        ("n(x + 1) :- v(x).", "K807", "not a number"),
        ("n(m) :- m = max x : { v(x) }.", "K807", "not a number"),
        ('q(x) :- v(y), y != "a".', "K808", "nothing binds the variable `x`"),
        ("q(x) :- v(x), !v(y).", "K808", "`y`"),
        ("n(x) :- p(y), y = x + 1.", "K808", "`x`"),
        ("n(_) :- p(1).", "K808", "`_`"),
        ("n(x) :- p(x), x = _.", "K808", "`_`"),
        ("n(m) :- m = count : { p(x), !p(z) }.", "K808", "`z`"),
        ("n(x) :- m = count : { p(x) }, m = 2.", "K808", "`x`"),
        ("n(m) :- p(x), m = sum x : { p(x) }.", "K808", "own value"),
        ("n(m) :- m = count : { p(x), x = count : { p(_) } }.", "K802", "inside an aggregate"),
        ("n(x) :- p(x), !n(x).", "K809", "depends on itself"),
        (".decl p(d: number)", "K811", "declared twice"),
        (".decl z(a: V, a: V)", "K811", "column `a`"),
        (".comp C { } .comp C { }", "K811", "component `C`"),
        (".comp C { } .init i = C .init i = C", "K811", "instance `i`"),
        (".type V <: symbol", "K811", "type `V`"),
        ('@[cod = "K101"] n(1).', "K813", "`cod`"),
        ('@[rule = "a.b"] @[rule = "a.c"] n(1).', "K813", "twice"),
    ],
)
def test_checks(clause: str, code: str, part: str) -> None:
    finding = faults(DECLARED + clause)[0]
    assert finding.code == code
    assert part in finding.message
    assert finding.primary is not None
    assert finding.primary.line >= DECLARED.count("\n") + 1


def test_subtypes_aliases_and_constants_fit() -> None:
    rulebook = parse_text(
        DECLARED
        + '.type D = number .decl z(d: D) z(x + 1) :- p(x). q(x) :- e(x). q(x) :- v(x), e(x). q("new").',
        "x.dl",
        (),
    )
    assert rulebook.relations["z"].columns[0].base == "number"


def test_all_faults_are_reported_once_although_a_component_has_instances() -> None:
    found = faults(
        DECLARED + ".comp C { .decl z(a: V)\n z(x) :- v(y). z(a) :- w(a). }\n.init a = C\n.init b = C\n"
    )
    assert [finding.code for finding in found] == ["K808", "K807"]


def test_the_cycle_is_shown() -> None:
    finding = faults(
        DECLARED + ".decl r(d: number) .decl s(d: number)\nr(x) :- n(x).\ns(x) :- r(x).\nn(x) :- p(x), !s(x)."
    )[0]
    assert finding.notes == ("the cycle: `n` → `s` → `r` → `n`",)
    assert finding.primary is not None
    assert finding.primary.text == "!s(x)"


def test_components_are_written_out() -> None:
    rulebook = parse_text(
        DECLARED
        + """.comp Base { .decl z(a: V)
  .output z
  @[rule = "x.base"]
  z(x) :- v(x), !gone(x).
  .decl gone(a: V) }
.comp Other : Base { @[rule = "x.other"] gone(x) :- q(x), z2(x). }
.decl z2(a: V)
.init one = Base
.init two = Other
q(x) :- one.z(x).
two.z(x) :- one.z(x).
""",
        "x.dl",
        (),
    )
    assert {"one.z", "two.z", "one.gone", "two.gone"} <= rulebook.relations.keys()
    assert rulebook.outputs == ("one.z", "two.z")
    named = [(rule.name, rule.head.relation, rule.instance) for rule in rulebook.rules if rule.name]
    assert named == [("x.base", "one.z", "one"), ("x.base", "two.z", "two"), ("x.other", "two.gone", "two")]
    place = {name: index for index, group in enumerate(rulebook.strata) for name in group}
    assert place["one.z"] < place["two.gone"] < place["two.z"]


def test_includes(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "a.dl").write_text('.once\n.include "b.dl"\n.decl a(d: number)\n')
    (rules / "b.dl").write_text('.once\n.include "a.dl"\n.decl b(d: number)\n')
    main = tmp_path / "main.dl"
    main.write_text('.include "a.dl"\n.include "b.dl"\na(1).\n')
    rulebook = load_rules(main, (rules,))
    assert list(rulebook.relations) == ["b", "a"]
    assert [source.name for source in rulebook.files][:2] == ["rules/b.dl", "rules/a.dl"]
    assert parse_text(main.read_text(), "main.dl", (rules,)).relations.keys() == rulebook.relations.keys()


@pytest.mark.parametrize("path", ["../outside.dl", "/etc/hostname", "link.dl", "missing.dl", "sub"])
def test_includes_stay_inside(tmp_path: Path, path: str) -> None:
    (tmp_path / "outside.dl").write_text(".decl a(d: number)\n")
    folder = tmp_path / "rules"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.dl").symlink_to(tmp_path / "outside.dl")
    main = folder / "main.dl"
    main.write_text(f'.include "{path}"\n')
    with pytest.raises(ProgramError) as caught:
        load_rules(main, ())
    finding = caught.value.findings[0]
    assert finding.code == "K804"
    assert finding.primary is not None
    assert finding.primary.line == 1


def test_including_twice_needs_once(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_text(".decl a(d: number)\n")
    for text in ('.include "a.dl"\n.include "a.dl"\n', '.include "main.dl"\n'):
        (tmp_path / "main.dl").write_text(text)
        with pytest.raises(ProgramError) as caught:
            load_rules(tmp_path / "main.dl", ())
        assert caught.value.findings[0].code == "K804"


def test_unreadable_files(tmp_path: Path) -> None:
    main = tmp_path / "main.dl"
    with pytest.raises(SetupError):
        load_rules(main, ())
    with pytest.raises(SetupError):
        load_rules(tmp_path, ())
    main.write_bytes(b".decl a(d: number)\n\xff\xfe")
    with pytest.raises(ProgramError) as caught:
        load_rules(main, ())
    assert caught.value.findings[0].code == "K801"
    main.write_bytes(b"\0\0\0")
    with pytest.raises(ProgramError):
        load_rules(main, ())
    (tmp_path / "bad.dl").write_bytes(b"\xff")
    main.write_text('\n.include "bad.dl"\n')
    with pytest.raises(ProgramError) as caught:
        load_rules(main, ())
    finding = caught.value.findings[0]
    assert finding.code == "K804"
    assert finding.primary is not None
    assert finding.primary.line == 2
