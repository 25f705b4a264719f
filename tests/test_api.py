"""Kina from Python: what the document shows happens, and what a program may get wrong is never raised."""

from __future__ import annotations

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kina
from tests import readme
from tests.command import ROOT, kina_command
from tests.declared_ops import ROTARY

needs_jax = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not here")

CARRIED = """\
(mesh (x 2))
(defn loss (w a) (mean (multiply (matmul a w) (matmul a w))))
(defn train ((w (tensor f32 [8 4]) @sharded(axis=1)) (a (tensor f32 [4 8])))
  (train_step (loss w a) sgd :frozen a))
"""
CONFLICT = """\
(mesh (x 2))
(defn f ((a (tensor f32 [8 8]) @sharded(axis=0)) (b (tensor f32 [8 8]) @sharded(axis=1)))
  (add (exp a) (exp b)))
"""
PENDING = "(mesh (x 2))\n(defn f ((p (tensor f32 [4]) @pending(mesh=x, kind={kind}))) (negate p))\n"


@needs_jax
def test_the_document_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "start.kina").write_text(readme.block("kina", readme.FILE.read_text())[1])
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"^```pycon\n(.*?)^```$", page, re.S | re.M))
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF)
    test = doctest.DocTestParser().get_doctest(blocks, {}, "python.md", "docs/python.md", 0)
    outcome = runner.run(test, out=said.append)
    assert outcome.attempted > 25
    assert outcome.failed == 0, "".join(said)


@pytest.mark.parametrize(
    "text",
    ["(", "(mesh (x 2))", "()\n", "(defn f ((a (tensor f32 [4]))) (nothing a))", "\n", "(\x00)", "(" * 300],
)
def test_nothing_is_raised_for_programs(text: str) -> None:
    result = kina.check(text)
    assert not result.ok
    assert all(str(finding).startswith("<text>") for finding in result.findings)
    assert "<pre>" in result._repr_html_()
    assert str(result)
    assert "with errors" in repr(result)
    with pytest.raises(kina.ProgramError):
        result.compile()
    with pytest.raises(kina.ProgramError):
        result.layout("a")


def test_rule_files_can_be_added(tmp_path: Path) -> None:
    added = ROTARY.write(tmp_path)
    text = '(import "rotary.kina")\n(mesh (x 2))\n(defn f ((a (tensor f32 [2 4 1 4]) @sharded(axis=1)))'
    text += "(rotary a))"
    program = tmp_path / "f.kina"
    program.write_text(text)
    assert kina.check(program, rules=[added]).layout("rotary") == ((), ("x",), (), ())
    assert [each.code for each in kina.check(program).findings] == ["K902"]


def test_what_is_no_program_is_said(tmp_path: Path) -> None:
    (tmp_path / "bytes.kina").write_bytes(b"\xff")
    assert [each.code for each in kina.check(tmp_path / "bytes.kina").findings] == ["K005"]
    odd = tmp_path / "(odd).kina"
    odd.write_text(CARRIED)
    assert kina.check(odd).ok
    for path in (tmp_path, tmp_path / "nowhere.kina", "nowhere.kina"):
        with pytest.raises(kina.SetupError):
            kina.check(path)
    for options in (
        {"solver": "z3"},
        {"on_conflict": "ask"},
        {"mesh": {"x": 0}},
        {"mesh": {"x": True}},
        {"mesh": {"y": 2}},
        {"entry": "g"},
    ):
        with pytest.raises(kina.SetupError):
            kina.check(CARRIED, **options)  # type: ignore[arg-type]


def test_a_result_says_what_the_command_says(tmp_path: Path) -> None:
    path = tmp_path / "t.kina"
    path.write_text(CONFLICT)
    done = kina_command("check", str(path), "--on-conflict", "cost")
    result = kina.check(str(path), on_conflict="cost")
    assert result.ok
    assert str(result) == f"{done.stdout}\n{done.stderr}"
    assert result.tensor("f.exp").layout == result.tensors["f.exp"].layout
    assert sum(each.bytes for each in result.collectives) == result.cost_bytes


def test_a_contradiction_can_be_asked_about() -> None:
    result = kina.check(CONFLICT)
    assert not result.ok
    assert result.layout("add") == ((), ())
    answer = result.why("add.0@x", negated=True)
    assert answer.holds
    assert "`f.a` dim 0" in str(answer) or "dim 0 of `f.a`" in str(answer)
    assert answer._repr_html_().startswith("<pre>")


def test_a_run_carries_verifies_and_refuses() -> None:
    result = kina.check(CARRIED, mesh={"x": 4})
    weights, a = np.ones((8, 4), np.float32), np.ones((4, 8), np.float32)
    run = result.run({"w": weights, "train.a": a}, steps=2, verify=True)
    assert run.ok
    assert len(run.steps) == 2
    assert run["w.next"].shape == (8, 4)
    assert run["train.loss"] == run["loss"] < 64
    with pytest.raises(KeyError):
        run["w"]
    for inputs in ({"w": weights}, {"w": weights, "a": a.astype(np.float64)}, {"w": weights, "a": a, "b": a}):
        with pytest.raises(kina.ProgramError) as caught:
            result.run(inputs)
        assert caught.value.findings[0].code == "K701"
    for options in ({"steps": 0}, {"seed": -1}, {"engine": "gpu"}, {"platform": "abacus"}):
        with pytest.raises(kina.SetupError):
            result.run(**options)  # type: ignore[arg-type]
    with pytest.raises(kina.SetupError):
        result.why("w", collective=1)


@needs_jax
def test_partition_specs_of_pending_values() -> None:
    from jax.sharding import PartitionSpec

    specs = kina.check(PENDING.format(kind="sum")).partition_specs(every=True)
    assert specs["f.p"] == PartitionSpec(None, unreduced={"x"})
    with pytest.raises(kina.SetupError, match="pending max"):
        kina.check(PENDING.format(kind="max")).partition_specs()


def test_html_is_escaped_and_short(tmp_path: Path) -> None:
    path = tmp_path / "<b>.kina"
    path.write_text(CARRIED)
    page = kina.check(path)._repr_html_()
    assert "&lt;b&gt;.kina" in page
    odd = '(mesh (|<i>| 2))\n(defn |<script>| ((|"&| (tensor f32 [4]) @sharded(axis=0))) (exp |"&|))'
    shown = kina.check(odd)
    assert shown.ok
    for text in (shown._repr_html_(), shown.why("exp")._repr_html_()):
        assert "&lt;script&gt;" in text
        assert "<script>" not in text
        assert "<i>" not in text
    assert "<b>" not in page
    assert page.count("<table>") == page.count("</table>") == 2


def test_the_package_imports_nothing_before_it_is_asked() -> None:
    code = (
        "import kina, sys; print(sorted(m for m in sys.modules if m.startswith('kina')), kina.check.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "['kina'] check\n"
    assert set(kina.__all__) <= set(dir(kina))
    for name in kina.__all__:
        assert getattr(kina, name)
    with pytest.raises(AttributeError):
        _ = kina.nothing
