"""The ten most common conflicts: the first help of the message repairs the program."""

from __future__ import annotations

import pytest

from kina.diagnose.edits import apply_edits
from kina.pipeline import Options, check
from kina.source import Source

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


@pytest.mark.parametrize("text", CONFLICTS.values(), ids=CONFLICTS.keys())
def test_the_first_help_repairs_it(text: str) -> None:
    source = Source("case.kina", text)
    findings = check(source, Options()).findings
    errors = [finding for finding in findings if finding.severity == "error"]
    assert [finding.code for finding in errors] == ["K201"]
    (conflict,) = errors
    first = conflict.helps[0]
    assert first.verified
    assert len({label.span for label in conflict.labels}) == 2
    assert len([step for step in conflict.proof if step.given_at is not None]) >= 2
    repaired = check(apply_edits(source, first.edits), Options())
    assert repaired.ok, [finding.message for finding in repaired.findings]
