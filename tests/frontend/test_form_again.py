"""A call that is written out again makes what it makes when it is formed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kina.diagnostics.finding import ProgramError
from kina.frontend import form_again, form_call, former
from kina.frontend.form import form
from kina.frontend.ir import Program
from kina.frontend.reader import load, read
from kina.source import Source

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.kina"))

#: Functions that call each other: of tensors, of literals, of none of their arguments.
LIBRARY = """
(mesh (x 2) (y 2))
(define SCALE 0.5)
(defn once (a) (multiply a SCALE))
(defn twice (a b) (let ((c (once a)) (d (once b))) (add c d)))
(defn raised (a n) (if (= n 1) a (multiply a (once a))))
(defn turned (a) (transpose a [1 0]))
(defn pair (a b) (values (add a b) (subtract a b)))
(defn first (a b) (let (((p q) (pair a b))) (add p (once q))))
(defn same (a b) a)
(defn noted (a) (@ (add a 1.0) @sharded(axis=0, mesh=x)))
(defn narrow (a) (let ((b (noted a))) (multiply b a)))
(defn square (a) (sum (multiply a a)))
(defn slope (a) (grad square a))
(defn total (a) (gradients (sum a)))
(defn fixed () (iota f32 [4 4] 0))
"""
CALLS = (
    "once",
    "twice",
    "raised 1",
    "raised 2",
    "turned",
    "first",
    "same",
    "noted",
    "narrow",
    "slope",
    "fixed",
)
TAKES = {"twice": 2, "first": 2, "same": 2, "fixed": 0}


def formed(text: str, monkeypatch: pytest.MonkeyPatch | None = None) -> Program | list[object]:
    """The program, or what is wrong with it; with a patch every call is formed."""
    try:
        if monkeypatch is None:
            return form(read(Source("p.kina", text)))
        with monkeypatch.context() as patch:
            patch.setattr(form_call, "again", lambda former, call: None)
            return form(read(Source("p.kina", text)))
    except ProgramError as fault:
        return [(each.code, each.message, each.primary, each.labels, each.notes) for each in fault.findings]


def call(head: str, arguments: list[str]) -> str:
    name, *literals = head.split()
    return f"({' '.join([name, *arguments[: TAKES.get(name, 1)], *literals])})"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """A program of calls, whose arguments are parameters and results of other calls, some of them twice."""
    known = ["p", "q", "w"]
    bindings = []
    for index in range(draw(st.integers(1, 12))):
        head = draw(st.sampled_from(CALLS))
        arguments = draw(st.lists(st.sampled_from(known), min_size=2, max_size=2))
        name = draw(st.sampled_from(["once", "twice", f"v{index}"]))
        bindings.append(f"({name} {call(head, arguments)})")
        known.append(name)
    body = f"(let ({' '.join(bindings)}) (sum (add {known[-1]} {draw(st.sampled_from(known))})))"
    if draw(st.booleans()):
        body = f"(gradients {body} :wrt [p q])"
    square = "(tensor f32 [4 4])"
    return f"{LIBRARY}(defn f ((p {square}) (q {square}) (w {square} @sharded(axis=1, mesh=y))) {body})"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=programs())
def test_random_calls_make_the_same(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    found = formed(text)
    assert isinstance(found, Program)
    assert found == formed(text, monkeypatch)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_formed_as_without(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    text = load(str(path)).text
    assert formed(text) == formed(text, monkeypatch)


def written_out(monkeypatch: pytest.MonkeyPatch, text: str) -> list[str]:
    """The paths of the calls that are written out again."""
    found: list[str] = []
    again = form_again.again

    def noted(state: former.Former, begun: form_again.Call) -> object:
        result = again(state, begun)
        if result is not None:
            found.append(begun.path)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(form_call, "again", noted)
        form(read(Source("p.kina", text)))
    return found


def entry(body: str) -> str:
    return f"{LIBRARY}(defn f ((p (tensor f32 [4 4])) (q (tensor f32 [4 4])) (r (tensor f32 [4]))) {body})"


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ("(add (once p) (once q))", ["once#2"]),
        ("(add (twice p q) (twice q p))", ["twice.once#2", "twice#2"]),
        ("(add (once p) (once (once q)))", ["once#3"]),
        # what stood deeper inside other forms came to an end, and so does what stands less deep
        ("(add (once (once p)) (once q))", ["once#2", "once#3"]),
        # another type, another literal, one tensor twice
        ("(add (once p) (once r))", []),
        ("(add (raised p 1) (raised p 2))", []),
        ("(add (first p q) (first p p))", ["first#2.once"]),
        # annotations and gradients reach outside
        ("(add (noted p) (noted q))", []),
        ("(add (slope p) (slope q))", ["slope#2.square"]),
        ("(let ((a (total p)) ((b c) (total (add p q)))) (add a (add b c)))", []),
        (
            "(repeat (layer i 4) ((h p)) :params ((v (tensor f32 [4 4]))) (twice h v))",
            ["layer[0].twice.once#2", "layer[1].twice", "layer[2].twice", "layer[3].twice"],
        ),
    ],
)
def test_calls_alike_are_written_out(monkeypatch: pytest.MonkeyPatch, body: str, paths: list[str]) -> None:
    assert written_out(monkeypatch, entry(body)) == paths


#: What a call depends on besides its function and its arguments, or is named after: it is formed anew.
SURROUNDED = {
    "a constant is computed before the functions of the user are known": """
(mesh (x 2))
(defn relu (x) (multiply x 3.0))
(defn h () (relu (iota f32 [4] 0)))
(define n (shape (h) 0))
(defn f ((p (tensor f32 [n]))) (add p (h)))""",
    "a word is a constant later": """
(mesh (x 2))
(defn g (k) LT)
(define a [[[(g 1)]]])
(define LT 5)
(defn f ((p (tensor f32 [4]))) (add p (g 1)))""",
    "parameters that a value depends on": """
(mesh (x 2))
(defn g (l) (gradients l))
(defn f ((p (tensor f32 [4])))
  (let ((() (g (sum (iota f32 [4] 0)))) (d (g (sum (exp p))))) d))""",
    "the op that is turned round": """
(mesh (x 2))
(defn mm (a b) (matmul a b))
(defop twice ((a (tensor t [n n])) (b (tensor t [n n]))) (tensor t [n n]) (tanh (mm a b)))
(defn f ((p (tensor f32 [8 8]) @sharded(axis=0)) (q (tensor f32 [8 8]) @sharded(axis=0)))
  (let ((u (twice p q)) (v (twice u q))) (gradients (sum v) :wrt [p q])))""",
    "ops that call each other": """
(mesh (x 2))
(defn g (a) (B a :k 0))
(defop A ((a (tensor t [n]))) (tensor t [n]) (g a))
(defop B ((a (tensor t [n])) (k (number :default 0))) (tensor t [n]) (if (= k 1) (A a) (exp a)))
(defop C ((a (tensor t [n]))) (tensor t [n]) (add (exp (exp (exp (exp (A a))))) (B a :k 1)))
(defn f ((p (tensor f32 [4]))) (add (C p) (add (A p) (B p))))""",
    "a path that another function is called like": """
(mesh (x 2))
(defn h (a) (let ((c (add a 1.0))) (exp c)))
(defn g (a) (tanh (h a)))
(defn g.h (a) (let ((c (add a 2.0))) (exp c)))
(defn f ((p (tensor f32 [4]))) (repeat (layer i 3) ((x p)) (g.h (g x))))""",
    "a name that another parameter is called like": """
(mesh (x 2))
(defn h (a) (let ((c (add a 1.0))) (exp c)))
(defn g (a) (tanh (h a)))
(defn g.h ((p (tensor f32 [4])) (c (tensor f32 [4]))) (add (g p) (g c)))""",
}


@pytest.mark.parametrize("text", SURROUNDED.values(), ids=SURROUNDED)
def test_what_depends_on_more_is_formed_anew(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    assert formed(text) == formed(text, monkeypatch)


def test_limits_hold_for_what_is_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    text = entry("(repeat (layer i 200) ((h p)) (twice h q))")
    monkeypatch.setattr(form_again, "OP_LIMIT", 300)
    monkeypatch.setattr(former, "OP_LIMIT", 300)
    found = formed(text)
    assert isinstance(found, list)
    assert found == formed(text, monkeypatch)
    assert "K032" in str(found)


def test_a_function_that_comes_to_call_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "(mesh (x 2))(defn g (a n) (if (= n 0) (h a) (add a 1.0)))(defn h (a) (add (g a 1) (g a 1)))"
        "(defn f ((p (tensor f32 [4]))) (add (h p) (g p 0)))"
    )
    found = formed(text)
    assert found == formed(text, monkeypatch)
    assert "K015" in str(found)
