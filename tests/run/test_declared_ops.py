"""Declared ops on many devices give what they give on one, with attributes that follow what is split."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina.pipeline import Options
from tests.declared_ops import SAMPLES, TOTALS, Sample
from tests.run.pipeline import Compiled, compiled, differences

MESH = "(mesh (x 2) (y 2))\n"


def made(tmp_path: Path, text: str, *samples: Sample) -> Compiled | list[str]:
    rules = tuple(str(each.write(tmp_path)) for each in samples or SAMPLES)
    return compiled(MESH + text, Options(solver="clingo", rules=rules))


PROGRAMS = {
    "one axis": "(defn f ((a (tensor f32 [4 6]) @sharded(axis=0, mesh=x))) (double a))",
    "two axes": "(defn f ((a (tensor f32 [8 6]) @sharded(axis=0, mesh=(y,x)))) (double a))",
    "positions": """(defn f ((a (tensor f32 [2 8 2 6]) @sharded(axis=1, mesh=(y,x))))
  (rotary a :start 5))""",
    "positions and heads": """(defn f ((a (tensor f64 [2 8 2 6]) @sharded(axis=1, mesh=y)
                                 @sharded(axis=2, mesh=x)))
  (rotary a 3 :base 50.0))""",
    "counted heads": """(defn f ((a (tensor f32 [4 24]) @sharded(axis=1, mesh=x))) (split_heads a 6))""",
    "counted heads, all split": """(defn f ((a (tensor f32 [4 24]) @sharded(axis=1, mesh=(x,y))))
  (split_heads a :heads 2))""",
    "two results": """(defn f ((a (tensor f32 [4 6]) @sharded(axis=0, mesh=x)) (w (tensor f32 [6])))
  (energy a w))""",
    "pending": """(defn f ((a (tensor f32 [4 6]) @sharded(axis=1, mesh=x)) (b (tensor f32 [4 6])))
  (exp (totals a b)))""",
    "pending operand": """(defn f ((a (tensor f32 [4 6]) @pending(mesh=x, kind=sum)) (b (tensor f32 [4 6])))
  (exp (totals (double a) b)))""",
    "many of one shape": """(defn f ((a (tensor f32 [4 8]) @sharded(axis=0, mesh=x)))
  (repeat (layer i 5) ((h a)) (tanh (double h))))""",
    "gradient": """(defop totals4 ((a (tensor t [b s h d]))) (tensor t [b]) (sum a [1 2 3]))
(defn loss (a) (sum (multiply (totals4 (multiply (rotary a :start 2) (rotary a))) 0.5)))
(defn f ((a (tensor f64 [2 8 2 6]) @sharded(axis=1, mesh=x))) (grad loss a))""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_declared_ops_give_what_one_device_gives(name: str, tmp_path: Path) -> None:
    found = made(tmp_path, PROGRAMS[name])
    assert isinstance(found, Compiled), found
    assert differences(found) == []


def test_ops_of_one_shape_share_a_function(tmp_path: Path) -> None:
    found = made(tmp_path, PROGRAMS["many of one shape"])
    assert isinstance(found, Compiled)
    assert found.text.count("call @double(") == 5
    assert found.text.count("func.func private") == 1
    positions = made(
        tmp_path,
        "(defn f ((a (tensor f32 [2 8 2 6]) @sharded(axis=1, mesh=x))) (rotary (rotary a 5) :start 2))",
    )
    assert isinstance(positions, Compiled)
    assert positions.text.count("func.func private") == 1


def test_attributes_follow_what_is_split(tmp_path: Path) -> None:
    found = made(tmp_path, PROGRAMS["counted heads"])
    assert isinstance(found, Compiled)
    assert 'kina.attributes = [["heads", 3 : i64]]' in found.text


def test_a_wrong_rule_is_found(tmp_path: Path) -> None:
    """The sum of shards is said to be whole."""
    rules = TOTALS.rules.replace('factor_reduced(op, 1, "sum")', "kept(op)")
    wrong = Sample(TOTALS.name, TOTALS.kina, rules + "/// Holds if `op` is kept.\n.decl kept(op: Op)\n")
    text = "(defn f ((a (tensor f32 [4 6]) @sharded(axis=1, mesh=x)) (b (tensor f32 [4 6]))) (totals a b))"
    found = made(tmp_path, text, wrong)
    assert isinstance(found, Compiled)
    assert differences(found) != []
