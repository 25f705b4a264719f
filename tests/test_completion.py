"""What a shell offers on tab."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from kina.cli import kina
from tests.command import ROOT

PROGRAM = str(ROOT / "examples" / "gpt_train.kina")


def offered(*typed: str) -> list[str]:
    """What is offered for the last word, behind those before it."""
    shell = ShellComplete(kina, {}, "kina", "_KINA_COMPLETE")
    return [item.value for item in shell.get_completions(list(typed[:-1]), typed[-1])]


def test_commands_are_offered() -> None:
    assert offered("ch") == ["check"]
    assert offered("rules", "l") == ["list", "lint"]


def test_tensors_of_the_program_are_offered() -> None:
    assert offered("why", PROGRAM, "train.pos") == [
        "train.positions",
        "train.positions'",
        "train.positions.sgd.multiply",
        "train.positions.next",
    ]
    # by an ending that no other tensor has
    assert "positions" in offered("why", PROGRAM, "pos")
    assert "multiply" not in offered("why", PROGRAM, "mult")


def test_mesh_axes_are_offered_behind_a_tensor() -> None:
    assert offered("why", PROGRAM, "positions.1@") == ["positions.1@model"]
    assert offered("why", PROGRAM, "positions@x") == []


@pytest.mark.parametrize("text", ["(", "(mesh (x 2))", "\x00", ""])
def test_nothing_is_offered_for_a_program_that_is_none(text: str, tmp_path: Path) -> None:
    place = tmp_path / "wrong.kina"
    place.write_text(text, encoding="utf-8")
    assert offered("why", str(place), "") == []
    assert offered("why", str(tmp_path / "missing.kina"), "") == []
    assert offered("why", "-", "") == []


def test_codes_and_rules_are_offered() -> None:
    assert "K201" in offered("explain", "k2")
    assert offered("explain", "sharding.s") == ["sharding.shape-of-shard"]
    assert "dot_general" in offered("rules", "show", "dot")


def test_options_before_are_heard(tmp_path: Path) -> None:
    place = tmp_path / "two.kina"
    place.write_text("(mesh (x 2))\n(defn f ((a (tensor f32 [2]))) a)\n(defn g ((q (tensor f32 [2]))) q)\n")
    assert offered("why", str(place), "") == ["q", "g.q"]
    assert offered("why", "--entry", "f", str(place), "") == ["a", "f.a"]


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert offered("why", str(tmp_path / "pipe"), "") == []
