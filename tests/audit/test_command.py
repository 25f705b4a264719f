"""`kina rules audit`: what it prints and writes, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from kina import cli
from kina.audit.outcome import FalseClaim, Incorrect, Misplan, OpReport
from kina.audit.usage import never_fired
from kina.paths import schema_path
from kina.rulebook.base import own_rules
from kina.rulebook.diff import verdicts_of
from tests.audit.mutants import Mutant, mutants
from tests.declared_ops import ROTARY

SCHEMA = jsonschema.Draft202012Validator(json.loads(schema_path("rules_audit").read_text(encoding="utf-8")))

_QUICK = ("--quick", "--jobs", "1", "--solver", "clingo")


def _mutant(name: str) -> Mutant:
    return next(each for each in mutants() if name in each.name)


def audited(
    capsys: pytest.CaptureFixture[str], *arguments: str, code: int, form: str = "text"
) -> tuple[str, str]:
    assert cli.run(["rules", "audit", *arguments, *_QUICK, "--format", form]) == code
    return capsys.readouterr()


def test_json_fits_its_schema(capsys: pytest.CaptureFixture[str]) -> None:
    written = json.loads(audited(capsys, "reverse", code=0, form="json")[0])
    SCHEMA.validate(written)
    (op,) = written["ops"]
    assert (written["ok"], op["op"], op["incorrect"], written["never_fired"]) == (True, "reverse", [], [])
    assert min(op["placements"], op["hypotheses"], op["programs"]) > 0


@pytest.mark.parametrize(
    ("name", "op", "code"),
    [
        ("a dim that is turned around is split", "reverse", "K820"),
        ("the bounds of a slice are taken to be the same", "slice", "K822"),
        ("a result takes a factor on every dim", "transpose", "K823"),
    ],
)
def test_json_of_wrong_rules_fits_the_schema(
    name: str, op: str, code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = _mutant(name).base(tmp_path)
    arguments = (op, "--base", str(base.folder))
    written = json.loads(audited(capsys, *arguments, code=1, form="json")[0])
    SCHEMA.validate(written)
    assert not written["ok"]
    assert code in {finding["code"] for finding in written["findings"]}


def test_a_counter_example_has_what_each_device_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = _mutant("a dim that is turned around is split").base(tmp_path)
    out, err = audited(capsys, "reverse", "--base", str(base.folder), code=1)
    assert "error[K820]: `layout.reverse-pass` allows a placement of `reverse` that is wrong" in err
    assert "device 0 has [1]" in " ".join(err.split())
    assert "one device gives [2 1]" in " ".join(err.split())
    assert out.splitlines()[0].split() == [
        "op",
        "instances",
        "placements",
        "hypotheses",
        "programs",
        "incorrect",
        "missing",
    ]


def test_rules_of_an_op_that_is_not_declared_are_nothing_to_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = ROTARY.write(tmp_path)
    path.with_suffix(".kina").unlink()
    out, err = audited(capsys, str(path), code=2)
    assert out == ""
    assert f"no op is there of which `{path}` says anything" in err
    assert "an op of a rule file `ops.dl` is declared in `ops.kina` beside it" in err


def test_what_said_nothing_is_told_of_all_ops_only() -> None:
    assert never_fired((), own_rules()) == ()


@pytest.mark.deep
def test_every_rule_about_ops_says_something(capsys: pytest.CaptureFixture[str]) -> None:
    # with few instances a rule for rare ones may have none
    assert cli.run(["rules", "audit", "all", "--format", "json"]) == 0
    written = json.loads(capsys.readouterr().out)
    SCHEMA.validate(written)
    assert written["never_fired"] == []
    assert all(isinstance(op, dict) and op["op"] for op in written["ops"])


def test_a_comparison_of_rules_calls_wrong_plans_and_claims_incorrect() -> None:
    report = OpReport(
        "sort",
        *(8, 20, 30, 40),
        incorrect=(Incorrect(("sort.rule",), "the shards do not make up it", 2, None),),
        misplanned=(Misplan("a gradient lies elsewhere", 1, ()),),
        claims=(FalseClaim("dimension", "localised", "it is the same"),),
        missing=(),
        fired=(),
    )
    assert [(each.what, each.why, each.rules) for each in verdicts_of([report], True)] == [
        ("incorrect", "the shards do not make up it", ("sort.rule",)),
        ("incorrect", "a gradient lies elsewhere", ()),
        ("incorrect", "`dimension`, localised: it is the same", ()),
    ]
    assert report.wrong == 3
