"""Unused ops go, constants are copied for each use, and neither changes what a program computes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kina.frontend import constants
from kina.frontend.form import form
from kina.frontend.ir import Op, Program
from kina.frontend.reader import read
from kina.frontend.spec import check_ir
from kina.source import Source


def formed(body: str) -> Program:
    program = form(read(Source("t.kina", f"(mesh (x 4)) (defn f ((x (tensor f32 [4 4]))) {body})")))
    check_ir(program)
    return program


def kinds(program: Program) -> list[str]:
    return [op.kind for op in program.ops]


def test_unused_ops_go_unless_annotated() -> None:
    assert kinds(formed("(let ((a (exp x)) (b (tanh a))) (negate x))")) == ["negate"]
    assert kinds(formed("(let ((a (exp x)) (b (@ (tanh a) @closed))) (negate x))")) == [
        "exponential", "tanh", "negate",
    ]  # fmt: skip


def test_each_use_has_its_own_cone() -> None:
    program = formed(
        """(let ((i (iota f32 [4 4] 0)) (m (add i i)))
             (add (multiply x m) (multiply (multiply m i) (subtract x m))))"""
    )
    users = [op for op in program.ops if not program.constants.issuperset(op.results)]
    cones = [cone(program, op) for op in users]
    for left in range(len(cones)):
        for right in range(left):
            assert not cones[left] & cones[right]
    # Sharing inside a cone is kept: one iota for each of three cones.
    assert kinds(program).count("iota") == 3


def test_annotated_constants_are_ordinary_values() -> None:
    program = formed("(let ((i (@ (iota f32 [4 4] 0) @closed))) (add (multiply x i) (subtract x i)))")
    assert not program.constants
    assert kinds(program).count("iota") == 1


def test_constant_results_are_kept() -> None:
    program = formed("(let ((i (iota f32 [4 4] 0))) (values i (add x i) i))")
    assert program.results[0] == program.results[2]
    assert kinds(program) == ["iota", "iota", "add"]


def test_copies_stop_at_the_limit() -> None:
    chain = " ".join([f"(c{i} (add c{i - 1} c{i - 1}))" for i in range(1, 400)])
    uses = " ".join([f"(h{i} (multiply h{i - 1} c{i}))" for i in range(1, 400)])
    program = formed(f"(let ((c0 (iota f32 [4 4] 0)) {chain} (h0 x) {uses}) h399)")
    assert len(program.ops) < 800 + 25_000


def cone(program: Program, user: Op) -> set[int]:
    producer = {result: op for op in program.ops for result in op.results}
    waiting = [operand for operand in user.operands if operand in program.constants]
    found: set[int] = set()
    while waiting:
        op = producer[waiting.pop()]
        if op.id not in found:
            found.add(op.id)
            waiting.extend(op.operands)
    return found


def meaning(program: Program) -> list[str]:
    """Each result as a formula over the parameters, which copying must not change."""
    formulas = {value: program.values[value].name for value in program.parameters}
    for op in program.ops:
        text = f"{op.kind}{dict(op.attributes)}({','.join([str(hash(formulas[o])) for o in op.operands])})"
        formulas.update(dict.fromkeys(op.results, text))
    return [formulas[result] for result in program.results]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30), st.booleans()), min_size=1, max_size=25))
def test_copying_changes_no_meaning(plan: list[tuple[int, int, bool]]) -> None:
    bindings = ["(v0 x)", "(v1 (iota f32 [4 4] 0))"]
    for left, right, swap in plan:
        count = len(bindings)
        kind = "add" if swap else "multiply"
        bindings.append(f"(v{count} ({kind} v{left % count} v{right % count}))")
    program = formed(f"(let ({' '.join(bindings)}) v{len(bindings) - 1} v{len(bindings) // 2})")
    raw = Program(**{name: getattr(program, name) for name in Program.__slots__})
    again = constants.separate_constants(raw)
    assert meaning(again) == meaning(program)
    assert len({value.name for value in again.values}) == len(again.values)
    check_ir(again)
