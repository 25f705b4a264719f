"""A transformer's whole layout from a handful of annotations, and exactly the collectives that it needs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from kina.pipeline import Options, Result, check
from kina.source import Source

ROOT = Path(__file__).resolve().parents[1]
SOLVERS = ["clingo", pytest.param("souffle", marks=pytest.mark.souffle)]


def checked(name: str, solver: str, *changes: tuple[str, str]) -> Result:
    text = (ROOT / "examples" / f"{name}.kina").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return check(Source(f"{name}.kina", text), Options(solver=solver))


def collectives(result: Result) -> Counter[tuple[str, str]]:
    assert result.ok, result.findings
    assert result.decisions is not None
    return Counter((one.kind, ",".join(one.axes)) for one in result.decisions.collectives)


def layouts(result: Result) -> dict[str, list[str]]:
    """The layout of each tensor of the entry by its last name: for each dim its axes."""
    assert result.program is not None
    assert result.decisions is not None
    prefix = result.program.entry + "."
    return {
        value.name.removeprefix(prefix): [",".join(axes) for axes in result.decisions.layouts[value.id]]
        for value in result.program.values
        if value.name.startswith(prefix)
    }


MEGATRON = {
    "wq": ["", "model", ""],
    "wk": ["", "model", ""],
    "wv": ["", "model", ""],
    "wo": ["model", "", ""],
    "w_up": ["", "model"],
    "w_down": ["model", ""],
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_megatron(solver: str) -> None:
    result = checked("megatron", solver)
    found = layouts(result)
    assert {name: found[name] for name in MEGATRON} == MEGATRON
    assert found["q"] == found["k"] == found["v"] == ["", "", "model", ""]
    assert found["hidden"] == ["", "", "model"]
    assert collectives(result) == {("all_reduce", "model"): 2}


@pytest.mark.parametrize("solver", SOLVERS)
def test_megatron_with_the_batch_on_another_axis(solver: str) -> None:
    result = checked("megatron_data", solver)
    found = layouts(result)
    assert {name: found[name] for name in MEGATRON} == MEGATRON
    for name in ("x", "q", "hidden", "middle"):
        assert found[name][0] == "data"
    assert collectives(result) == {("all_reduce", "model"): 2}


@pytest.mark.parametrize("solver", SOLVERS)
def test_data_parallel(solver: str) -> None:
    result = checked("data_parallel", solver)
    found = layouts(result)
    assert all(found[name][0] == "data" for name in ("x", "q", "hidden", "middle"))
    assert collectives(result) == {}


@pytest.mark.parametrize("solver", SOLVERS)
def test_fully_sharded(solver: str) -> None:
    result = checked("fsdp", solver)
    assert collectives(result) == {("all_gather", "data"): 6}
    assert result.decisions is not None
    assert result.program is not None
    gathered = {result.program.values[one.value].name for one in result.decisions.collectives}
    assert gathered == {f"{result.program.entry}.{name}" for name in MEGATRON}
    found = layouts(result)
    assert all(found[name] == ["data", *[""] * (len(found[name]) - 1)] for name in ("q", "hidden", "middle"))


@pytest.mark.parametrize("solver", SOLVERS)
def test_sequence_parallel(solver: str) -> None:
    result = checked("sequence_parallel", solver)
    assert collectives(result) == {("all_gather", "model"): 2, ("reduce_scatter", "model"): 2}
    assert not result.findings


@pytest.mark.parametrize("solver", SOLVERS)
def test_sequence_parallel_without_priorities_is_one_error_that_names_them(solver: str) -> None:
    result = checked("sequence_parallel", solver, (", priority=1", ""))
    errors = [finding for finding in result.findings if finding.severity == "error"]
    assert [error.code for error in errors] == ["K201"]
    first = errors[0].helps[0]
    assert first.verified
    assert all("priority=1" in edit.replacement for edit in first.edits)


@pytest.mark.parametrize("solver", SOLVERS)
def test_tensor_parallel_and_fully_sharded_on_one_dim(solver: str) -> None:
    result = checked("megatron_fsdp", solver)
    assert collectives(result) == {("all_gather", "data"): 6, ("all_reduce", "model"): 2}
    apart = checked("megatron_fsdp", solver, ("mesh=(model,data)", "mesh=data"))
    stops = [finding for finding in apart.findings if finding.code == "K310"]
    assert len(stops) == 2
    for stop in stops:
        assert stop.helps[0].verified
        assert "mesh=(model,data)" in stop.helps[0].edits[0].replacement


CLASH = """(mesh (x 2))
(defn f ((a (tensor f32 [8 8]) @sharded(axis=0)) (b (tensor f32 [8 8]) @sharded(axis=1)))
  {body})
"""


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("body", ["(add (exp a) (exp b))", "(add (exp b) (exp a))"])
def test_two_dims_over_one_axis_meet(body: str, solver: str) -> None:
    result = check(Source("clash.kina", CLASH.format(body=body)), Options(solver=solver))
    (error,) = [finding for finding in result.findings if finding.severity == "error"]
    assert error.code == "K201"
    assert error.primary is not None
    assert error.primary.text == body
    assert {label.span.text for label in error.labels} == {"@sharded(axis=0)", "@sharded(axis=1)"}
    assert {step.given_at.text for step in error.proof if step.given_at} == {
        "@sharded(axis=0)",
        "@sharded(axis=1)",
    }
    assert error.helps
    assert error.helps[0].verified
    repaired = check(
        Source("clash.kina", CLASH.format(body=f"(@ {body} @sharded(axis=0))")), Options(solver=solver)
    )
    assert sum(collectives(repaired).values()) == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_uses_that_differ_are_no_error(solver: str) -> None:
    text = """(mesh (x 2))
(defn f ((a (tensor f32 [8 8])))
  (values (@ (exp a) @sharded(axis=0)) (@ (tanh a) @sharded(axis=1))))
"""
    result = check(Source("uses.kina", text), Options(solver=solver))
    assert [(finding.severity, finding.code) for finding in result.findings] == [("note", "K202")]
    assert layouts(result)["a"] == ["", ""]
    assert collectives(result) == {}
    assert result.decisions is not None
    steps = [step.kind for coercion in result.decisions.coercions for step in coercion.steps]
    assert steps == ["slice", "slice"]


def factor_lists_are_sound(result: Result) -> None:
    """One list for each factor at all ports, and never more parts than the size."""
    assert result.program is not None
    assert result.decisions is not None
    sizes = {axis.name: axis.size for axis in result.program.mesh.axes}
    for op, plan in zip(result.program.ops, result.decisions.plans, strict=True):
        for value, layout in zip((*op.operands, *op.results), (*plan.operands, *plan.results), strict=True):
            for size, axes in zip(result.program.type_of(value).shape, layout, strict=True):
                parts = 1
                for axis in axes:
                    parts *= sizes[axis]
                assert parts <= size
                assert size % parts == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_factor_wanted_on_two_axes(solver: str) -> None:
    text = """(mesh (x 2) (y 2))
(defn f ((a (tensor f32 [4 8]) @sharded(axis=1, mesh=x)) (b (tensor f32 [8 4]) @sharded(axis=0, mesh=y)))
  (einsum "ik,kj->ij" a b))
"""
    result = check(Source("factor.kina", text), Options(solver=solver))
    factor_lists_are_sound(result)
    assert result.decisions is not None
    (plan,) = result.decisions.plans
    assert plan.operands[0][1] == plan.operands[1][0] != ()


@pytest.mark.parametrize("solver", SOLVERS)
def test_one_dim_wanted_on_two_axes(solver: str) -> None:
    text = """(mesh (x 4) (y 4))
(defn f ((u (tensor f32 [8]) @sharded(axis=0, mesh=x)) (v (tensor f32 [8]) @sharded(axis=0, mesh=y)))
  {body})
"""
    clash = check(Source("dim.kina", text.format(body="(add u v)")), Options(solver=solver))
    assert [finding.code for finding in clash.findings if finding.severity == "error"] == ["K201"]
    settled = check(
        Source("dim.kina", text.format(body="(@ (add u v) @sharded(axis=0, mesh=x))")), Options(solver=solver)
    )
    factor_lists_are_sound(settled)
    assert sum(collectives(settled).values()) == 1
