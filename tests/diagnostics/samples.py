"""Findings made by hand, one for each thing that a renderer can get wrong."""

from __future__ import annotations

from collections.abc import Callable

from kina.diagnostics.finding import Edit, Finding, Help, Label, ProofStep
from kina.source import Source, Span

RESIDUAL = Source(
    "residual.kina",
    """(mesh (x 4))

(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))
         (b (tensor f32 [8 8]) @sharded(axis=1)))
  (let ((p (exp a))
        (q (exp b)))
    (add p q)))
""",
)


def at(source: Source, text: str, occurrence: int = 0) -> Span:
    """The span of an occurrence of `text`."""
    start = -1
    for _ in range(occurrence + 1):
        start = source.text.index(text, start + 1)
    return Span(source, start, start + len(text))


def two_requests() -> list[Finding]:
    first, second = at(RESIDUAL, "@sharded(axis=0)"), at(RESIDUAL, "@sharded(axis=1)")
    add = at(RESIDUAL, "(add p q)")
    follow, here = "elementwise.follow-operand", "rules/elementwise.dl:12"
    ask = "the result of `add` is asked for `x` on dims 0 and 1"
    steps = (
        ProofStep(
            0, "contested", ("f.add", 0, 1), ask, "conflict.two-dims", "rules/conflict.dl:31", None, (1, 2, 5)
        ),
        ProofStep(1, "on", ("f.p", 0, "x"), "`p` dim 0 is on `x`", follow, here, None, (3,)),
        ProofStep(2, "on", ("f.q", 1, "x"), "`q` dim 1 is on `x`", follow, here, None, (4,)),
        ProofStep(3, "given_sharded", ("f.a", 0, "x", 0), "`a` dim 0 is on `x`", given_at=first),
        ProofStep(4, "given_sharded", ("f.b", 1, "x", 0), "`b` dim 1 is on `x`", given_at=second),
        ProofStep(5, "op_kind", ("f.add", "add"), "`f.add` is an `add`", hidden=True),
    )
    moves = "say which the result shall have; `q` then moves by one all_to_all, 128 bytes"
    priority = Edit(Span(RESIDUAL, second.end - 1, second.end - 1), ", priority=1")
    return [
        Finding(
            "K201",
            "error",
            "`add` is asked to put `x` on two dims of its result",
            add,
            "one axis can split one dim only",
            (Label(first, "asks for dim 0"), Label(second, "asks for dim 1")),
            ("two more places ask the same",),
            (
                Help(moves, (Edit(add, "(@ (add p q) @sharded(axis=0))"),), True),
                Help("let `b` give way, at the same cost", (priority,), True),
                Help("or leave the result whole"),
            ),
            steps,
            "conflict.two-dims",
            ("kina explain K201", "kina why residual.kina q.1@x"),
        )
    ]


def awkward_text() -> list[Finding]:
    source = Source(
        "café.kina",
        "(defn f ((重み (tensor f32 [8])))\n\t(add 重み\t|a\x1b[31mb\u202e|)) ; e\u0301 combines\n",
    )
    return [
        Finding(
            "K011",
            "error",
            "`a\x1b[31mb` is no value",
            at(source, "|a\x1b[31mb\u202e|"),
            "not defined",
            (
                Label(at(source, "重み", 1), "this one is"),
                Label(at(source, "combines"), "after a combining accent"),
            ),
        )
    ]


def several_lines() -> list[Finding]:
    source = Source("long.kina", "(let ((a 1)\n      (b 2))\n  (add\n    a\n    b\n    c\n    d\n    e))\n")
    whole = Span(source, 0, len(source.text) - 1)
    add = Span(source, source.text.index("(add"), len(source.text) - 2)
    return [
        Finding(
            "K101",
            "error",
            "shapes differ",
            add,
            "this does not end",
            (Label(whole, "in this"), Label(at(source, "b 2"), "bound")),
        )
    ]


def long_line() -> list[Finding]:
    words = " ".join(f"operand{number:02}" for number in range(40))
    source = Source("wide.kina", f"(concatenate {words} :dimension 0)\n")
    edit = Edit(at(source, "operand20"), "(exp operand20)")
    return [
        Finding(
            "K104",
            "error",
            "one operand of `concatenate` has rank 1 and the others have rank 2, which do not go together",
            at(source, "operand20"),
            "f32[8]",
            (
                Label(
                    at(source, "operand22"),
                    "f32[8,8], like all that stand before it and after it in this form",
                ),
            ),
            helps=(Help("apply `exp`, for the sake of a long help that has to be wrapped", (edit,), True),),
        )
    ]


def other_files() -> list[Finding]:
    library = Source("lib/blocks.kina", "(defn g (y)\n  (exp y))\n")
    main = Source("main.kina", '(import "lib/blocks.kina")\n(defn f ((x (tensor i32 [4]))) (g x))\n')
    edits = (Edit(at(main, "i32"), "f32"), Edit(at(library, "  (exp y)"), "  ; floats only\n  (exp y)"))
    return [
        Finding(
            "K102",
            "warning",
            "`exp` takes floats",
            at(main, "(g x)"),
            "called here",
            (Label(at(library, "(exp y)"), "used here"),),
            helps=(Help("declare it so", edits),),
        ),
        Finding("K900", "note", "no place is concerned", None, notes=("nothing more is known",)),
    ]


def chain(length: int = 90, period: int = 1) -> list[Finding]:
    given = at(RESIDUAL, "@sharded(axis=0)")
    rules = ("elementwise.follow-operand", "contraction.forward", "layout.follow-reshape")
    steps = [
        ProofStep(
            i,
            "on",
            (f"h{i}", 0, "x"),
            f"`h{i}` dim 0 is on `x`",
            rules[i % period],
            "rules/a.dl:7",
            None,
            (i + 1,),
        )
        for i in range(length)
    ]
    steps.append(ProofStep(length, "given_sharded", ("a", 0, "x"), "`a` dim 0 is on `x`", given_at=given))
    return [Finding("K310", "note", "a long chain", given, proof=tuple(steps))]


def shared_steps() -> list[Finding]:
    given = at(RESIDUAL, "@sharded(axis=0)")
    steps = (
        ProofStep(0, "meet", (), "both sides meet", "conflict.meet", "rules/conflict.dl:1", None, (1, 2)),
        ProofStep(1, "left", (), "the left side is asked", "a.left", "rules/a.dl:1", None, (3,)),
        ProofStep(2, "right", (), "the right side is asked", "a.right", "rules/a.dl:2", None, (3, 5)),
        ProofStep(3, "low", (), "both come from here", "a.hidden", "rules/a.dl:3", None, (4,), hidden=False),
        ProofStep(4, "given", (), "`a` dim 0 is on `x`", given_at=given),
        ProofStep(5, "in_between", (), "never shown", "a.between", "rules/a.dl:4", None, (4, 6), hidden=True),
        ProofStep(6, "table", (), "an exception of the tables", "", "rules/a.dl:9"),
    )
    return [Finding("K201", "error", "both sides meet", given, proof=steps)]


def end_of_text() -> list[Finding]:
    source = Source("open.kina", "(defn f (")
    return [
        Finding(
            "K002",
            "error",
            "the bracket is not closed",
            Span(source, 9, 9),
            "the text ends",
            (Label(Span(source, 0, 1), "opened"),),
        )
    ]


SAMPLES: dict[str, Callable[[], list[Finding]]] = {
    "Two requests meet": two_requests,
    "Tabs, wide, combining and control characters": awkward_text,
    "Spans over several lines": several_lines,
    "A line that is too long": long_line,
    "Several files and no file": other_files,
    "A chain of alike steps": chain,
    "A chain that repeats": lambda: chain(91, 3),
    "A short chain in full": lambda: chain(5, 1),
    "Steps that are shared and hidden": shared_steps,
    "The end of the text": end_of_text,
}
