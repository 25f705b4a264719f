"""Rule files: what the subset takes, and the finding at what it does not take."""

from __future__ import annotations

import pytest

from kina.datalog.grammar import parse
from kina.datalog.syntax import Aggregate, Clause, Comparison, Component, Declaration, Number, metadata_text
from kina.diagnostics.finding import Finding, ProgramError
from kina.source import Source


def fault(text: str) -> Finding:
    with pytest.raises(ProgramError) as caught:
        parse(Source("x.dl", text))
    return caught.value.findings[0]


def test_a_file_with_everything() -> None:
    text = (
        '.once\n.include "other.dl"\n// a comment\n.type A <: symbol\n.type D = number\n'
        '/// Holds if `a`.\n/// Example: none.\n@[says = "`{a}`"]\n.decl p(a: A, d: D)\n.input p\n.output p\n'
        '.comp C { .decl q(a: A)\n /// Why.\n @[rule = "x.q"]\n @[hide]\n'
        ' q(a) :- p(a, _), !r(a), a != "b". }\n'
        '.comp E : C { }\n.init i = E\ni.q("z"). /* more\nlines */\n'
        "p(a, n) :- i.q(a), n = count : { p(a, d), d > -1 + 2 * 3 }."
    )
    file = parse(Source("x.dl", text))
    declaration = next(item for item in file.items if isinstance(item, Declaration))
    assert declaration.doc == "Holds if `a`.\nExample: none."
    assert metadata_text(declaration.metadata, "says") == "`{a}`"
    component = next(item for item in file.items if isinstance(item, Component))
    clause = component.items[1]
    assert isinstance(clause, Clause)
    assert (clause.doc, metadata_text(clause.metadata, "rule"), clause.span.line) == ("Why.", "x.q", 16)
    assert metadata_text(clause.metadata, "hide") == ""
    last = file.items[-1]
    assert isinstance(last, Clause)
    assert last.span.text == text.splitlines()[-1]
    comparison = last.body[1]
    assert isinstance(comparison, Comparison)
    assert isinstance(comparison.right, Aggregate)


def test_operators_bind_as_in_arithmetic() -> None:
    clause = parse(Source("x.dl", "p(1 + 2 * 3 - 4, -5).")).items[0]
    assert isinstance(clause, Clause)
    first, second = clause.head.arguments
    assert first.operator == "-"
    assert first.left.right.operator == "*"
    assert isinstance(second, Number)
    assert second.value == -5


OUTSIDE = {
    "p(x) :- q(x); r(x).": "`;`",
    "p(x), q(x) :- r(x).": "several heads",
    "p(x) <= p(y) :- x < y.": "subsumption",
    "p(cat(x, y)) :- q(x, y).": "`cat`",
    "p(x) :- x = ord(y), q(y).": "`ord`",
    "p(1.5).": "float",
    "p(0x1f).": "not decimal",
    "p([x]) :- q(x).": "record",
    ".type A = B | C": "union",
    ".type A = [a: B]": "record",
    ".decl r(x: A) inline": "`inline`",
    ".decl r(x: A) eqrel": "`eqrel`",
    ".decl r(x: A) choice-domain x": "`choice-domain`",
    ".decl a, b(x: A)": "several relations",
    ".output a, b": "several relations",
    '.pragma "x"': "`.pragma`",
    ".plan 1: (1)": "`.plan`",
    ".functor f(x: number): number": "`.functor`",
    ".printsize p": "`.printsize`",
    '#include "x"': "preprocessor",
    "p(@f(x)) :- q(x).": "functor `@f`",
    "p($A) :- q(x).": "`$A`",
    "p(x) :- y = 1 + count : { q(x) }.": "`count` in this place",
    "p(x) :- x = mean y : { q(y) }.": "`mean`",
    ".comp A<T> { }": "type parameters",
    ".comp A { .type T <: number }": "`.type` inside a component",
    ".comp A { .init b = B }": "`.init` inside a component",
    "p(x) :- contains(x, y), q(x, y).": "`contains`",
    "p(x) :- true.": "`true`",
    'p("a\\n").': "backslash",
    "p(x ^ 2) :- q(x).": "power",
    "p(x) :- q(x) , x = nil.": "`nil`",
}


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_is_outside_is_named_and_located(text: str) -> None:
    finding = fault(f"// first line\n{text}")
    assert finding.code == "K802"
    assert OUTSIDE[text] in finding.message
    assert finding.primary is not None
    assert finding.primary.line == 2


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("p(x) :- q(x)", "K801", (1, 12)),
        ("p(x) :- q(x.", "K801", (1, 12)),
        ("p(x) :- é.", "K801", (1, 9)),
        ('p("abc', "K801", (1, 3)),
        ("p(x) :- /// no\n q(x).", "K801", (1, 9)),
        ("/// lonely", "K801", (1, 10)),
        ("\n.output r(IO=file)", "K803", (2, 10)),
        ('.output r(filename="/tmp/x")', "K803", (1, 10)),
        (".input r(IO=sqlite)", "K803", (1, 9)),
        ("p(4294967296).", "K810", (1, 3)),
        ("p(2147483648).", "K810", (1, 3)),
        ("p(" + "9" * 5000 + ").", "K810", (1, 3)),
        ("p(" + "1+" * 1000 + "1).", "K801", (1, 3)),
        ("p(" + "-" * 1000 + "x).", "K801", None),
    ],
)
def test_faults(text: str, code: str, place: tuple[int, int] | None) -> None:
    finding = fault(text)
    assert finding.code == code
    assert finding.primary is not None
    assert place is None or (finding.primary.line, finding.primary.column) == place


def test_brackets_of_any_depth_do_not_overflow() -> None:
    parse(Source("x.dl", "p(" + "(" * 50_000 + "1" + ")" * 50_000 + ")."))
