"""The benchmarks count as they say, and give every tool the same program."""

from __future__ import annotations

import importlib.util
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.peers import kina_variants
from bench.peers.cases import CASES
from bench.peers.counted import Moved, in_hlo, in_sdy, in_stablehlo, ring, total
from bench.peers.run import jax_environment
from bench.peers.schemes import (
    ALL_SCHEMES,
    FROZEN,
    LARGE,
    LARGE_SIZES,
    SCHEMES,
    Sizes,
    kina_program,
    parameters,
    shardy_attribute,
)
from bench.plots import bars, lines
from kina.pipeline import Options, build
from kina.source import Source
from tests.command import ROOT
from tests.run.pipeline import Compiled, compiled

HLO = """\
  %a.1 = f32[8,32,64]{2,1,0} all-reduce(%x), channel_id=1, replica_groups={{0,1,2,3}}, to_apply=%add
  %b = (f32[4]{0}, bf16[2,2]{1,0}) all-reduce(%x, %y), channel_id=2, replica_groups=[2,2]<=[4], to_apply=%add
  %c = f32[64,4,16]{2,1,0} all-gather(%p), replica_groups=mesh['axis_0'=4,'axis_1'=2] {'axis_0'}
  %d = f32[16]{0} reduce-scatter(%p), replica_groups=mesh['a'=8] {'a':(1)4}, dimensions={0}
  %e = s32[] collective-permute(%p), source_target_pairs={{0,1},{1,0}}
  %f = f32[9]{0} all-reduce(%p), replica_groups={{0},{1}}, to_apply=%add
  %g = f32[4,4]{1,0} all-to-all(%p), replica_groups={{0,1},{2,3}}, dimensions={0}
  ROOT %h = f32[4]{0} add(%a, %all-reduce.3)
"""
SDY = """\
    %1 = sdy.all_reduce {"x", "y"} %0 out_sharding=<@mesh, [{"z"}, {}]> : tensor<8x4xf32>
    %2 = sdy.all_gather [{"x"}, {}] %1 out_sharding=<@mesh, [{}, {"y"}]> : tensor<8x4xf32>
    %3 = sdy.reduce_scatter [{}, {"x"}] %2 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x4xbf16>
    %4 = sdy.all_slice [{}, {"x"}] %2 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x4xf32>
"""


def test_collectives_of_hlo() -> None:
    assert list(in_hlo(HLO)) == [
        Moved("all_reduce", 4, 2 * 65536 * 3 // 4),
        Moved("all_reduce", 2, 16),
        Moved("all_reduce", 2, 8),
        Moved("all_gather", 4, 16384 * 3 // 4),
        Moved("reduce_scatter", 4, 192),
        Moved("collective_permute", 2, 4),
        Moved("all_to_all", 2, 32),
    ]
    with pytest.raises(ValueError, match="no groups"):
        list(in_hlo("  %a = f32[8]{0} all-reduce(%x), to_apply=%add"))


def test_collectives_of_shardy() -> None:
    assert list(in_sdy(SDY, {"x": 2, "y": 2, "z": 2})) == [
        Moved("all_reduce", 4, 2 * 64 * 3 // 4),
        Moved("all_gather", 2, 32),
        Moved("reduce_scatter", 2, 32),
    ]


def test_collectives_of_kina_are_those_that_it_says() -> None:
    for scheme in SCHEMES.values():
        made = compiled(kina_program(Sizes(1), scheme))
        assert isinstance(made, Compiled)
        found = list(in_stablehlo(made.text))
        assert len(found) == len(made.decisions.collectives)
        said = [(each.kind, each.bytes) for each in made.decisions.collectives]
        assert sorted((each.kind, each.bytes) for each in found) == sorted(said)
        assert total(found).bytes == made.decisions.cost_bytes


def test_the_ring() -> None:
    assert [ring(kind, 4, 100) for kind in ("all_reduce", "all_gather", "reduce_scatter")] == [150, 75, 75]
    assert ring("collective_permute", 1, 100) == 0


def test_the_large_step_is_the_example() -> None:
    example = (ROOT / "examples" / "gpt_100m.kina").read_text(encoding="utf-8")
    one, two = (
        build(Source("t.kina", text), Options()) for text in (example, kina_program(LARGE_SIZES, LARGE))
    )
    assert [(op.kind, op.operands, op.attributes) for op in one.ops] == [
        (op.kind, op.operands, op.attributes) for op in two.ops
    ]
    assert [value.type for value in one.values] == [value.type for value in two.values]
    span = one.values[0].span
    assert [replace(each, span=span) for each in one.annotations] == [
        replace(each, span=span) for each in two.annotations
    ]


def test_every_tool_is_given_the_same_annotations() -> None:
    for scheme in ALL_SCHEMES.values():
        program = build(Source("t.kina", kina_program(Sizes(2), scheme)), Options())
        given = parameters(Sizes(2), scheme)
        names = [program.values[number].name.partition(".")[2] for number in program.parameters]
        assert sorted(names) == sorted(each.name for each in given)
        by_name = {each.name: each for each in given}
        for number, name in zip(program.parameters, names, strict=True):
            notes = {(n.dim, n.axes[0], n.priority) for n in program.annotations if n.value == number}
            assert notes == set(by_name[name].notes), name
        assert len(program.results) == 1 + sum(name not in FROZEN for name in names)
    wq = next(each for each in parameters(Sizes(1), SCHEMES["fsdp"]) if each.name == "layer[0].wq")
    assert shardy_attribute(wq) == '#sdy.sharding<@mesh, [{"data"}p1, {?}, {?}]>'


def test_cases_are_there_in_every_form() -> None:
    for case in CASES:
        assert case.about in case.text("kina")
        assert len(case.shapes) == len(case.specs) == case.text("kina").count("(tensor ")
        assert case.text("stablehlo.mlir").count("sdy.sharding =") == len(case.shapes)


def test_pictures_are_whole_and_escaped() -> None:
    drawn = (
        lines("a < b & c", {"one": {1: 0.5, 96: 20.0}, "two": {12: 0.0}}),
        lines("one", {"x": {12: 1.0}}),
        bars("t", {"g": {"a": 1.0, "b": 0.0}, "h": {"a": 3.0}}),
    )
    for text in drawn:
        ElementTree.fromstring(text)
    assert drawn[0].count("<polyline") == 2
    assert drawn[2].count('fill="#0072B2"><title>') == 2


def test_results_name_no_place_of_a_machine() -> None:
    for path in (ROOT / "bench" / "results").glob("*"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("/home/", "/tmp/", "/opt/", "/usr/", "/root/")), path.name


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not here")
def test_every_engine_takes_a_step_and_has_the_same_loss(tmp_path: Path) -> None:
    sizes, scheme = Sizes(1, batch=4, length=4, width=16, heads=4, vocabulary=16), SCHEMES["tensor"]
    place = tmp_path / "step.mlir"
    made = compiled(kina_program(sizes, scheme))
    assert isinstance(made, Compiled)
    place.write_text(made.text, encoding="utf-8")
    losses = {engine: loss_of(engine, place, scheme.devices) for engine in ("sim", "xla", "products")}
    assert losses["sim"] == pytest.approx(losses["xla"], rel=1e-4)
    assert math.isnan(losses["products"])


def loss_of(engine: str, module: Path, devices: int) -> float:
    command = [sys.executable, "-m", "bench.peers.step", engine, str(module)]
    given = {"input": "step\n", "capture_output": True, "text": True, "cwd": ROOT}
    done = subprocess.run(command, check=True, env=jax_environment(devices), **given)
    return float(done.stdout.split()[-1])


def test_variants_of_a_program_are_compared() -> None:
    text = kina_program(Sizes(1), SCHEMES["tensor"])
    count, conflict, changed = kina_variants.variants(text, 1)
    assert not conflict
    assert count == len(build(Source("t.kina", text), Options()).values)
    assert set(changed) == {"swap", "respell", "rename"}
    assert all(each == 0 for every in changed.values() for each in every)
