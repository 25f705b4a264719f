"""Results from Python to look at: a run as a mapping, names, errors as text, and what notebooks show."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kina
from tests.command import kina_command
from tests.test_api import CARRIED, CONFLICT, PENDING, needs_jax


def without_seconds(text: str) -> str:
    """A report without the times, which differ."""
    lines = [line for line in text.splitlines() if not line.startswith(("step", "collective", "all_"))]
    return "\n".join(lines)


def test_a_run_is_a_mapping() -> None:
    run = kina.check(CARRIED).run(steps=2)
    assert isinstance(run, Mapping)
    assert list(run) == list(run.keys()) == ["train.loss", "train.w.next"]
    assert len(run) == 2
    assert "loss" in run
    assert "train.loss" in run
    assert "nope" not in run
    assert 3 not in run
    assert run.get("nope") is None
    assert dict(run)["train.loss"] == run["loss"]
    assert all(isinstance(array, np.ndarray) for array in run.values())
    assert {**run}.keys() == {name for name, _ in run.items()}
    assert run == run
    assert run != kina.check(CARRIED).run(steps=2)
    assert {run: 1}[run] == 1


def test_a_run_prints_what_the_command_prints(tmp_path: Path) -> None:
    (tmp_path / "t.kina").write_text(CARRIED)
    done = kina_command("run", "t.kina", "--verify", "--steps", "2", cwd=tmp_path)
    run = kina.check(CARRIED).run(verify=True, steps=2)
    assert without_seconds(str(run)) == without_seconds(done.stdout.replace("t.kina", "<text>"))
    assert str(run).count("step ") == 2
    assert repr(run) == "<kina.Run of <text>: ok, 2 steps, 2 results>"
    page = run._repr_html_()
    assert page.count("<table>") == page.count("</table>") == 2
    assert "&lt;text&gt; on mesh x=2" in page
    assert "and 1 that are carried to the next step" in page


def test_a_name_that_is_not_there_says_what_is_near() -> None:
    result = kina.check(CARRIED)
    run = result.run()
    for call in (lambda: run["lose"], lambda: result.layout("nope"), lambda: result.tensor("A")):
        with pytest.raises(kina.UnknownNameError) as caught:
            call()
        assert isinstance(caught.value, kina.SetupError)
        assert isinstance(caught.value, KeyError)
    with pytest.raises(kina.SetupError, match=r"there is no result `lose`\n  = help: near it: `train\.loss`"):
        run["lose"]
    with pytest.raises(kina.SetupError, match=r"there is no tensor `A`\n  = help: near it: .*`a`"):
        result.layout("A")
    with pytest.raises(kina.SetupError, match=r"`multiply`"):
        result.layout("multipli")


def test_errors_are_whole_as_text() -> None:
    wrong = kina.check(CONFLICT)
    with pytest.raises(kina.ProgramError) as caught:
        wrong.compile()
    first, help_ = str(caught.value).splitlines()
    assert first.startswith("<text>:3:3: error[K201] `add` is asked")
    assert help_ == f"  = help: {wrong.findings[0].helps[0].message}"
    with pytest.raises(kina.ProgramError, match=r"has no array `train.w`\n  = help: .*none\nand 1 more$"):
        kina.check(CARRIED).run({})
    for options, listed in (
        ({"solver": "z3"}, "auto, souffle, clingo"),
        ({"on_conflict": "first"}, "error, cost"),
    ):
        with pytest.raises(kina.SetupError, match=f"there are {listed}"):
            kina.check(CARRIED, **options)  # type: ignore[arg-type]
    with pytest.raises(kina.SetupError, match="there are sim, xla"):
        kina.check(CARRIED).run(engine="tpu")
    with pytest.raises(kina.SetupError, match=r'`platform` is `gpu`.*\n.*`engine="xla"`'):
        kina.check(CARRIED).run(platform="gpu")


@needs_jax
def test_partition_specs_by_ending_and_of_a_failed_check() -> None:
    import jax

    specs = kina.check(CARRIED).partition_specs()
    assert specs["w"] == specs["train.w"]
    assert list(specs) == ["train.w", "train.a", "train.loss", "train.w.next"]
    assert "w" in specs
    assert jax.tree.map(lambda spec: len(spec), specs) == {name: len(specs[name]) for name in specs}
    with pytest.raises(kina.UnknownNameError, match="there is no tensor `v`"):
        specs["v"]
    with pytest.raises(kina.ProgramError, match="K201"):
        kina.check(CONFLICT).partition_specs()
    with pytest.raises(kina.SetupError, match=r"`f\.p` is a pending min"):
        kina.check(PENDING.format(kind="min")).partition_specs()


def test_a_failed_check_shows_its_layouts() -> None:
    wrong = kina.check(CONFLICT)
    page = wrong._repr_html_()
    assert page.index("<strong>error[K201]: <code>add</code> is asked") < page.index("<table>")
    assert page.count("<table>") == 1
    assert "f32[8@x,8]" in page
    assert 'font-weight: bold">f.add<' in page
    assert wrong.collectives is not None
    fine = kina.check(CARRIED)._repr_html_()
    assert "sum over <code>x</code>" in fine
    assert "`" not in fine


def test_what_a_text_is_told_to_do_can_be_done(tmp_path: Path) -> None:
    wrong = kina.check(CONFLICT)
    assert 'more: `kina explain K201`, `result.why("f.add.0@x", negated=True)`' in str(wrong)
    answer = str(wrong.why("a.0@x"))
    assert "kina why" not in answer + str(wrong) + str(wrong.why("add.0@x", negated=True))
    path = tmp_path / "t.kina"
    path.write_text(CONFLICT)
    assert f"`kina why {path} f.add.0@x --not`" in " ".join(str(kina.check(path)).split())


def test_the_name_of_a_file_that_holds_a_bracket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a(1)").write_text(CARRIED)
    for name in ("a(1)", "b(1).kina"):
        found: Any = kina.check(name).findings[0]
        assert "`pathlib.Path` names a file" in found.helps[0].message
    assert kina.check(Path("a(1)")).ok
    assert not any("pathlib" in help_.message for help_ in kina.check("a(2)").findings[0].helps)
    assert kina.check("(" * 100_000).findings


def test_a_help_that_edits_another_file_is_left_to_the_command(tmp_path: Path) -> None:
    (tmp_path / "parts.kina").write_text(
        "(defn part ((a (tensor f32 [8 8]) @sharded(axis=0) @sharded(axis=1))) a)\n"
    )
    main = tmp_path / "main.kina"
    main.write_text('(import "parts.kina")\n(mesh (x 2))\n(defn f ((a (tensor f32 [8 8]))) (part a))\n')
    result = kina.check(main, entry="f")
    assert not result.ok
    with pytest.raises(kina.SetupError, match=r"parts\.kina"):
        result.fixed(1)


def test_a_help_that_is_not_there() -> None:
    with pytest.raises(kina.SetupError, match="no help 7"):
        kina.check(CONFLICT).fixed(7)


@pytest.mark.parametrize("make", [lambda: kina.check(CONFLICT).compile(), lambda: kina.check("nowhere.kina")])
def test_errors_go_to_other_processes(make: Callable[[], object]) -> None:
    with pytest.raises((kina.ProgramError, kina.SetupError)) as caught:
        make()
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert str(again) == str(caught.value)
    assert str(copy.copy(caught.value)) == str(caught.value)


def test_an_error_as_text_has_no_control_characters() -> None:
    with pytest.raises(kina.ProgramError) as caught:
        kina.check(CARRIED).run({"a\n\x1b[31m": np.ones(2)})
    assert "\x1b" not in str(caught.value)
    assert "a\n" not in str(caught.value)


@needs_jax
def test_specs_find_endings_however_they_are_asked() -> None:
    specs = kina.check(CARRIED).partition_specs()
    assert "w" in specs
    assert specs.get("w") == specs["train.w"]
    assert "nope" not in specs
    assert specs.get("nope", 3) == 3
    assert next(iter(specs)) == "train.w"
