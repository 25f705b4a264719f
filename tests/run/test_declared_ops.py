"""Declared ops on many devices give what they give on one, with attributes that follow what is split."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina import cli
from kina.pipeline import Options, check
from kina.source import Source
from tests.declared_ops import SAMPLES, TOTALS, Sample
from tests.declared_ops import rules as rule_file
from tests.random_programs import OPS, Maker
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


# Random programs.


def double(m: Maker) -> object:
    x = m.pick(low=2, high=2)
    return m.let(f"(double {x.name})", x.dtype, x.shape, x.exact)


def rotary(m: Maker) -> object:
    b, s, h, half = (m.rng.choice(m.sizes) for _ in range(4))
    x = m.shaped(m.float, (b, s, h, 2 * half))
    start = m.rng.choice(("", f" {m.rng.randint(0, 5)}"))
    return m.let(f"(rotary {x.name}{start})", x.dtype, x.shape, False)


def split_heads(m: Maker) -> object:
    x = m.pick(low=2, high=2)
    heads = m.rng.choice([count for count in range(1, x.shape[1] + 1) if x.shape[1] % count == 0])
    shape = (x.shape[0], heads, x.shape[1] // heads)
    return m.let(f"(split_heads {x.name} {heads})", x.dtype, shape, x.exact)


def totals(m: Maker) -> object:
    x = m.pick(low=2, high=2)
    y = m.shaped(x.dtype, x.shape)
    return m.let(f"(totals {x.name} {y.name})", x.dtype, x.shape[:1], False)


def energy(m: Maker) -> object:
    x = m.pick("f32", low=2, high=2)
    w = m.shaped("f32", x.shape[1:])
    return m.pair(f"(energy {x.name} {w.name})", ("f32", x.shape), ("f32", x.shape[:1]), False)


DECLARED = (double, rotary, split_heads, totals, energy)


def random_declared(seed: int) -> str:
    """A program of declared ops among others, each of them twice."""
    m = Maker(seed)
    # where indices meet, engines may keep another one of the values that are set
    others = [make for name, make in OPS.items() if name != "scatter"]
    makers = [*DECLARED, *DECLARED, *m.rng.sample(others, 6)]
    m.rng.shuffle(makers)
    return m.of(makers)


def failures(folder: Path, seeds: range) -> tuple[list[str], int]:
    """What is wrong with the programs of the seeds, and how many have no conflict."""
    rules = tuple(str(sample.write(folder)) for sample in SAMPLES)
    found: list[str] = []
    fine = 0
    for seed in seeds:
        options = Options(solver="clingo", rules=rules)
        program = compiled(random_declared(seed), options, f"seed{seed}.kina")
        if isinstance(program, list):
            found += [] if all(code.startswith("K2") for code in program) else [f"seed {seed}: {program}"]
            continue
        fine += 1
        found += [f"seed {seed}: {message}" for message in differences(program, seed)]
    return found, fine


def test_random_programs_with_declared_ops_give_what_one_device_gives(tmp_path: Path) -> None:
    found, fine = failures(tmp_path, range(8))
    assert found == []
    assert fine >= 4


@pytest.mark.deep
@pytest.mark.parametrize("start", range(100, 300, 50))
def test_many_random_programs_with_declared_ops(start: int, tmp_path: Path) -> None:
    found, fine = failures(tmp_path, range(start, start + 50))
    assert found == []
    assert fine >= 25


@pytest.mark.souffle
def test_both_engines_decide_the_same_of_declared_ops(tmp_path: Path) -> None:
    rules = tuple(str(sample.write(tmp_path)) for sample in SAMPLES)
    for seed in (3, 5, 8, 13):
        found = []
        for solver in ("clingo", "souffle"):
            result = check(Source("t.kina", random_declared(seed)), Options(solver=solver, rules=rules))
            decisions = result.decisions
            found.append(
                decisions and (decisions.layouts, decisions.plans, decisions.coercions, decisions.localised)
            )
        assert found[0] == found[1], seed


@pytest.mark.parametrize("said", ["", 'attribute_localised("place", "first").\n'])
@pytest.mark.parametrize("command", ["check", "compile", "run"])
def test_an_attribute_that_is_left_open_is_an_error_where_the_op_is_split(
    command: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each device would count from 0, and nothing would say so."""
    sample = Sample(
        "place",
        """(defop place ((x (tensor f32 [n])) (first (position :default 0)))
  (tensor f32 [n])
  (add x (convert (add (iota i32 [n] 0) (broadcast first [n] [])) f32)))
""",
        rule_file("place", 'each: factor(op, port, 0, 0) :- op_kind(op, "place"), port_value(op, port, _).')
        + said,
    )
    file = sample.write(tmp_path)
    program = tmp_path / "p.kina"
    text = "(mesh (x 2))\n(defn f ((a (tensor f32 [8]) SPLIT)) (add (place a) (place a 3)))\n"
    arguments = [command, str(program), "--rules", str(file), "--solver", "clingo"]
    arguments += ["-o", str(tmp_path / "out.mlir")] if command == "compile" else []
    program.write_text(text.replace("SPLIT", "@sharded(axis=0)"))
    assert cli.run(arguments) == 1
    error = capsys.readouterr().err
    assert error.count("error[K905]: `place` is computed in parts, and no rule says ") == 1
    assert "p.kina:2:54" in error
    assert "place.kina:1:37" in error
    assert not (tmp_path / "out.mlir").exists()
    program.write_text(text.replace("SPLIT", "@replicated"))
    assert cli.run(arguments) == 0
