"""The wheel is complete: it works outside the checkout."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_the_wheel_has_all_data_files(unpacked: Path) -> None:
    for folder, inside in (("rules", "kina/_rules"), ("kina", "kina")):
        for file in (ROOT / folder).rglob("*"):
            if file.is_file() and "__pycache__" not in file.parts and file.suffix != ".pyc":
                assert (unpacked / inside / file.relative_to(ROOT / folder)).is_file(), file


def test_the_wheel_has_nothing_else(unpacked: Path) -> None:
    assert {path.name.split("-")[0] for path in unpacked.iterdir()} == {"kina"}


def test_an_installed_kina_checks_a_program(unpacked: Path, tmp_path: Path) -> None:
    program = tmp_path / "p.kina"
    program.write_text(
        "(mesh (x 2))\n(defn f ((a (tensor f32 [4]) @sharded(axis=0))) (exp a))\n", encoding="utf-8"
    )
    script = f"import sys; sys.path.insert(0, {str(unpacked)!r}); from kina.__main__ import main; main()"
    for arguments in (["rules", "path"], ["check", str(program), "--solver", "clingo"]):
        command = [sys.executable, "-I", "-c", script, *arguments]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if arguments[0] == "rules":
            assert Path(done.stdout.strip()) == unpacked / "kina" / "_rules"
