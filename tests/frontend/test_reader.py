"""Reading: places, the errors of malformed text, and print-then-read as the identity."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina.diagnostics.finding import Finding, ProgramError, SetupError
from kina.frontend.ast import (
    Annotated,
    AnnotationForm,
    AnnotationItem,
    Apply,
    AxisList,
    AxisName,
    Binding,
    Define,
    Expr,
    Function,
    If,
    Import,
    Instance,
    Keyword,
    Let,
    Listing,
    MeshForm,
    Module,
    Number,
    Param,
    Ref,
    Repeat,
    Text,
    TypeForm,
    Values,
)
from kina.frontend.printer import print_module
from kina.frontend.reader import decode, load, read
from kina.source import Source, Span

SOURCE = Source("t.kina", "")
HERE = Span(SOURCE, 0, 0)


def fault(text: str) -> Finding:
    with pytest.raises(ProgramError) as caught:
        read(Source("t.kina", text))
    assert len(caught.value.findings) == 1
    finding = caught.value.findings[0]
    assert finding.primary is not None
    return finding


def function(text: str) -> Function:
    form = read(Source("t.kina", text)).forms[-1]
    assert isinstance(form, Function)
    return form


def test_every_node_knows_its_text() -> None:
    text = "; first\n(defn f ((x (tensor f32 [8 n]) @sharded(axis=0, mesh=(a,|b c|)))) (add x :k 1.5))"
    form = function(text)
    assert form.span.text == text[8:]
    param = form.params[0]
    assert param.type is not None
    assert param.type.span.text == "(tensor f32 [8 n])"
    assert param.annotations[0].span.text == "@sharded(axis=0, mesh=(a,|b c|))"
    assert [item.span.text for item in param.annotations[0].items] == ["axis=0", "mesh=(a,|b c|)"]
    body = form.body[0]
    assert isinstance(body, Apply)
    assert body.span.text == "(add x :k 1.5)"
    assert body.keywords[0].span.text == ":k 1.5"
    assert (body.span.line, body.span.column) == (2, 67)


def test_argument_list_touches_its_annotation() -> None:
    touching = function("(defn f (x) (@ x @replicated(mesh=a)))").body[0]
    apart = function("(defn f (x) (@ @replicated (matmul x w)))").body[0]
    assert isinstance(touching, Annotated)
    assert touching.value == Ref("x", HERE)
    assert isinstance(apart, Annotated)
    assert apart.annotations == (AnnotationForm("replicated", (), HERE),)
    assert isinstance(apart.value, Apply)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1), ("-2", -2), ("+3", 3), ("1e-5", 1e-5), ("-1.5", -1.5), (".5", 0.5), ("2.", 2.0),
        ("inf", float("inf")), ("-inf", float("-inf")), ("9223372036854775807", 2**63 - 1),
    ],
)  # fmt: skip
def test_numbers(text: str, value: int | float) -> None:
    node = function(f"(defn f () {text})").body[0]
    assert isinstance(node, Number)
    assert node.value == value
    assert type(node.value) is type(value)


@pytest.mark.parametrize("text", ["t", "nil", "a-b", "x'", "-", "**", "é", "名前", "a.b", "layer#2"])
def test_words_that_are_names(text: str) -> None:
    if "'" in text:
        assert fault(f"(defn f () {text})").code == "K007"
    else:
        assert function(f"(defn f () {text})").body[0] == Ref(text, HERE)


def test_quoted_names_hold_any_text() -> None:
    node = function('(defn f () |a b\t"\\|\\\\\n1|)').body[0]
    assert node == Ref('a b\t"|\\\n1', HERE)
    assert function("(defn f () |5|)").body[0] == Ref("5", HERE)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "K006", (1, 1)),
        (" ; only a comment\n", "K006", (2, 1)),
        ("(mesh (x 1)", "K001", (1, 1)),
        ("(mesh\n  (x 1)\n  [", "K001", (3, 3)),
        ("(mesh (x 1)))", "K002", (1, 13)),
        ("(mesh [x 1))", "K002", (1, 11)),
        ('(import "a)', "K003", (1, 9)),
        ("(define |a 1)", "K003", (1, 9)),
        ("(" * 100_000, "K004", (1, 201)),
        ("(define x 1)\0", "K005", (1, 13)),
        ("(define x 1_0)", "K007", (1, 11)),
        ("(define x 'a)", "K007", (1, 11)),
        ('(define x "\\q")', "K007", (1, 12)),
        ("(define x ||)", "K007", (1, 11)),
        ("(define x {a})", "K007", (1, 11)),
        ("(define x 99999999999999999999)", "K009", (1, 11)),
        ("(define x 1e999)", "K009", (1, 11)),
        ("x", "K008", (1, 1)),
        ("(defun f () 1)", "K013", (1, 2)),
        ("(define x)", "K008", (1, 1)),
        ("(defn f x 1)", "K008", (1, 9)),
        ("(defn f (x))", "K008", (1, 1)),
        ("(defn f ((x (tensor f32 8))) x)", "K008", (1, 25)),
        ("(defn f ((x (tensor f32))) x)", "K008", (1, 13)),
        ("(defn f (x) (let ((a)) a))", "K008", (1, 19)),
        ("(defn f (x) (let a a))", "K008", (1, 18)),
        ("(defn f (x) ())", "K008", (1, 13)),
        ("(defn f (x) ((g) x))", "K008", (1, 14)),
        ("(defn f (x) (add x :k))", "K008", (1, 20)),
        ("(defn f (x) (add x :k 1 :k 2))", "K014", (1, 25)),
        ("(defn f (x) :k)", "K008", (1, 13)),
        ("(defn f (x) (@ x))", "K008", (1, 13)),
        ("(defn f (x) (@ @closed))", "K008", (1, 13)),
        ("(defn f (x) (add x @closed))", "K008", (1, 20)),
        ("(defn f (x) (if x))", "K008", (1, 13)),
        ("(defn f (x) (values))", "K008", (1, 13)),
        ("(defn f (x) (mesh (x 1)))", "K008", (1, 13)),
        ("(defn f (x) (repeat (l i) ((y x)) y))", "K008", (1, 21)),
        ("(defn f (x) (repeat (l i 2) ((y x)) :of 1 y))", "K013", (1, 37)),
        ("(defn f (x) (repeat (l i 2) ((y x)) :at (1) y))", "K008", (1, 42)),
        ("(mesh (x))", "K008", (1, 7)),
        ("(import a)", "K008", (1, 1)),
        ("(defn f ((x @sharded(axis=0 mesh=a))) x)", "K410", (1, 29)),
        ("(defn f ((x @sharded(axis))) x)", "K410", (1, 22)),
        ("(defn f ((x @sharded(axis=))) x)", "K410", (1, 22)),
        ("(defn f ((x @sharded(=0))) x)", "K410", (1, 22)),
        ("(defn f ((x @sharded(axis=[0]))) x)", "K410", (1, 27)),
        ("(defn f ((x @sharded(mesh=(a b)))) x)", "K410", (1, 30)),
        ("(defn f ((x @sharded(axis=0", "K001", (1, 21)),
    ],
)
def test_malformed_text_is_located(text: str, code: str, place: tuple[int, int]) -> None:
    finding = fault(text)
    assert finding.primary is not None
    assert (finding.code, (finding.primary.line, finding.primary.column)) == (code, place)
    assert finding.message[0] in "`abcdefghijklmnopqrstuvwxyz"
    assert not finding.message.endswith(".")


def test_an_open_bracket_is_shown_with_what_it_swallows() -> None:
    finding = fault("(defn f (x)\n  (exp x)\n\n(defn g (x) x)\n")
    assert finding.primary is not None
    assert finding.primary.line == 1
    assert [label.span.line for label in finding.labels] == [4]


def test_deep_forms_within_the_limit_are_read() -> None:
    for head in ("(neg ", "(let () ", "(values ", "(@ @closed ", "(if c 1 ", "(repeat (l i 1) ((y x)) "):
        text = f"(defn f (x) {head * 196}x{')' * 197}"
        assert len(read(Source("t", text)).forms) == 1


def test_files_that_cannot_be_read(tmp_path: object) -> None:
    with pytest.raises(SetupError, match=r"absent\.kina` cannot be read"):
        load(f"{tmp_path}/absent.kina")
    with pytest.raises(SetupError):
        load(str(tmp_path))
    with pytest.raises(ProgramError) as caught:
        decode("b.kina", b"(mesh\n \xff\xfe")
    finding = caught.value.findings[0]
    assert finding.code == "K005"
    assert str(finding.primary) == "b.kina:2:2"


def test_byte_order_mark_and_line_breaks() -> None:
    source = decode("w.kina", "\ufeff(mesh\r\n (x 1))".encode())
    assert source.text == "(mesh\n (x 1))"


def readable(text: str) -> bool:
    return all(char in "\n\t\r" or unicodedata.category(char) != "Cc" for char in text) and not any(
        "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" for char in text
    )


# ---- print, then read ------------------------------------------------------------------------------

names = st.one_of(
    st.sampled_from(["x", "w1", "a-b", "é", "inf", "5", "a b", "|", "\\", ":k", "@a", "a,b", "a=b", "\t\n"]),
    st.text(min_size=1, max_size=4).filter(readable),
)
heads = names.filter(
    lambda name: (
        name not in {"let", "values", "if", "@", "repeat", "tensor", "mesh", "import", "define", "defn"}
    )
)
words = st.from_regex(r"[a-z][a-z_]{0,5}", fullmatch=True)
refs = st.builds(Ref, names, st.just(HERE))
numbers = st.one_of(
    st.integers(-(2**63) + 1, 2**63 - 1), st.floats(allow_nan=False, allow_infinity=True)
).map(lambda value: Number(value, HERE))
axis_names = st.builds(AxisName, names, st.just(HERE))
annotation_values = st.one_of(
    numbers, axis_names, st.builds(AxisList, st.lists(axis_names, max_size=3).map(tuple), st.just(HERE))
)
annotation_items = st.builds(AnnotationItem, names, annotation_values, st.just(HERE), st.just(HERE))
annotations = st.builds(
    AnnotationForm, words, st.lists(annotation_items, max_size=2).map(tuple), st.just(HERE)
)
some_annotations = st.lists(annotations, max_size=2).map(tuple)


def several(items: st.SearchStrategy[Expr], least: int = 0) -> st.SearchStrategy[tuple[Expr, ...]]:
    return st.lists(items, min_size=least, max_size=3).map(tuple)


def params(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[tuple[Param, ...]]:
    types = st.builds(TypeForm, refs, several(inner), st.just(HERE), st.just(HERE))
    typed = st.builds(Param, refs, types, st.none(), some_annotations, st.just(HERE))
    default = st.builds(Param, refs, st.none(), inner, some_annotations, st.just(HERE))
    bare = st.builds(Param, refs, st.none(), st.none(), some_annotations, st.just(HERE))
    return st.lists(st.one_of(typed, default, bare), max_size=3).map(tuple)


def bindings(inner: st.SearchStrategy[Expr], least: int, most: int) -> st.SearchStrategy[tuple[Binding, ...]]:
    one = st.builds(Binding, st.tuples(refs), st.just(False), inner, st.just(HERE))
    more = st.builds(Binding, st.lists(refs, max_size=2).map(tuple), st.just(True), inner, st.just(HERE))
    return st.lists(one if most else st.one_of(one, more), min_size=least, max_size=2).map(tuple)


def extend(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    keywords = st.lists(
        st.builds(Keyword, words, inner, st.just(HERE)), max_size=2, unique_by=lambda k: k.name
    )
    asked = st.lists(
        st.tuples(refs, st.lists(annotations, min_size=1, max_size=2).map(tuple)), min_size=1, max_size=2
    )
    instances = st.lists(st.builds(Instance, inner, asked.map(tuple), st.just(HERE)), max_size=2).map(tuple)
    here = st.just(HERE)
    return st.one_of(
        st.builds(Listing, several(inner), here),
        st.builds(Apply, heads, several(inner), keywords.map(tuple), here, here),
        st.builds(Let, bindings(inner, 0, 0), several(inner, 1), here),
        st.builds(Values, several(inner, 1), here),
        st.builds(If, inner, inner, inner, here),
        st.builds(Annotated, inner, st.lists(annotations, min_size=1, max_size=2).map(tuple), here),
        st.builds(
            Repeat,
            refs,
            refs,
            inner,
            bindings(inner, 0, 1),
            params(inner),
            instances,
            several(inner, 1),
            here,
        ),
    )


texts = st.builds(Text, st.text(max_size=5).filter(readable), st.just(HERE))
exprs = st.recursive(st.one_of(refs, numbers, texts), extend, max_leaves=12)
functions = st.builds(Function, refs, params(exprs), some_annotations, several(exprs, 1), st.just(HERE))
forms = st.one_of(
    st.builds(MeshForm, st.lists(st.tuples(refs, exprs), max_size=3).map(tuple), st.just(HERE)),
    st.builds(Import, words, st.just(HERE)),
    st.builds(Define, refs, exprs, st.just(HERE)),
    functions,
)


@dataclass
class _Same:
    """Numbers compare by kind too: 1 and 1.0 are not the same program."""

    tree: Module

    def __repr__(self) -> str:
        return repr(self.tree.forms)


@settings(max_examples=150, deadline=None)
@given(st.lists(forms, min_size=1, max_size=3).map(tuple))
def test_print_then_read_is_the_same_tree(tree: tuple[MeshForm | Import | Define | Function, ...]) -> None:
    module = Module(tree, SOURCE)
    text = print_module(module)
    again = read(Source("printed.kina", text))
    assert again == module
    assert repr(_Same(again)) == repr(_Same(module))
    assert print_module(again) == text


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet='()[]"|\\;@=, \n:ax1-.{é', max_size=40))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        read(Source("any.kina", text))
    except ProgramError as caught:
        for finding in caught.findings:
            assert finding.primary is not None
            assert 0 <= finding.primary.start <= finding.primary.end <= len(text)
