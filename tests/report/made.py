"""A program with decisions made by hand: what a report is given, without running an engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kina.frontend.form import form
from kina.frontend.ir import Program
from kina.frontend.reader import read
from kina.pipeline import Result
from kina.source import Source, Span

TEXT = """(mesh (data 2) (model 2))
(defn f ((a (tensor f32 [8 16]) @sharded(axis=1, mesh=model))
         (b (tensor f32 [16 4]))
         (|odd "na
me| (tensor f32 [8 4])))
  (add (matmul a b) |odd "na
me|))
"""
SOURCE = Source("made.kina", TEXT)


@dataclass(frozen=True, slots=True)
class MadeCollective:
    kind: str
    axes: tuple[str, ...]
    value: int
    op: str
    span: Span
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class MadeDecisions:
    layouts: tuple[tuple[tuple[str, ...], ...], ...]
    pending: Mapping[int, tuple[tuple[str, str], ...]]
    collectives: tuple[MadeCollective, ...]
    findings: tuple[Any, ...] = ()
    cost_bytes: int = 128
    peak_bytes: int = 2048
    solver_name: str = "made"
    solver_version: str = "1"


def program() -> Program:
    """The typed IR of TEXT."""
    return form(read(SOURCE))


def decisions(made: Program) -> Any:
    """Layouts that split `a` and `b` over `model`, and the all_reduce of their product."""
    by_name = {value.name: value for value in made.values}
    layouts: list[tuple[tuple[str, ...], ...]] = [((),) * value.type.rank for value in made.values]
    layouts[by_name["f.a"].id] = ((), ("model",))
    layouts[by_name["f.b"].id] = (("model",), ("data",))
    product = by_name["f.matmul"]
    reason = "`f.matmul` is a pending sum over `model`, and `add` takes whole values"
    reduce = MadeCollective("all_reduce", ("model",), product.id, "f.matmul", product.span, 128, reason)
    return MadeDecisions(tuple(layouts), {product.id: (("model", "sum"),)}, (reduce,))


def result() -> Result:
    """A whole result."""
    made = program()
    return Result(SOURCE.name, SOURCE, made, decisions(made), (), (("read", 1.23456), ("form", 2.0)))


def with_layout(made: Program, name: str, layout: tuple[tuple[str, ...], ...]) -> Any:
    """The same decisions with another layout of one tensor."""
    plan = decisions(made)
    number = next(value.id for value in made.values if value.name == name)
    return replace(plan, layouts=(*plan.layouts[:number], layout, *plan.layouts[number + 1 :]))
