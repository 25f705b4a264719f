"""Rules of declared ops are held against their bodies, and wrong ones are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from kina import cli
from kina.audit.choose import chosen_ops
from kina.audit.findings import findings
from kina.audit.generators import instances
from kina.audit.one_op import QUICK, audit_op
from kina.audit.op_rule import Derived, derive
from kina.audit.wrong import try_allowed
from kina.rulebook.base import RuleBase, own_rules
from kina.rulebook.declared import with_added
from tests.declared_ops import ENERGY, ROTARY, SAMPLES, SPLIT_HEADS, TOTALS, Sample, rules


def base_with(folder: Path, *samples: Sample) -> RuleBase:
    paths = [str(each.write(folder)) for each in samples]
    return with_added(own_rules(), paths)


def derived(base: RuleBase, kind: str, number: int) -> Derived:
    made = list(instances(kind, 0, number, ((4, 6), (2, 4)), base.declared))
    return derive(made, base.compiled, "clingo")


def faults(folder: Path, sample: Sample) -> int:
    tried = try_allowed(derived(base_with(folder, sample), sample.name, 5), (0,))
    assert tried.placements > 5
    return len(tried.faults)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_right_rules_are_not_accused(sample: Sample, tmp_path: Path) -> None:
    assert faults(tmp_path, sample) == 0


WRONG = {
    "a position that does not follow": (ROTARY, '"start", 0, port, 1) :-', '"start", 0, port, 0) :-'),
    "a pair of halves that is split": (ROTARY, "dim < 3", "dim < 4"),
    "a number that does not follow": (SPLIT_HEADS, '"heads", 0, port, 1) :-', '"heads", 0, port, 0) :-'),
    "another reduction": (TOTALS, 'factor_reduced(op, 1, "sum")', 'factor_reduced(op, 1, "max")'),
    "a sum of products that passes": (
        TOTALS,
        'linear_alone(op, port, "sum")',
        'linear_together(op, port, "sum")',
    ),
    "columns that are summed, and split": (
        ENERGY,
        "dim_whole(op, port, 1)",
        "factor(op, port, 1, 1)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_are_found(name: str, tmp_path: Path) -> None:
    sample, right, wrong = WRONG[name]
    text = sample.rules.replace(right, wrong)
    if "halves" in name:
        text = text.replace("dim_whole(op, port, 3) :-", "dim_whole(op, port, 9) :-")
    assert text != sample.rules
    assert faults(tmp_path, Sample(sample.name, sample.kina, text)) > 0


def test_a_position_that_follows_two_dims_is_wrong_where_they_are_split(tmp_path: Path) -> None:
    both = ROTARY.rules.replace(
        '"start", 0, port, 1) :-', '"start", 0, port, dim) :- factor(op, port, dim, dim),'
    )
    base = base_with(tmp_path, Sample("rotary", ROTARY.kina, both))
    report = audit_op("rotary", base, 0, "clingo")
    assert any("follows two dims" in each.why for each in report.incorrect)


def test_instances_are_the_same_for_one_seed(tmp_path: Path) -> None:
    base = base_with(tmp_path, ROTARY)
    assert list(instances("rotary", 1, 4, declarations=base.declared)) == list(
        instances("rotary", 1, 4, declarations=base.declared)
    )


def test_a_file_is_about_the_ops_that_it_names(tmp_path: Path) -> None:
    base = base_with(tmp_path, ROTARY, TOTALS)
    assert chosen_ops([str(tmp_path / "rotary.dl")], base, "clingo") == ("rotary",)
    assert chosen_ops(["totals.sum"], base, "clingo") == ("totals",)
    assert chosen_ops(["totals"], base, "clingo") == ("totals",)


@pytest.mark.deep
def test_the_command_audits_a_file_of_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip = Sample(
        "flip",
        "(defop flip ((a (tensor f32 [n]))) (tensor f32 [n]) (reverse a [0]))\n",
        rules("flip", 'places: factor(op, port, 0, 0) :- op_kind(op, "flip"), port_value(op, port, _).'),
    )
    path = flip.write(tmp_path)
    assert cli.run(["rules", "audit", str(path), "--jobs", "1", "--solver", "clingo"]) == 1
    written = capsys.readouterr()
    assert "1 op," in written.out
    assert "error[K820]: `flip.places` allows a placement of `flip` that is wrong" in written.err


def test_a_wrong_placement_points_to_what_attributes_follow(tmp_path: Path) -> None:
    wrong = ROTARY.rules.replace('"start", 0, port, 1) :-', '"start", 0, port, 0) :-')
    base = base_with(tmp_path, Sample("rotary", ROTARY.kina, wrong))
    found = findings([audit_op("rotary", base, 0, "clingo", QUICK)], base)
    helps = {help_.message for each in found if each.code == "K820" for help_ in each.helps}
    assert helps == {"if `start` counts elements or places of a dim, `attribute_follows` has to say of which"}
