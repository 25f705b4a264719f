"""What `_` becomes for clingo: a variable where few tuples differ in it, else a projection."""

from __future__ import annotations

import re

import pytest

from kina.datalog.clingo_text import translate
from kina.datalog.modules import parse_text

TEXT = """
.type Op <: symbol
.type Port <: symbol
.type Axis <: symbol
.type Dim = number
.decl held(op: Op, port: Port, axis: Axis, dim: Dim, size: number)
.input held
.decl told(op: Op)
.output told
told(op) :- held({columns}), seen(op).
.decl seen(op: Op)
.input seen
"""


@pytest.mark.parametrize(
    ("columns", "variables"),
    [
        # beside a key few axes and dims
        ("op, port, _, _, 1", 2),
        ('op, "p", _, 0, 1', 1),
        # many ports, or sizes, for one op
        ('op, _, "x", 0, 1', 0),
        ("op, _, _, _, _", 0),
        # two keys leave few
        ("op, port, _, _, _", 3),
    ],
)
def test_a_wildcard_is_a_variable_where_few_tuples_differ(columns: str, variables: int) -> None:
    rulebook = parse_text(TEXT.format(columns=columns), "a.dl", ())
    text = translate(rulebook, ["told"], frozenset(("Op", "Port"))).text
    assert len(re.findall(r"W\d+_\d+", text)) == variables
    assert len(re.findall(r"[(,]_(?=[,)])", text)) == columns.count("_") - variables
