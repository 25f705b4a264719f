"""Annotations: what they come to in the IR, each of their faults, and writing layouts back as annotations."""

from __future__ import annotations

import re

import pytest

from kina.diagnose.edits import apply_edits
from kina.diagnostics.finding import Finding, ProgramError
from kina.frontend.form import form
from kina.frontend.ir import Program
from kina.frontend.printer import annotate
from kina.frontend.reader import read
from kina.frontend.spec import check_ir
from kina.pipeline import Options, check
from kina.source import Source

MESH = "(mesh (data 2) (model 4))\n"


def formed(text: str) -> Program:
    program = form(read(Source("t.kina", text)))
    check_ir(program)
    return program


def faults(text: str) -> list[Finding]:
    with pytest.raises(ProgramError) as caught:
        form(read(Source("t.kina", text)))
    return list(caught.value.findings)


def given(program: Program) -> list[tuple[object, ...]]:
    return [
        (program.values[a.value].name, a.kind, a.dim, a.axes, a.priority, a.reduction)
        for a in program.annotations
    ]


def test_each_annotation() -> None:
    program = formed(
        MESH
        + """(defn f ((a (tensor f32 [8 8]) @sharded(axis=0, mesh=(data,model), priority=2) @closed)
                 (b (tensor f32 [8 8]) @replicated)
                 (c (tensor f32 [8 8]) @replicated(mesh=model) @sharded(axis=1, mesh=data))
                 (d (tensor f32 [8 8]) @pending(mesh=data, kind=max)))
             @sharded(axis=0, mesh=model)
          (add (add a b) (add c d)))"""
    )
    assert given(program) == [
        ("f.a", "sharded", 0, ("data", "model"), 2, None),
        ("f.a", "closed", None, (), 0, None),
        ("f.b", "replicated", None, ("data", "model"), 0, None),
        ("f.c", "replicated", None, ("model",), 0, None),
        ("f.c", "sharded", 1, ("data",), 0, None),
        ("f.d", "pending", None, ("data",), 0, "max"),
        ("f.add#3", "sharded", 0, ("model",), 0, None),
    ]


def test_the_only_axis_need_not_be_named() -> None:
    program = formed("(mesh (x 4)) (defn f ((a (tensor f32 [8]) @sharded(axis=0))) (@ (exp a) @pending))")
    assert given(program) == [
        ("f.a", "sharded", 0, ("x",), 0, None),
        ("f.exp", "pending", None, ("x",), 0, "sum"),
    ]


def test_an_annotated_variable_is_a_new_value() -> None:
    program = formed(
        MESH + "(defn f ((a (tensor f32 [8 8])))"
        "(let ((b (@ a @sharded(axis=0, mesh=data)))) (add (@ b @closed) a)))"
    )
    assert [op.kind for op in program.ops] == ["reshard", "reshard", "add"]
    assert [name for name, *_ in given(program)] == ["f.b", "f.b#2"]


def test_annotations_of_a_called_function() -> None:
    program = formed(
        MESH
        + """(defn g ((x (tensor f32 [8 8]) @sharded(axis=0, mesh=data))) @sharded(axis=1, mesh=model)
            (exp x))
          (defn f ((a (tensor f32 [8 8]))) (add (g a) (g (tanh a))))"""
    )
    assert [op.kind for op in program.ops] == ["reshard", "exponential", "tanh", "exponential", "add"]
    assert [(name, dim) for name, _, dim, *_ in given(program)] == [
        ("g.x", 0), ("f.g", 1), ("f.tanh", 0), ("f.g#2", 1),
    ]  # fmt: skip


def test_the_size_is_where_its_number_is_written() -> None:
    text = "(mesh (data 8)) (define rows 17) (defn f ((E (tensor f32 [rows 16]))) (@ E @sharded(axis=0)))"
    (finding,) = faults(text)
    assert [label.span.text for label in finding.labels] == ["rows"]
    assert [edit.span.text for edit in finding.helps[0].proposed] == ["17"]
    (finding,) = faults(text.replace("[rows 16]", "[(+ rows 2) 16]"))
    assert finding.helps[0].proposed == ()


def test_the_size_that_does_not_fit() -> None:
    (finding,) = faults("(mesh (data 8)) (defn f ((E (tensor f32 [17 16]) @sharded(axis=0, mesh=data))) E)")
    assert finding.code == "K402"
    assert finding.message == "dim 0 of `E` has size 17, which `data` = 8 does not divide"
    assert finding.at == "1 of 17 is left over"
    assert [label.span.text for label in finding.labels] == ["17"]
    assert [help_.message for help_ in finding.helps] == ["sizes that fit: 16, 24"]
    assert [edit.replacement for edit in finding.helps[0].proposed] == ["24"]
    (finding,) = faults(MESH + "(defn f ((E (tensor f32 [3]) @sharded(axis=0, mesh=(data,model)))) E)")
    assert finding.message == "dim 0 of `E` has size 3, which `(data,model)` = 8 does not divide"
    assert (finding.at, finding.helps[0].message) == ("3 of 3 are left over", "sizes that fit: 8")


@pytest.mark.parametrize(
    ("annotations", "code", "place"),
    [
        ("@shard(axis=0)", "K401", "@shard(axis=0)"),
        ("@sharded(axis=0, mesh=dat)", "K403", "dat"),
        ("@sharded(axis=0, mesh=(data,x))", "K403", "x"),
        ("@sharded(axis=0, mesh=0)", "K403", "0"),
        ("@sharded(axis=0)", "K404", "@sharded(axis=0)"),
        ("@pending", "K404", "@pending"),
        ("@sharded(axis=2, mesh=data)", "K405", "@sharded(axis=2, mesh=data)"),
        ("@sharded(axis=-1, mesh=data)", "K405", "@sharded(axis=-1, mesh=data)"),
        ("@sharded(axis=0, mesh=(data,data))", "K406", "data"),
        (
            "@sharded(axis=0, mesh=data) @sharded(axis=1, mesh=(model,data))",
            "K406",
            "@sharded(axis=1, mesh=(model,data))",
        ),
        ("@sharded(axis=0, mesh=data) @pending(mesh=data)", "K406", "@pending(mesh=data)"),
        ("@replicated @sharded(axis=0, mesh=data)", "K407", "@sharded(axis=0, mesh=data)"),
        ("@sharded(axis=0, mesh=data) @sharded(axis=0, mesh=model)", "K408", "@sharded(axis=0, mesh=model)"),
        (
            "@sharded(axis=0, mesh=data) @sharded(axis=0, mesh=data, priority=1)",
            "K408",
            "@sharded(axis=0, mesh=data, priority=1)",
        ),
        ("@pending(mesh=data) @pending(mesh=data, kind=max)", "K408", "@pending(mesh=data, kind=max)"),
        ("@sharded(axis=0, mesh=data, priority=-1)", "K409", "-1"),
        ("@sharded(axis=0, mesh=data, priority=high)", "K409", "high"),
        ("@sharded(axis=0, mesh=data, priority=1.5)", "K409", "1.5"),
        ("@sharded(dim=0, mesh=data)", "K410", "dim"),
        ("@sharded(mesh=data)", "K410", "@sharded(mesh=data)"),
        ("@sharded(axis=x, mesh=data)", "K410", "x"),
        ("@sharded(axis=0, axis=1, mesh=data)", "K410", "axis"),
        ("@sharded(axis=0, mesh=())", "K410", "()"),
        ("@closed(axis=0)", "K410", "axis"),
        ("@pending(mesh=data, kind=mean)", "K411", "mean"),
        ("@pending(mesh=data, kind=(sum))", "K411", "(sum)"),
    ],
)  # fmt: skip
def test_faults(annotations: str, code: str, place: str) -> None:
    (finding,) = faults(f"{MESH}(defn f ((a (tensor f32 [8 8]) {annotations})) (exp a))")
    assert finding.primary is not None
    assert (finding.code, finding.primary.text) == (code, place)


def test_negative_dims_are_met_by_the_right_one() -> None:
    (finding,) = faults(f"{MESH}(defn f ((a (tensor f32 [8 8]) @sharded(axis=-1, mesh=data))) a)")
    assert finding.helps[0].message == "dims count from 0: the last one is 1"


def test_every_faulty_annotation_is_reported() -> None:
    findings = faults(f"{MESH}(defn f ((a (tensor f32 [9 8]) @sharded(axis=0, mesh=data))) (@ (exp a) @opn))")
    assert [finding.code for finding in findings] == ["K402", "K401"]


def test_six_axes_at_most() -> None:
    mesh = "(mesh (a 1) (b 1) (c 1) (d 1) (e 1) (f 1) (g 1))"
    (finding,) = faults(f"{mesh} (defn f ((p (tensor f32 [8]) @sharded(axis=0, mesh=(a,b,c,d,e,f,g)))) p)")
    assert finding.code == "K412"
    formed(
        f"{mesh} (defn f ((p (tensor f32 [8]) @sharded(axis=0, mesh=(a,b,c,d,e,g)))) (@ (exp p) @replicated))"
    )


def test_empty_dims_divide() -> None:
    formed(f"{MESH}(defn f ((a (tensor f32 [0 8]) @sharded(axis=0, mesh=data))) (exp a))")


def test_layouts_are_written_into_the_text() -> None:
    text = (
        MESH
        + """(defn twice (x) (exp (exp x)))
(defn f ((a (tensor f32 [8 8]) @sharded(axis=0, mesh=data)) ; kept
         (w (tensor f32 [8 8])))
  (let ((h (matmul a w))
        (k (@ h @sharded(axis=1, mesh=model))))
    (add (twice h) (twice k))))
"""
    )
    source = Source("t.kina", text)
    program = form(read(source))
    layouts: dict[int, tuple[tuple[str, ...], ...]] = {value.id: ((), ()) for value in program.values}
    by_name = {value.name: value.id for value in program.values}
    layouts[by_name["f.a"]] = (("data",), ())
    layouts[by_name["f.h"]] = (("data", "model"), ())
    layouts[by_name["f.k"]] = ((), ("model",))
    layouts[by_name["twice.exp"]] = (("data",), ())
    written = annotate(source, program, layouts)
    assert "(a (tensor f32 [8 8]) @sharded(axis=0, mesh=data) @closed) ; kept" in written
    assert "(w (tensor f32 [8 8]) @replicated)" in written
    assert "(h (@ (matmul a w) @sharded(axis=0, mesh=(data,model)) @closed))" in written
    assert "(k (@ h @sharded(axis=1, mesh=model) @closed))" in written
    # The two calls of `twice` differ inside, so nothing is said there; their results are said at the calls.
    assert "(defn twice (x) (exp (exp x)))" in written
    assert "(@ (add (@ (twice h) @replicated) (@ (twice k) @replicated)) @replicated)" in written
    again = Source("t.kina", written)
    assert annotate(again, form(read(again)), layouts) == written


def test_layouts_keep_their_priority() -> None:
    source = Source("t.kina", "(mesh (m 2)) (defn f ((x (tensor f32 [8 8]))) (exp x))")
    program = form(read(source))
    layouts = {value.id: (("m",), ()) for value in program.values}
    written = annotate(source, program, layouts, {(1, 0): 2})
    assert "(@ (exp x) @sharded(axis=0, mesh=m, priority=2) @closed)" in written
    assert "(x (tensor f32 [8 8]) @sharded(axis=0, mesh=m) @closed)" in written


def test_layouts_of_repeated_parameters_are_written_once() -> None:
    text = """(mesh (m 2)) (defn f ((x (tensor f32 [8 8])))
  (repeat (layer i 3) ((h x)) :params ((w (tensor f32 [8 8]))) (matmul h w)))"""
    source = Source("t.kina", text)
    program = form(read(source))
    layouts = {value.id: ((), ("m",)) for value in program.values}
    assert "((w (tensor f32 [8 8]) @sharded(axis=1, mesh=m) @closed))" in annotate(source, program, layouts)
    layouts[program.parameters[2]] = (("m",), ())
    assert "((w (tensor f32 [8 8])))" in annotate(source, program, layouts)


@pytest.mark.parametrize(
    ("notes", "code"),
    [
        ("@sharded(axis=0, mesh=data) @sharded(axis=1, mesh=data)", "K406"),
        ("@sharded(axis=0, mesh=data) @replicated", "K407"),
        ("@sharded(axis=0, mesh=data) @sharded(axis=0, mesh=model)", "K408"),
        ("@pending(mesh=data) @pending(mesh=data, kind=max)", "K408"),
    ],
)
def test_of_two_that_clash_either_may_go(notes: str, code: str) -> None:
    text = f"(mesh (data 2) (model 2)) (defn f ((a (tensor f32 [8 8]) {notes})) (exp a))"
    (finding,) = check(Source("t.kina", text), Options(solver="clingo")).findings
    assert finding.code == code
    first, second = re.findall(r"@\w+(?:\([^)]*\))?", notes)
    kept = [apply_edits(Source("t.kina", text), help_.edits).text for help_ in finding.helps]
    assert kept == [text.replace(notes, first), text.replace(notes, second)]
