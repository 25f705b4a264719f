"""What is derived once for all alike ops is the same as what is derived for each."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kina.datalog import clingo_alike
from kina.datalog.clingo_engine import run_clingo
from kina.datalog.local import op_local
from kina.datalog.modules import parse_text
from kina.diagnose.solved import compiled_rules, rules_of
from kina.diagnostics.finding import ProgramError
from kina.facts.alike import OWN, alike_ops
from kina.facts.dump import dump
from kina.facts.entry import entry_text
from kina.frontend.ir import Program
from kina.pipeline import Options, build, open_source
from kina.source import Source
from tests.random_programs import random_program

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

TYPES = """.type Op <: symbol
.type Port <: symbol
.type Value <: symbol
.type Kind <: symbol
.decl op_kind(op: Op, kind: Kind)
.input op_kind
.decl op_operand(op: Op, pos: number, port: Port, value: Value)
.input op_operand
.decl value_rank(value: Value, rank: number)
.input value_rank
.decl given_fixed(value: Value, dim: number)
.input given_fixed
.decl known(kind: Kind)
known("add").
"""
OWN_HERE = ("op_kind", "op_operand", "value_rank")


def local(rules: str) -> set[str]:
    return set(op_local(parse_text(TYPES + rules, "x.dl", ()), OWN_HERE))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alike ops are made use of however few they are."""
    monkeypatch.setattr(clingo_alike, "LEAST_OPS", 0)
    monkeypatch.setattr(clingo_alike, "LEAST_SHARE", 0)


@pytest.mark.parametrize(
    "rules",
    [
        ".decl r(op: Op)\nr(op) :- op_kind(op, kind), known(kind).\n",
        ".decl r(op: Op, port: Port, rank: number)\n"
        "r(op, port, rank) :- op_operand(op, _, port, value), value_rank(value, rank).\n",
        ".decl s(op: Op, n: number)\ns(op, 0) :- op_kind(op, _).\ns(op, n + 1) :- s(op, n), n < 3.\n"
        ".decl r(op: Op)\nr(op) :- op_kind(op, _), !s(op, 2).\n",
        ".decl r(op: Op, n: number)\nr(op, n) :- op_kind(op, _), n = count : { op_operand(op, _, _, _) }.\n",
    ],
)
def test_what_reads_one_op_is_local(rules: str) -> None:
    assert "r" in local(rules)


@pytest.mark.parametrize(
    ("why", "rules"),
    [
        ("another op", ".decl r(op: Op)\nr(op) :- op_kind(op, kind), op_kind(other, kind), op != other.\n"),
        ("any op", ".decl r(op: Op)\nr(op) :- op_kind(op, kind), op_kind(_, kind).\n"),
        (
            "another user of a value",
            ".decl r(op: Op)\nr(op) :- op_operand(op, 0, _, value), op_operand(other, 1, _, value).\n",
        ),
        (
            "a value of elsewhere",
            ".decl r(op: Op, rank: number)\nr(op, rank) :- op_kind(op, _), value_rank(_, rank).\n",
        ),
        (
            "what differs",
            ".decl r(op: Op)\nr(op) :- op_operand(op, _, _, value), given_fixed(value, _).\n",
        ),
        (
            "a relation over all ops",
            ".decl s(kind: Kind)\ns(kind) :- op_kind(_, kind).\n"
            ".decl r(op: Op)\nr(op) :- op_kind(op, kind), s(kind).\n",
        ),
        (
            "what is not local",
            ".decl s(op: Op)\ns(op) :- op_kind(op, _), op_kind(_, _).\n.decl r(op: Op)\nr(op) :- s(op).\n",
        ),
        (
            "all ops in an aggregate",
            ".decl r(op: Op, n: number)\nr(op, n) :- op_kind(op, _), n = count : { op_kind(_, _) }.\n",
        ),
    ],
)
def test_what_reads_more_is_not(why: str, rules: str) -> None:
    assert "r" not in local(rules), why


def test_the_rules_of_op_families_are_local_and_those_of_layouts_are_not() -> None:
    found = op_local(rules_of(entry_text((0,), True)), OWN)
    assert {"factor", "factor_within", "factor_reduced", "dim_whole", "linear_alone", "unruled"} <= found
    assert found.isdisjoint({"within_reach", "brings", "granted", "linear", "split", "at_port"})


def assert_same(program: Program) -> None:
    facts = dump(program)
    rules = compiled_rules(facts.entry)
    everything = frozenset(name for name, table in rules.tables.items() if not table.is_input)
    given_facts = {table.name: facts.relations.get(table.name, []) for table in rules.inputs}
    plain, _ = run_clingo(rules, given_facts, everything)
    alike = alike_ops(program, facts.value_names)
    found, _ = run_clingo(rules, given_facts, everything, alike=alike)
    assert {name: sorted(rows) for name, rows in found.items()} == {
        name: sorted(rows) for name, rows in plain.items()
    }


@pytest.mark.usefixtures("at_once")
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 10**6))
def test_random_programs_come_out_the_same(seed: int) -> None:
    try:
        program = build(Source("random.kina", random_program(seed)), Options())
    except ProgramError:
        return
    assert_same(program)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("name", ["gpt_train_tensor", "gpt_train_fsdp", "grouped_heads", "vocabulary"])
def test_examples_come_out_the_same(name: str) -> None:
    assert_same(build(open_source(str(EXAMPLES / f"{name}.kina")), Options()))


def test_alike_ops_differ_in_names_only() -> None:
    program = build(
        Source(
            "x.kina",
            "(mesh (x 2))\n"
            "(defn f ((a (tensor f32 [4 4])) (b (tensor f32 [4 4])) (c (tensor f32 [4 2])))\n"
            "  (values (add a b) (add b a) (add a a) (exp a) (exp c)\n"
            "    (transpose a [1 0]) (transpose b [0 1])))",
        ),
        Options(),
    )
    groups = alike_ops(program, tuple(value.name for value in program.values)).groups
    assert [[op[0] for op in group] for group in groups] == [
        ["f.add", "f.add#2"],
        ["f.add#3"],
        ["f.exp"],
        ["f.exp#2"],
        ["f.transpose"],
        ["f.transpose#2"],
    ]
