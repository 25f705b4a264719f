"""Formation: names, scopes, calls, repetitions, compile-time arithmetic, files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina.diagnostics.finding import Finding, ProgramError, SetupError
from kina.frontend import former
from kina.frontend.form import form
from kina.frontend.ir import Program
from kina.frontend.reader import load, read
from kina.frontend.spec import check_ir
from kina.source import Source

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.kina"))
MESH = "(mesh (x 4))\n"


def formed(text: str, **options: object) -> Program:
    program = form(read(Source("t.kina", text)), **options)  # type: ignore[arg-type]
    check_ir(program)
    return program


def faults(text: str) -> list[Finding]:
    with pytest.raises(ProgramError) as caught:
        form(read(Source("t.kina", text)))
    for finding in caught.value.findings:
        assert finding.primary is not None
        assert finding.primary.source.name == "t.kina"
    return list(caught.value.findings)


def fault(text: str) -> Finding:
    findings = faults(text)
    assert len(findings) == 1
    return findings[0]


def shown(finding: Finding) -> tuple[str, str]:
    assert finding.primary is not None
    return finding.code, finding.primary.text


def names(program: Program) -> list[str]:
    return [program.values[result].name for op in program.ops for result in op.results]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_form(path: Path) -> None:
    program = form(read(load(str(path))))
    check_ir(program)
    assert program.ops


def test_values_are_named_by_where_they_stand() -> None:
    program = formed(
        MESH
        + """(defn double (y) (let ((twice (add y y))) (exp twice)))
        (defn f ((x (tensor f32 [8])))
          (let ((h (double x))
                (z (negate (double h))))
            (add (add z z) h)))"""
    )
    assert program.values[program.parameters[0]].name == "f.x"
    assert names(program) == ["double.twice", "f.h", "double#2.twice", "f.double", "f.z", "f.add", "f.add#2"]


def test_a_name_let_go_is_given_again() -> None:
    program = formed(MESH + "(defn f ((x (tensor f32 [8]))) (let ((a (exp x)) (a (exp a))) (exp a)))")
    assert names(program) == ["f.a", "f.a#2", "f.exp"]


def test_repetitions_have_parameters_of_their_own() -> None:
    program = formed(
        """(mesh (m 2)) (define d 4)
        (defn f ((x (tensor f32 [8 d])))
          (repeat (layer i 3) ((h x))
            :params ((w (tensor f32 [d (* 2 d)]) @sharded(axis=1)) (v (tensor f32 [(* 2 d) d])))
            :at ((1 (v @sharded(axis=1))) ((- 3 1) (v @closed)))
            (let ((t (matmul h w)))
              (repeat (head j i) ((y (matmul t v))) :params ((g (tensor f32 [d]))) (multiply y g)))))"""
    )
    assert [program.values[p].name for p in program.parameters] == [
        "f.x", "layer[0].w", "layer[0].v", "layer[1].w", "layer[1].v", "layer[1].head[0].g",
        "layer[2].w", "layer[2].v", "layer[2].head[0].g", "layer[2].head[1].g",
    ]  # fmt: skip
    assert "layer[2].t" in names(program)
    given = {(program.values[a.value].name, a.kind, a.dim) for a in program.annotations}
    assert given == {
        ("layer[0].w", "sharded", 1), ("layer[1].w", "sharded", 1), ("layer[2].w", "sharded", 1),
        ("layer[1].v", "sharded", 1), ("layer[2].v", "closed", None),
    }  # fmt: skip


def test_repeat_carries_several_values() -> None:
    program = formed(
        MESH
        + """(defn f ((x (tensor f32 [8])))
          (let (((a b) (repeat (fibonacci i 3) ((a x) (b (exp x))) (values b (add a b)))))
            (subtract a b)))"""
    )
    assert [op.kind for op in program.ops] == ["exponential", "add", "add", "add", "subtract"]


def test_functions_are_specialised_to_their_arguments() -> None:
    program = formed(
        MESH
        + """(defn widen (x n) (broadcast x [n (shape x 0)] [1]))
        (defn f ((x (tensor f32 [8])) (y (tensor f32 [3]))) (values (widen x 2) (widen y :n 5)))"""
    )
    assert [str(program.type_of(result)) for result in program.results] == ["f32[2,8]", "f32[5,3]"]


def test_library_code_has_the_place_of_the_call() -> None:
    text = MESH + "(defn mine (x) (exp x))\n(defn f ((x (tensor f32 [8 8]))) (softmax (mine x)))"
    program = formed(text)
    assert {op.span.text for op in program.ops} == {"(exp x)", "(softmax (mine x))"}


def test_let_shadows_until_its_end() -> None:
    program = formed(MESH + "(defn f ((x (tensor f32 [8]))) (add (let ((x (exp x))) (negate x)) (tanh x)))")
    tanh = next(op for op in program.ops if op.kind == "tanh")
    assert tanh.operands == program.parameters


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(+ 1 2 3)", 6), ("(- 3)", -3), ("(- 9 2 3)", 4), ("(* 2 3 4)", 24), ("(/ 12 4)", 3),
        ("(% 14 4)", 2),
        ("(** 2 5)", 32), ("(shape x 1)", 6), ("(* (rank x) 4)", 8), ("(if (= (dtype x) f32) 1 2)", 1),
        ("(if (< 2 1) (/ 1 0) 7)", 7), ("(if (tensor? x) 5 6)", 5),
        ("(let ((a 2) ((b c) [3 4])) (+ a b c))", 9),
        ("(if (>= 2 2) 1 2)", 1), ("(if (= [1 2] (shape x)) 1 2)", 2), ("(if true 1 2)", 1),
    ],
)  # fmt: skip
def test_compile_time_arithmetic(expression: str, value: int) -> None:
    text = f"{MESH}(defn f ((x (tensor f32 [3 6]))) (broadcast_to (exp (sum x)) [(+ 100 {expression})]))"
    assert formed(text).type_of(formed(text).results[0]).shape == (100 + value,)


@settings(max_examples=100, deadline=None)
@given(
    st.recursive(
        st.integers(-50, 50).map(str),
        lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
        max_leaves=8,
    )
)
def test_whole_arithmetic_is_exact(expression: str) -> None:
    def value(tokens: list[str]) -> int:
        token = tokens.pop(0)
        if token != "(":
            return int(token)
        operator, left, right = tokens.pop(0), value(tokens), value(tokens)
        tokens.pop(0)
        return left + right if operator == "+" else left - right if operator == "-" else left * right

    expected = value(expression.replace("(", "( ").replace(")", " )").split())
    text = f"(define got {expression}) (define same (= got {expected})) {MESH}"
    formed(text + "(defn f ((x (tensor f32 [(if same 2 -1)]))) x)")


@pytest.mark.parametrize(
    ("body", "code", "place"),
    [
        ("(add x y)", "K010", "y"),
        ("(ad x x)", "K011", "ad"),
        ("(x x)", "K011", "x"),
        ("(add x exp)", "K010", "exp"),
        ("(linear x)", "K012", "(linear x)"),
        ("(relu x x)", "K012", "(relu x x)"),
        ("(relu x :y 1)", "K013", ":y 1"),
        ("(relu x :x x)", "K014", ":x x"),
        ("(let (((a b) (exp x))) a)", "K026", "((a b) (exp x))"),
        ("(let ((a (values x x))) a)", "K026", "a"),
        ("(values (values x x) x)", "K026", "(values x x)"),
        ("(values x 1)", "K028", "(values x 1)"),
        ("(+ x 1)", "K021", "x"),
        ("(reshape x [x])", "K021", "x"),
        ("(if x x x)", "K021", "x"),
        ("(shape x 2)", "K021", "2"),
        ("(let ((a (/ 7 2))) x)", "K022", "(/ 7 2)"),
        ("(let ((a (/ 7 0))) x)", "K022", "(/ 7 0)"),
        ("(let ((a (% 7 0))) x)", "K022", "(% 7 0)"),
        ("(let ((a (** 10 30))) x)", "K022", "(** 10 30)"),
        ("(let ((a (** -1.0 0.5))) x)", "K022", "(** -1.0 0.5)"),
        ("(let ((a (* 4000000000 4000000000))) x)", "K022", "(* 4000000000 4000000000)"),
        ("(repeat (l i -1) ((h x)) h)", "K032", "-1"),
        ("(repeat (l i x) ((h x)) h)", "K021", "x"),
        ("(repeat (l i 2) ((h x)) (values h h))", "K026", "(values h h)"),
        ("(repeat (l i 2) ((h x) (h x)) (values h h))", "K014", "h"),
        ("(repeat (l i 2) ((h x)) :params (w) h)", "K027", "w"),
        ("(repeat (l i 2) ((h x)) :params ((w (tensor f32 [2]))) :at ((2 (w @closed))) h)", "K021", "2"),
        ("(repeat (l i 2) ((h x)) :params ((w (tensor f32 [2]))) :at ((1 (v @closed))) h)", "K010", "v"),
        ("(repeat (l i 2) ((h x)) :params ((w (tensor f9 [2]))) h)", "K016", "f9"),
        ("(rank x)", "K034", "(rank x)"),
        ("(grad relu x)", "K033", "(grad relu x)"),
        ("(@ 1 @closed)", "K413", "@closed"),
        ("(@ (values x x) @closed)", "K413", "@closed"),
    ],
)
def test_faults_of_expressions(body: str, code: str, place: str) -> None:
    assert shown(fault(f"{MESH}(defn f ((x (tensor f32 [8 8]))) {body})")) == (code, place)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("(defn f ((x (tensor f32 [8]))) x)", "K019", "f"),
        ("(mesh) (defn f ((x (tensor f32 [8]))) x)", "K020", "(mesh)"),
        ("(mesh (x 0)) (defn f ((x (tensor f32 [8]))) x)", "K020", "0"),
        ("(mesh (x 2000) (y 2000)) (defn f ((x (tensor f32 [8]))) x)", "K020", "(mesh (x 2000) (y 2000))"),
        (MESH, "K018", ""),
        (MESH + "(mesh (y 1)) (defn f ((x (tensor f32 [8]))) x)", "K031", "(mesh (y 1))"),
        (MESH + "(defn f (x) x)", "K027", "x"),
        (MESH + "(defn f ((x (tensor f32 [-1]))) x)", "K029", "-1"),
        (MESH + "(defn f ((x (tensor f32 [2147483648]))) x)", "K029", "2147483648"),
        (MESH + "(defn f ((x (tensor f32 [1.5]))) x)", "K021", "1.5"),
        (MESH + "(defn f ((x (tensor q8 [1]))) x)", "K016", "q8"),
        (MESH + "(defn f ((x (tensor f32 [1])) (x (tensor f32 [1]))) x)", "K014", "x"),
        (MESH + "(defn f ((x (tensor f32 [1]))) x) (defn f ((x (tensor f32 [1]))) x)", "K014", "f"),
        (MESH + "(define f 1) (defn f ((x (tensor f32 [1]))) x)", "K014", "f"),
        (MESH + "(defn let ((x (tensor f32 [1]))) x)", "K030", "let"),
        (MESH + "(define n (+ m 1)) (define m 1) (defn f ((x (tensor f32 [n]))) x)", "K010", "m"),
        (MESH + "(defn g (x) (h x)) (defn f ((x (tensor f32 [1]))) x)", "K011", "h"),
        (MESH + "(defn g (x) (let ((y x)) z)) (defn f ((x (tensor f32 [1]))) x)", "K010", "z"),
        (MESH + "(defn g (x) (g x)) (defn f ((x (tensor f32 [1]))) x)", "K015", "(g x)"),
        (MESH + "(defn f ((x (tensor f32 [1]))) (f x))", "K015", "(f x)"),
        (MESH + "(defn g ((x (tensor f32 [2]))) x) (defn f ((x (tensor f32 [1]))) (g x))", "K023", "x"),
        (MESH + "(defn g ((x (tensor f32 [2]))) x) (defn f ((x (tensor f32 [1]))) (g 1))", "K028", "1"),
        ('(import "/tmp/a.kina") (defn f ((x (tensor f32 [1]))) x)', "K024", '(import "/tmp/a.kina")'),
    ],
)
def test_faults_of_files(text: str, code: str, place: str) -> None:
    assert shown(fault(text)) == (code, place)


def test_an_unknown_name_is_met_by_the_nearest_one() -> None:
    finding = fault(MESH + "(defn f ((width (tensor f32 [8 8]))) (exp witdh))")
    assert finding.helps[0].message == "the nearest name is `width`"
    finding = fault(MESH + "(defn f ((x (tensor f32 [8 8]))) (sofmax x))")
    assert finding.helps[0].message == "the nearest name is `softmax`"


def test_a_cycle_of_calls_is_shown() -> None:
    finding = fault(
        MESH
        + "(defn a (x) (b x)) (defn b (x) (c x)) (defn c (x) (a x)) (defn f ((x (tensor f32 [8]))) (b x))"
    )
    assert finding.message == "functions call themselves: `b` → `c` → `a` → `b`"


def test_a_fault_inside_a_function_shows_the_call() -> None:
    text = MESH + "(defn g (x) (matmul x x))\n(defn f ((x (tensor f32 [2 3]))) (g x))"
    finding = fault(text)
    assert finding.primary is not None
    assert finding.primary.text == "(matmul x x)"
    assert [label.span.text for label in finding.labels if label.message == "called here"] == ["(g x)"]


def test_a_fault_of_the_library_below_a_function_of_the_user() -> None:
    finding = fault(MESH + "(defn g (x) (softmax x 9))\n(defn f ((x (tensor f32 [2 3]))) (g x))")
    assert finding.primary is not None
    assert finding.primary.text == "(softmax x 9)"
    assert [label.span.text for label in finding.labels if label.message == "called here"] == ["(g x)"]


def test_a_dtype_can_be_a_constant() -> None:
    program = formed(MESH + "(define kind bf16) (defn f ((x (tensor kind [2]))) (cast x f32))")
    assert program.type_of(program.parameters[0]).dtype == "bf16"


def test_long_programs_take_little_time_for_each_op() -> None:
    unnamed = " ".join(["(add x x)"] * 1500)
    named = " ".join([f"(h{i} (add x x))" for i in range(1500)])
    program = formed(f"{MESH}(defn f ((x (tensor f32 [2]))) (let ((all [1]) {named}) {unnamed} h7))")
    assert program.values[program.results[1499]].name == "f.add#1500"
    assert program.values[program.results[1500]].name == "f.h7"


def test_a_fault_inside_the_library_stands_at_the_call() -> None:
    finding = fault(
        MESH + "(defn f ((x (tensor f32 [2 3 4 5])) (k (tensor f32 [2 3 3 5]))) (attention x k k))"
    )
    assert shown(finding) == ("K022", "(attention x k k)")
    assert any("library" in note for note in finding.notes)


def test_long_chains_of_calls_are_refused_in_order() -> None:
    chain = "".join([f"(defn f{i} (x) ({'exp' if i == 0 else f'f{i - 1}'} x))\n" for i in range(400)])
    assert fault(f"{MESH}{chain}(defn f ((x (tensor f32 [8]))) (f399 x))").code == "K017"
    assert formed(f"{MESH}{chain}(defn f ((x (tensor f32 [8]))) (f99 x))").ops[0].kind == "exponential"


def test_growth_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(former, "STEP_LIMIT", 10_000)
    doubling = "".join(
        [f"(defn f{i} (x) {'x' if i == 0 else f'(f{i - 1} (f{i - 1} x))'})\n" for i in range(40)]
    )
    text = f"{MESH}{doubling}(defn f ((x (tensor f32 [8]))) (f39 x))"
    assert fault(text).code == "K032"


def test_names_may_hold_anything() -> None:
    program = formed(
        "(mesh (|data axis| 2))"
        '(defn |f "1"\t| ((|é\n| (tensor f32 [8]) @sharded(axis=0, mesh=|data axis|))) (exp |é\n|))'
    )
    assert program.values[0].name == 'f "1"\t.é\n'
    assert program.annotations[0].axes == ("data axis",)


def test_entry_and_mesh_can_be_chosen() -> None:
    text = (
        "(mesh (a 2) (b 3)) (defn g ((x (tensor f32 [8]))) (exp x)) (defn f ((x (tensor f32 [8]))) (tanh x))"
    )
    assert formed(text).ops[0].kind == "tanh"
    program = formed(text, entry="g", mesh={"b": 5})
    assert program.ops[0].kind == "exponential"
    assert [(axis.name, axis.size) for axis in program.mesh.axes] == [("a", 2), ("b", 5)]
    with pytest.raises(SetupError, match="no function `h`"):
        formed(text, entry="h")
    with pytest.raises(SetupError, match="no axis `c`"):
        formed(text, mesh={"c": 2})
    with pytest.raises(SetupError, match="size 0"):
        formed(text, mesh={"a": 0})


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "layers.kina").write_text('(import "../base.kina") (defn two (x) (one (one x)))')
    (tmp_path / "base.kina").write_text("(mesh (m 2)) (define n 3) (defn one (x) (exp x))")
    main = tmp_path / "main.kina"
    main.write_text('(import "sub/layers.kina") (import "base.kina") (defn f ((x (tensor f32 [n]))) (two x))')
    program = form(read(load(str(main))))
    assert names(program) == ["two.one", "f.two"]
    assert program.mesh.devices == 2


def test_imports_that_fail(tmp_path: Path) -> None:
    (tmp_path / "a.kina").write_text('(import "b.kina") (defn g (x) x)')
    (tmp_path / "b.kina").write_text('(import "a.kina") (defn h (x) x)')
    (tmp_path / "bytes.kina").write_bytes(b"\xff")
    (tmp_path / "clash.kina").write_text("(defn f (x) x)")
    expected = {
        "a.kina": "K025",
        "absent.kina": "K024",
        "bytes.kina": "K005",
        "clash.kina": "K014",
        ".": "K024",
    }
    for imported, code in expected.items():
        main = tmp_path / "main.kina"
        main.write_text(f'(mesh (x 2)) (import "{imported}") (defn f ((x (tensor f32 [2]))) x)')
        with pytest.raises(ProgramError) as caught:
            form(read(load(str(main))))
        assert caught.value.findings[0].code == code
