"""Answers to questions about small programs: every reason, with its place and its words."""

from __future__ import annotations

import pytest

from kina.datalog.proof_steps import check_step
from kina.datalog.proofs import Prover
from kina.datalog.tables import Tables
from kina.diagnose.case import LARGE
from kina.diagnostics.finding import SetupError
from kina.diagnostics.style import Style
from kina.explain.answer import Answer
from kina.explain.collective import why_collective
from kina.explain.inquiry import inquire, inquire_layered
from kina.explain.names import find_target
from kina.explain.render import render_answers
from kina.explain.why import why
from kina.explain.why_not import why_not
from kina.facts.names import encode
from kina.frontend.ir import Program
from kina.pipeline import Options, build, open_source
from kina.source import Source
from tests.command import ROOT
from tests.explain.asking import quiet

TWO = "(mesh (x 2) (y 2))\n"
ONE = "(mesh (x 4))\n"

#: program, question, reason, words of the statement
REASONS = (
    (
        ONE + "(defn f ((a (tensor f32 [8 8])) (b (tensor f32 [8 8]) @sharded(axis=0)))"
        " (values (exp a) (exp b)))",
        "a.0@x",
        "nothing",
        "nothing asks for it",
    ),
    (
        ONE
        + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0)) (b (tensor f32 [8 8]) @replicated)) (add a b))",
        "b.0@x",
        "annotation",
        "its annotation says `@replicated`",
    ),
    (
        TWO + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0, mesh=x))) (exp a))",
        "a.0@y",
        "annotation",
        "its annotation says `x` and no more",
    ),
    (
        ONE + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))) (exp a))",
        "exp.1@x",
        "taken",
        "`x` splits dim 0",
    ),
    (
        ONE + "(defn f ((a (tensor f32 [8 6]) @sharded(axis=0))) (transpose a [1 0]))",
        "transpose.0@x",
        "size",
        "`x` = 4 does not divide its size 6",
    ),
    (
        "(mesh (x 4))\n(defn f ((a (tensor f32 [8]) @sharded(axis=0))) (reshape (exp a) [2 4]))",
        "reshape.1@x",
        "size",
        "parts are split",
    ),
    (
        TWO + "(defn f ((a (tensor f32 [8]) @sharded(axis=0, mesh=x)))"
        " (@ (reshape (exp a) [2 4]) @sharded(axis=0, mesh=y)))",
        "reshape.1@x",
        "size",
        "`x` splits dim 0 of `f.exp` into its first 2 parts, which do not go there",
    ),
    (
        "(mesh (x 4) (y 8))\n(defn f ((a (tensor f32 [16 2]))"
        " (c (tensor f32 [16 2]) @sharded(axis=0, mesh=y)))"
        " (@ (reshape (add a c) [8 4]) @sharded(axis=1, mesh=x)))",
        "add.0@x",
        "size",
        "only 2 elements of its minor part come from dim 1 of `f.reshape`, and `x` = 4 does not divide them",
    ),
    (
        TWO + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0, mesh=x))"
        " (b (tensor f32 [8 8]) @sharded(axis=0, mesh=y, priority=1))) (add (exp a) (exp b)))",
        "add.0@y",
        "lost",
        "the dim is on `x` already",
    ),
    (
        ONE + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0)) (b (tensor f32 [8 8]) @sharded(axis=1)))"
        " (add (exp a) (exp b)))",
        "add.1@x",
        "contested",
        "and nothing ranks them",
    ),
    (
        ONE + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=1))) (exp (sort (exp a) 1)))",
        "f.exp#2.1@x",
        "whole",
        "it stops at dim 1 of `f.sort`, where `sort` needs the dim whole",
    ),
)


def program_of(text: str) -> Program:
    return build(Source("case.kina", text), Options())


def answers(text: str, question: str, negated: bool = False) -> tuple[Answer, ...]:
    program = program_of(text)
    target = find_target(program, question)
    return (why_not if negated else why)(program, "auto", target, quiet)[1]


@pytest.mark.parametrize(("text", "question", "kind", "words"), REASONS, ids=lambda part: part[:12])
def test_each_reason(text: str, question: str, kind: str, words: str) -> None:
    (answer,) = answers(text, question, negated=True)
    assert answer.kind == kind
    assert words in answer.statement
    assert answer.holds


def test_what_is_so_has_no_reason_against_it() -> None:
    text = ONE + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))) (exp a))"
    (answer,) = answers(text, "exp.0@x", negated=True)
    assert not answer.holds
    assert answer.more == ("kina why case.kina f.exp.0@x",)


def test_what_is_not_so_has_no_proof() -> None:
    text = ONE + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=0))) (exp a))"
    (answer,) = answers(text, "exp.1")
    assert answer.statement == "dim 1 of `f.exp` is whole on every device"
    assert not answer.holds


def test_an_axis_of_one_device() -> None:
    text = "(mesh (x 4) (y 1))\n(defn f ((a (tensor f32 [8 8]) @sharded(axis=0, mesh=(x,y)))) (exp a))"
    assert [answer.statement for answer in answers(text, "a@y")] == [
        "dim 0 of `f.a` is on `y`, by its annotation"
    ]
    (answer,) = answers(text, "exp.1@y", negated=True)
    assert answer.statement.endswith("an axis of one device splits nothing")


def test_a_pending_sum_is_explained() -> None:
    text = (
        ONE + "(defn f ((a (tensor f32 [8 8]) @sharded(axis=1)) (b (tensor f32 [8 8]))\n"
        "         (c (tensor f32 [8 8]) @sharded(axis=1)) (d (tensor f32 [8 8])))\n"
        "  (let ((p (matmul a b)) (q (matmul c d))) (add p q)))"
    )
    (answer,) = answers(text, "p")
    assert answer.kind == "pending"
    assert answer.statement == "`f.p` is a pending sum over `x`"
    assert answer.evidence[0].proof[0].relation == "left_pending"


def test_a_scalar_has_no_dim() -> None:
    text = ONE + "(defn f ((a (tensor f32 []))) (exp a))"
    assert answers(text, "a", negated=True)[0].statement == "`f.a` is a scalar, which has no dim to split"


def example(name: str) -> Program:
    return build(open_source(str(ROOT / "examples" / name)), Options())


def test_a_collective_names_its_op_its_price_and_its_rule() -> None:
    _, (answer,) = why_collective(example("sequence_parallel.kina"), "auto", 1, quiet)
    text = "\n".join(answer.lines)
    assert "`einsum` takes and leaves:" in text
    assert "49,152 bytes, had since priority 0 (taken)" in text
    assert "24,576 bytes, had since priority 1" in text
    assert "choice.by-priority" in text
    assert any("3 uses share it" in note for note in answer.notes)


def test_what_was_taken_is_not_said_to_be_no_choice() -> None:
    text = """(mesh (dp 2) (tp 4))
    (defn f ((x (tensor f32 [16 64]) @sharded(axis=1, mesh=dp))
             (w (tensor f32 [64 32]) @sharded(axis=0, mesh=tp)))
      (matmul x w))"""
    _, (answer,) = why_collective(build(Source("t.kina", text), Options()), "auto", 1, quiet)
    (unused,) = (line for line in answer.lines if "leave it unused" in line)
    assert unused.endswith("(taken)")
    assert "not considered" not in unused


def test_a_reduction_names_where_its_parts_are_made() -> None:
    _, (answer,) = why_collective(example("megatron.kina"), "auto", 1, quiet)
    assert "would save neither bytes nor collectives" in answer.notes[0]
    assert any("repeat the work 4 times" in line for line in answer.lines)
    assert answer.evidence[0].proof[0].relation == "all_reduce"


def test_a_collective_that_is_not_there() -> None:
    with pytest.raises(SetupError, match="no collective 9"):
        why_collective(example("megatron.kina"), "auto", 9, quiet)


@pytest.mark.parametrize("name", ["gpt_train_tensor.kina", "gpt_train_fsdp.kina"])
def test_a_proof_in_two_runs_is_a_proof(name: str) -> None:
    """Each step holds by the tuples of one run of everything."""
    program = example(name)
    whole = inquire(program, "auto", ("granted",), quiet)
    tables = Tables(whole.relations)
    for value in [value for value in program.values if value.name.endswith((".wo", ".w_up", ".wo'", ".wk"))]:
        layered = inquire_layered(program, value, "auto", quiet)
        for row in [row for row in layered.rows(layered.goal) if row[0] == encode(value.name)]:
            proof = layered.case.prove(layered.goal, row)
            assert all(check_step(whole.rulebook, tables, proof, step.id) for step in proof)
            exact = Prover(whole.rulebook, whole.relations).prove(layered.goal, row)
            assert len(proof) <= 2 * len(exact)


@pytest.mark.parametrize("name", ["gamma1", "wk", "wv", "wo", "w_down"])
def test_an_answer_about_one_dim_fits_on_a_screen(name: str) -> None:
    """A chain through many layers is folded, and what is left of a proof keeps to its rows."""
    text = (ROOT / "examples" / "gpt_train_tensor.kina").read_text(encoding="utf-8")
    program = program_of(
        text.replace("(layer i 1)", "(layer i 12)").replace(
            "(positions (tensor f32 [length width]))",
            "(positions (tensor f32 [length width]) @sharded(axis=1, priority=1))",
        )
    )
    assert len(program.ops) > LARGE
    _, found = why(program, "auto", find_target(program, f"layer[11].{name}"), quiet)
    for answer in found:
        assert answer.holds
        assert len(render_answers([answer], Style(100, False, "short")).splitlines()) <= 25


@pytest.mark.parametrize("width", [60, 80, 100])
def test_text_stays_within_its_width(width: int) -> None:
    _, found = why_collective(example("sequence_parallel.kina"), "auto", 1, quiet)
    lines = render_answers(found, Style(width, False, "short")).splitlines()
    assert max(len(line) for line in lines if "│" not in line and "^" not in line) <= width + 2
