"""Of random programs: an axis has a proof that checks where it is, and one true reason where it is not."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from kina.datalog.proof_steps import check_step
from kina.datalog.proofs import Prover
from kina.datalog.tables import Tables
from kina.diagnostics.finding import ProgramError
from kina.explain.inquiry import Inquiry
from kina.explain.reasons import KINDS, Reason, Reasoner
from kina.frontend.ir import Program
from kina.pipeline import Options, build
from kina.source import Source
from tests.explain.asking import absent, asked, reason_now
from tests.explain.removing import divides, without
from tests.random_programs import random_program

#: Seeds of `make test`, and those of `make test-deep`.
FEW, MANY = range(40), range(40, 200)
ALL = [*FEW, *(pytest.param(seed, marks=pytest.mark.deep) for seed in MANY)]
#: Programs of `make test` from which obstacles are removed: each takes as many runs as samples.
TRIED = [*range(8), *(pytest.param(seed, marks=pytest.mark.deep) for seed in range(8, 200))]
SAMPLES = 5


def made(seed: int) -> Program:
    """A random program; those that are refused before the rules run are no matter here.

    In every second one an op is of a kind that no rule covers.
    """
    try:
        program = build(Source("random.kina", random_program(seed)), Options())
    except ProgramError:
        pytest.skip("refused before the rules run")
    if seed % 2 or not program.ops:
        return program
    ops = list(program.ops)
    place = random.Random(seed).randrange(len(ops))
    ops[place] = replace(ops[place], kind="without_rule")
    return replace(program, ops=tuple(ops))


@pytest.mark.parametrize("seed", ALL)
def test_each_axis_has_a_proof_or_a_reason(seed: int) -> None:
    inquiry = asked(made(seed))
    reasoner = Reasoner(inquiry)
    for place, axis in absent(inquiry):
        assert reasoner.reason(place, axis).kind in KINDS
    tables = Tables(inquiry.relations)
    prover = Prover(inquiry.rulebook, inquiry.relations)
    checked: set[tuple[object, ...]] = set()
    for row in inquiry.rows("granted"):
        proof = prover.prove("granted", row)
        assert any(step.relation == "given_sharded" for step in proof)
        for step in proof:
            key = (step.relation, step.columns, step.rule_at)
            if key not in checked:
                checked.add(key)
                assert check_step(inquiry.rulebook, tables, proof, step.id), step


@pytest.mark.parametrize("seed", TRIED)
def test_reasons_are_true(seed: int) -> None:
    """Without the obstacle that it names the axis arrives at the place, or meets another obstacle."""
    inquiry = asked(made(seed))
    reasoner = Reasoner(inquiry)
    reasons = [reasoner.reason(*question) for question in absent(inquiry)]
    kinds = sorted({reason.kind for reason in reasons})
    rng = random.Random(seed)
    for _ in range(SAMPLES if kinds else 0):
        kind = rng.choice(kinds)
        reason = rng.choice([each for each in reasons if each.kind == kind])
        changed = without(inquiry, reason)
        if changed is None:
            value, dim = inquiry.case.value(reason.place[0]), reason.place[1]
            assert value.type.shape[dim] == 1
            continue
        now = reason_now(changed, (reason.place, reason.axis))
        assert now is None or told(changed, now) != told(inquiry, reason)
        if kind == "nothing":
            assert now is None, (reason, now)


def told(inquiry: Inquiry, reason: Reason) -> tuple[object, ...]:
    """What a reason says, but not the way to it; of a size, whether it is the dim's or what of a reshape."""
    size = (divides(inquiry, reason), bool(reason.asked)) if reason.kind == "size" else None
    return reason.kind, reason.place, reason.facts, size
