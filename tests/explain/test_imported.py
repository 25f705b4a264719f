"""Messages about programs of several files: repairs are tried on the whole program, wherever they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

import kina
from kina import cli

T = "(tensor f32 [8 8])"
#: The program, and the file that it imports.
PROGRAMS = {
    "a conflict with a layer of another file": (
        f"(defn f ((h {T} @sharded(axis=0))) (layer h (constant 1 f32 [8 8])))",
        f"(defn layer (h (w {T} @sharded(axis=1))) (gelu (matmul h w)))",
    ),
    "annotations in another file that contradict each other": (
        f"(defn f ((a {T})) (part a))",
        f"(defn part ((a {T} @sharded(axis=0) @sharded(axis=1))) (exp a))",
    ),
    "the other file is a program of its own": (
        f"(defn f ((h {T} @sharded(axis=0)) (w {T} @sharded(axis=1))) (layer h w))",
        f"(defn layer (h w) (gelu (matmul h w)))\n(defn main ((a {T})) (layer a a))",
    ),
}


def written(folder: Path, files: tuple[str, str]) -> Path:
    (folder / "parts.kina").write_text(files[1], encoding="utf-8")
    main = folder / "main.kina"
    main.write_text(f'(import "parts.kina")\n(mesh (x 4))\n{files[0]}\n', encoding="utf-8")
    return main


@pytest.mark.parametrize("files", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("entry", [pytest.param(None, marks=pytest.mark.deep), "f"])
def test_every_help_repairs_the_program(files: tuple[str, str], entry: str | None, tmp_path: Path) -> None:
    result = kina.check(written(tmp_path, files), entry=entry)
    (finding,) = result.findings
    helps = [help_ for help_ in finding.helps if help_.edits]
    assert len(helps) >= 2
    assert all(help_.verified for help_ in helps)
    for number in (1, len(helps)):
        main = written(tmp_path, files)
        assert cli.run(["check", str(main), "--fix", str(number)]) == 0


def test_a_message_names_the_command_for_the_program_that_was_checked(tmp_path: Path) -> None:
    files = PROGRAMS["a conflict with a layer of another file"]
    main = written(tmp_path, files)
    (finding,) = kina.check(main).findings
    assert finding.primary.file == str(tmp_path / "parts.kina")
    assert any(f"kina why {main} layer.matmul.0@x --not" in more for more in finding.more)
