"""Which kernels OpenBLAS is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kina.sim.blas_core import choose_core, fitting_core

AVX512 = "avx512f avx512dq avx512cd avx512bw avx512vl avx512_bf16"
ZEN_5 = f"processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nflags\t\t: fpu avx2 {AVX512}\n"
CHOICE = (
    "import os, sys, pathlib; from kina.sim.blas_core import choose_core;"
    "choose_core(pathlib.Path(sys.argv[1])); print(os.environ.get('OPENBLAS_CORETYPE', 'none'))"
)


def core(text: str) -> str | None:
    return fitting_core(text.splitlines(keepends=True))


def test_amd_cores_with_avx512_ask_for_kernels_with_it() -> None:
    assert core(ZEN_5) == "Cooperlake"


@pytest.mark.parametrize("flag", AVX512.split())
def test_each_of_the_instructions_is_needed(flag: str) -> None:
    assert core(ZEN_5.replace(f" {flag}", " other", 1)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "processor : 0\n",
        ZEN_5.replace("AuthenticAMD", "GenuineIntel"),
        # only the first processor is read
        "processor : 0\n\n" + ZEN_5,
        "CPU implementer : 0x41\nFeatures : fp asimd\n",
    ],
)
def test_others_are_left_to_openblas(text: str) -> None:
    assert core(text) is None


def test_the_variable_is_set_for_a_process_without_numpy(tmp_path: Path) -> None:
    assert chosen(tmp_path, ZEN_5) == "Cooperlake"


def test_what_the_user_asked_for_stays(tmp_path: Path) -> None:
    assert chosen(tmp_path, ZEN_5, OPENBLAS_CORETYPE="Haswell") == "Haswell"


def test_a_system_without_the_file_is_left_alone(tmp_path: Path) -> None:
    assert chosen(tmp_path, None) == "none"


def test_a_process_with_numpy_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # NumPy has loaded OpenBLAS, which does not look again; children would compute with other kernels
    import numpy  # noqa: F401

    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    place = tmp_path / "processors"
    place.write_text(ZEN_5, encoding="utf-8")
    choose_core(place)
    assert "OPENBLAS_CORETYPE" not in os.environ


def chosen(folder: Path, text: str | None, **variables: str) -> str:
    """What the variable is after the choice, in a process of its own."""
    place = folder / "processors"
    if text is not None:
        place.write_text(text, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
    command = [sys.executable, "-c", CHOICE, str(place)]
    done = subprocess.run(command, env=kept | variables, capture_output=True, text=True, check=True)
    return done.stdout.strip()
