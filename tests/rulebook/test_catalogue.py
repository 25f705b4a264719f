"""What the rules say of ops is read off the rules: forms, roles, attributes, and the clauses that say so."""

from __future__ import annotations

import json
from functools import cache

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina import cli
from kina.frontend.ir import Mesh, Op, Program, TensorType, Value
from kina.frontend.ops import OPS, complete, infer
from kina.frontend.spec import check_ir
from kina.paths import schema_path
from kina.rulebook.base import own_rules
from kina.rulebook.catalogue import Catalogue, OpEntry, catalogue
from kina.rulebook.evaluate import evaluate
from kina.rulebook.form import form_of
from kina.rulebook.instances import instances, program_of
from kina.rulebook.listing import factor_parts, linear_parts
from kina.source import Source, Span

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_path("rules_list").read_text(encoding="utf-8")))
PLACE = Span(Source("p", ""), 0, 0)


@cache
def own() -> Catalogue:
    return catalogue(own_rules(), "clingo")


def entry(kind: str) -> OpEntry:
    return own().entries[kind]


def test_every_kind_has_a_sound_instance() -> None:
    assert {instance.kind for instance in instances()} == set(OPS)
    check_ir(program_of(instances()))


def test_the_instances_show_every_clause_about_ops() -> None:
    evaluation = own().evaluation
    fired = {firing.rule for op in evaluation.program.ops for firing in evaluation.fired(op.id)}
    rules = evaluation.rules.rulebook.rules
    assert [
        rule.name
        for rule in rules
        if rule.body and rule.head.relation in evaluation.relations and rule.id not in fired
    ] == []


@pytest.mark.parametrize(
    ("kind", "einsums"),
    [
        ("tanh", ["(i,j)->(i,j)"]),
        ("transpose", ["(i,j,k)->(k,i,j)"]),
        ("broadcast_in_dim", ["(i,1)->(j,i,k)"]),
        (
            "reshape",
            ["(i,j,k)->(i·j,k)", "(i·j,k)->(i,j,k)", "(i,j·k)->(i·j,k)", "(i·_,_)->(i·_,_)", "(_,_)->(_,_)"],
        ),
        ("sort", ["(i,_),(i,_)->(i,_),(i,_)"]),
        ("dot_general", ["(i,j,k),(i,k,l)->(i,j,l)", "(i,j,k),(k,j,l)->(i,l)", "(i),(j)->(i,j)"]),
        (
            "convolution",
            ["(i,j,_),(k,j,_)->(i,k,_)", "(i,j·_,_),(j·_,_,_)->(i,j·_,_)", "(_,i,_),(_,i,_)->(_,_,_)"],
        ),
        ("iota", ["->(i,j)"]),
    ],
)
def test_einsums(kind: str, einsums: list[str]) -> None:
    assert list(dict.fromkeys(shown.form.einsum for shown in entry(kind).forms)) == einsums


@pytest.mark.parametrize(
    ("kind", "factors", "linear"),
    [
        ("dot_general", ("k reduced: sum",), ("lhs or rhs: sum",)),
        ("multiply", (), ("lhs or rhs: sum", "lhs and rhs: prod")),
        ("select", (), ("on_true and on_false: any",)),
        ("broadcast_in_dim", ("j,k free",), ("operand: any",)),
        ("exponential", (), ("x: max, min",)),
    ],
)
def test_roles_and_linearity(kind: str, factors: tuple[str, ...], linear: tuple[str, ...]) -> None:
    form = entry(kind).forms[0].form
    assert factor_parts(form) == factors
    assert linear_parts(form, entry(kind).operands) == linear


def test_what_counts_once_depends_on_what_is_added_to() -> None:
    scatters = entry("scatter").forms
    once = {shown.instances[0].operands[0].splat for shown in scatters if shown.form.linearity[0].once}
    assert once == {None}


def test_attributes_have_their_roles_and_places() -> None:
    roles = {each.name: each.roles for each in entry("slice").attributes}
    assert roles == {
        "start_indices": ("guards",),
        "limit_indices": ("guards", "localised"),
        "strides": ("guards",),
    }
    (kind, dimension) = entry("argmax").attributes[1], entry("argmax").attributes[0]
    assert (bool(kind.readers), bool(dimension.readers)) == (False, True)
    place = dimension.places[0]
    assert place.startswith("rules/reduction.dl:")


def test_the_clauses_of_an_op() -> None:
    names = [rule.name for rule in entry("transpose").clauses]
    assert names == [
        "sharding.operand-port",
        "sharding.result-port",
        "layout.transpose-operand",
        "layout.transpose-result",
        "movement.keep-shape",
        "movement.move-parts",
    ]
    assert [rule.head.relation for rule in entry("transpose").facts] == ["moving_kind", "keeping_kind"]


@st.composite
def contractions(draw: st.DrawFn) -> tuple[str, str]:
    """Two terms of an einsum that a dot_general computes: each letter once a term."""
    letters = draw(st.permutations("abcdefgh"))
    batch, summed, left, right = (draw(st.integers(0, 2)) for _ in range(4))
    shared = letters[: batch + summed]
    own = letters[batch + summed : batch + summed + left + right]
    return (
        "".join(draw(st.permutations([*shared, *own[:left]]))),
        "".join(draw(st.permutations([*shared, *own[left:]]))),
    )


@settings(max_examples=12, deadline=None)
@given(terms=contractions(), data=st.data())
def test_the_form_of_a_dot_general_is_its_einsum(terms: tuple[str, str], data: st.DataObject) -> None:
    left, right = terms
    shared = [letter for letter in left if letter in right]
    summed = [letter for letter in shared if data.draw(st.booleans())]
    batch = [letter for letter in shared if letter not in summed]
    result = [*batch, *(c for c in left if c not in shared), *(c for c in right if c not in shared)]
    sizes = {letter: 2 + index for index, letter in enumerate(sorted({*left, *right}))}
    attributes = {
        f"{side}_{name}_dimensions": tuple(term.index(letter) for letter in which)
        for side, term in (("lhs", left), ("rhs", right))
        for name, which in (("batching", batch), ("contracting", summed))
    }
    program = _program("dot_general", [_type(left, sizes), _type(right, sizes)], attributes)
    form = form_of(evaluate(program, own_rules().compiled, "clingo"), program.ops[0])
    assert form.einsum == _einsum([left, right], ["".join(result)])


def _type(term: str, sizes: dict[str, int]) -> TensorType:
    return TensorType("f32", tuple(sizes[letter] for letter in term))


def _program(kind: str, operands: list[TensorType], attributes: dict[str, tuple[int, ...]]) -> Program:
    completed = complete(kind, operands, attributes)
    types = [*operands, *infer(kind, operands, dict(completed))]
    values = tuple(Value(number, f"v{number}", type_, PLACE) for number, type_ in enumerate(types))
    count = len(operands)
    op = Op(0, kind, tuple(range(count)), tuple(range(count, len(types))), completed, PLACE)
    return Program(Mesh(()), "f", values, (op,), tuple(range(count)), (count,), ())


def _einsum(operands: list[str], results: list[str]) -> str:
    """The einsum in letters of the order in which they come."""
    names = dict(zip(dict.fromkeys("".join([*operands, *results])), "ijklmnopqrst", strict=False))
    sides = [
        ",".join(f"({','.join(names[c] for c in term)})" for term in side) for side in (operands, results)
    ]
    return "->".join(sides)


@pytest.mark.parametrize("what", ["ops", "attributes", "rules", "relations"])
def test_list_has_a_line_for_each(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "list", what, "--format", "json", "--solver", "clingo"]) == 0
    found = json.loads(capsys.readouterr().out)
    SCHEMA.validate(found)
    assert cli.run(["rules", "list", what, "--solver", "clingo", "--width", "300"]) == 0
    lines = capsys.readouterr().out.splitlines()
    named = {line.split()[0] for line in lines if line and line[0] != " "}
    key = "ops" if what == "attributes" else what
    assert {each[key[:-1]] for each in found[key]} - named <= {op for op in OPS if not OPS[op].attributes}


@pytest.mark.parametrize("name", ["dot_general", "layout.slice-full", "factor", "slice", "levels.enter"])
def test_show_knows_ops_rules_and_relations(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "show", name, "--format", "json", "--solver", "clingo"]) == 0
    SCHEMA.validate(json.loads(capsys.readouterr().out))
    assert cli.run(["rules", "show", name, "--solver", "clingo"]) == 0
    assert capsys.readouterr().out.startswith(f"# {name}")


def test_show_names_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["rules", "show", "dot_genral"]) == 2
    found = capsys.readouterr()
    assert "`dot_general`" in found.err
    assert found.out == ""


def test_names_are_completed() -> None:
    command = cli.kina.get_command(None, "rules").get_command(None, "show")  # type: ignore[arg-type, union-attr]
    assert command is not None
    (parameter,) = [each for each in command.params if each.name == "name"]
    names = {item.value for item in parameter.shell_complete(None, "slice")}  # type: ignore[arg-type]
    assert {"slice", "slice_full"} <= names


@pytest.mark.souffle
def test_both_engines_say_the_same() -> None:
    by_souffle = catalogue(own_rules(), "souffle")
    assert {kind: each.forms for kind, each in by_souffle.entries.items()} == {
        kind: each.forms for kind, each in own().entries.items()
    }
