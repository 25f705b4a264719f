"""The ten most common conflicts: the first help of the message repairs the program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kina import cli, pipeline
from kina.datalog.proofs import Prover
from kina.datalog.tables import Row
from kina.diagnose import repairs
from kina.diagnose.conflicts import causes, conflicts
from kina.diagnose.edits import apply_edits, overlap
from kina.diagnose.repairs import Tried
from kina.diagnose.solved import Solved, solve_program
from kina.diagnostics.finding import Edit, ProofStep
from kina.pipeline import Options, check
from kina.source import Source, Span
from tests.command import ROOT

X = "(mesh (x 4))\n"
XY = "(mesh (x 2) (y 2))\n"
T = "(tensor f32 [8 8])"

CONFLICTS = {
    "operands of an add on different dims": X
    + f"(defn f ((a {T} @sharded(axis=0)) (b {T} @sharded(axis=1))) (add a b))",
    "operands of an add on different axes": XY
    + f"(defn f ((a {T} @sharded(axis=0, mesh=x)) (b {T} @sharded(axis=0, mesh=y))) (add a b))",
    "rows and columns of a product on one axis": X
    + f"(defn f ((a {T} @sharded(axis=0)) (b {T} @sharded(axis=1))) (matmul a b))",
    "batch and weights on one axis in a layer": X
    + "(defn f ((h (tensor f32 [8 16]) @sharded(axis=0)) (w (tensor f32 [16 32]) @sharded(axis=1)))\n"
    "  (gelu (matmul h w)))",
    "a bias on the axis of the batch": X
    + f"(defn f ((h {T} @sharded(axis=0)) (b (tensor f32 [8]) @sharded(axis=0))) (add h b))",
    "parts of a concatenation": X
    + "(defn f ((a (tensor f32 [8 8 2]) @sharded(axis=0)) (b (tensor f32 [8 8 2]) @sharded(axis=1)))\n"
    "  (concatenate a b 2))",
    "queries on heads, keys on the batch": X
    + "(defn f ((q (tensor f32 [8 16 4 8]) @sharded(axis=2)) (k (tensor f32 [8 16 4 8]) @sharded(axis=0)))\n"
    '  (einsum "bqhd,bkhd->bhqk" q k))',
    "branches of a select": X
    + f"(defn f ((p (tensor bool [8 8])) (a {T} @sharded(axis=0)) (b {T} @sharded(axis=1))) (select p a b))",
    "a residual on the sequence, weights on the heads": X
    + "(defn f ((x (tensor f32 [8 32 64]) @sharded(axis=1)) (w (tensor f32 [64 4 16]) @sharded(axis=1)))\n"
    '  (einsum "bsd,dhe->bshe" x w))',
    "the same in each of many layers": X + "(defn f ((x (tensor f32 [8 64]) @sharded(axis=0)))\n"
    "  (repeat (layer i 4) ((x x)) :params ((w (tensor f32 [64 64]) @sharded(axis=1))) (matmul x w)))",
}


#: More than one annotation asks for the same, or more than one tensor is asked for two things.
ENTANGLED = {
    "queries, keys and values on heads, the residual on the sequence": X
    + "(defn f ((x (tensor f32 [8 32 64]) @sharded(axis=1))\n"
    "         (wq (tensor f32 [64 4 16]) @sharded(axis=1))\n"
    "         (wk (tensor f32 [64 4 16]) @sharded(axis=1))\n"
    "         (wv (tensor f32 [64 4 16]) @sharded(axis=1)))\n"
    '  (values (einsum "bsd,dhe->bshe" x wq) (einsum "bsd,dhe->bshe" x wk) (einsum "bsd,dhe->bshe" x wv)))',
    "the sum of what two annotations ask for": X
    + f"(defn f ((a {T} @sharded(axis=0)) (b {T} @sharded(axis=0))\n"
    f"         (c {T} @sharded(axis=1)) (d {T} @sharded(axis=1)))\n"
    "  (multiply (add a b) (add c d)))",
    "an annotation inside": X
    + f"(defn f ((a {T} @sharded(axis=0)) (b {T}))\n  (add a (@ (exp b) @sharded(axis=1))))",
}


@pytest.fixture
def case(tmp_path: Path) -> Path:
    return tmp_path / "case.kina"


@pytest.mark.parametrize(
    "text", [*CONFLICTS.values(), *ENTANGLED.values()], ids=[*CONFLICTS.keys(), *ENTANGLED.keys()]
)
def test_the_first_help_repairs_it(text: str, case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case.write_text(text, encoding="utf-8")
    assert cli.run(["check", str(case), "--format", "json"]) == 1
    (conflict,) = [each for each in findings(capsys) if each["severity"] == "error"]
    assert conflict["code"] == "K201"
    assert conflict["helps"][0]["verified"]
    annotated = {(label["line"], label["column"]) for label in conflict["labels"]}
    given = {(at["line"], at["column"]) for step in conflict["proof"] if (at := step["given_at"])}
    assert len(given) >= 2
    assert given <= annotated
    assert cli.run(["check", str(case), "--fix", "1", "--format", "json"]) == 0
    assert [each["code"] for each in findings(capsys) if each["severity"] == "error"] == []


def findings(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Those of the report that was printed last; before it may stand which help was applied."""
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out.splitlines()[-1])["findings"]
    return found


TWO_CAUSES = (
    XY + f"(defn f ((a {T} @sharded(axis=0, mesh=x)) (b {T} @sharded(axis=1, mesh=x))\n"
    f"         (c {T} @sharded(axis=0, mesh=y)) (d {T} @sharded(axis=1, mesh=y)))\n"
    "  (values (add a b) (add c d)))"
)


def test_each_cause_is_a_finding_and_their_first_helps_repair_all() -> None:
    source = Source("case.kina", TWO_CAUSES)
    one, two = check(source, Options()).findings
    assert {one.code, two.code} == {"K201"}
    assert "together with the first help of the other conflict" in one.helps[0].message
    edits = (*one.helps[0].edits, *two.helps[0].edits)
    assert check(apply_edits(source, edits), Options()).ok
    assert not check(apply_edits(source, one.helps[0].edits), Options()).ok


def test_all_that_ask_for_the_same_give_way_together() -> None:
    source = Source("case.kina", ENTANGLED["the sum of what two annotations ask for"])
    (finding,) = check(source, Options()).findings
    assert any("`a` and `b` give way to `c` and `d`" in help_.message for help_ in finding.helps)
    assert len(finding.labels) == 4


def test_what_depends_on_a_conflict_is_counted_by_place() -> None:
    text = X + f"(defn f ((a {T} @sharded(axis=0)) (b {T} @sharded(axis=1)))\n  (gelu (exp (add a b))))"
    (finding,) = check(Source("case.kina", text), Options()).findings
    assert finding.notes == ("2 more findings depend on this one (`exp` at 3:9, `gelu` at 3:3)",)


def test_a_layer_that_is_repeated_is_named_once() -> None:
    (finding,) = check(Source("case.kina", CONFLICTS["the same in each of many layers"]), Options()).findings
    assert any("`layer[…].w`" in help_.message for help_ in finding.helps)


def test_a_deep_training_step_takes_no_more_proofs_than_one_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings of repeated layers are set apart before they are proved; nothing gives way to itself."""
    proved: list[object] = []
    prove = Prover.prove

    def counted(self: Prover, relation: str, columns: Row) -> tuple[ProofStep, ...]:
        proved.append((relation, columns))
        return prove(self, relation, columns)

    monkeypatch.setattr(Prover, "prove", counted)
    text = (ROOT / "examples" / "gpt_train_tensor.kina").read_text(encoding="utf-8")
    text = text.replace("(tensor i32 [batch length]))", "(tensor i32 [batch length]) @sharded(axis=1))", 1)
    counts = []
    for layers in (1, 3):
        proved.clear()
        program = text.replace("(layer i 1)", f"(layer i {layers})")
        conflict, *others = check(Source("case.kina", program), Options()).findings
        counts.append(len(proved))
        assert conflict.helps[0].verified
        assert conflict.helps[0].message.startswith(
            "let `tokens` give way to `gpt.layer[…].wq` and `gpt.layer[…].w_up`; the plan then has"
        )
        assert [each.code for each in others] == ["K202"]
    assert counts[0] == counts[1] <= 6


def test_many_conflicts_take_few_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first repairs of all are tried together; where there are many, only some findings have more."""
    runs: list[object] = []
    solve = pipeline._attempt

    def counted(source: Source, changed: Source, options: Options) -> Solved:
        runs.append(changed)
        return solve(source, changed, options)

    monkeypatch.setattr(pipeline, "_attempt", counted)
    count = 6
    parameters = "".join(
        f"\n (b{i} (tensor f32 [8 {8 + 4 * i}]) @sharded(axis=1))"
        f" (c{i} (tensor f32 [8 {8 + 4 * i}]) @sharded(axis=0))"
        for i in range(count)
    )
    sums = " ".join(f"(add (exp b{i}) (exp c{i}))" for i in range(count))
    source = Source("case.kina", X + f"(defn f ({parameters})\n (values {sums}))\n")
    findings = check(source, Options()).findings
    assert [each.code for each in findings] == ["K201"] * count
    assert [len(each.helps) for each in findings] == [5, 5, 5, 1, 1, 1]
    assert len(runs) <= 3 * 6
    assert all(
        each.helps[0].message.endswith("more are tried when fewer conflicts are left")
        for each in findings[3:]
    )
    edits = [edit for each in findings for edit in each.helps[0].edits]
    assert check(apply_edits(source, edits), Options()).ok


def test_a_first_repair_that_fails_gives_way_to_the_next() -> None:
    """The other causes keep theirs, and where the runs do not tell causes apart each is tried alone."""
    parameters = "".join(
        f"(b{size} (tensor f32 [8 {size}]) @sharded(axis=1))"
        f" (c{size} (tensor f32 [8 {size}]) @sharded(axis=0))"
        for size in (8, 12)
    )
    source = Source("case.kina", X + f"(defn f ({parameters}) (values (add b8 c8) (add b12 c12)))")
    case = solve_program(pipeline.build(source, Options()), "auto").case
    groups = causes(case, conflicts(case))
    first, second = (list(repairs._candidates(case, group)) for group in groups)
    left = frozenset(conflict.fact for conflict in groups[1])
    tried: list[tuple[Edit, ...]] = []

    def second_passes(edits: tuple[Edit, ...]) -> Tried:
        tried.append(edits)
        return Tried(True) if set(second[1].edits) <= set(edits) else Tried(False, left)

    assert repairs._first_repairs(case, groups, second_passes) == ([first[0], second[1]], True)
    assert tried == [first[0].edits + second[0].edits, first[0].edits + second[1].edits]
    assert repairs._first_repairs(case, groups, lambda _: Tried(False)) == ([None, None], False)


def test_edits_of_one_place_are_not_put_together() -> None:
    source = Source("t.kina", "(exp a)")
    one, other = Edit(Span(source, 1, 4), "tanh"), Edit(Span(source, 0, 7), "a")
    assert overlap((one, other))
    assert overlap((one, Edit(one.span, "sine")))
    assert overlap((Edit(Span(source, 5, 5), "b "), Edit(Span(source, 5, 5), "c ")))
    assert not overlap((one, one))
    assert not overlap((one, Edit(Span(source, 4, 7), " b)")))
