"""Functions of installed packages compute declared ops where they are asked for, and are held to bodies."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kina import cli
from tests.declared_ops import ENERGY, ROTARY, TOTALS

PROGRAM = """(mesh (x 2))
(defn f ((a (tensor f32 [2 8 4 6]) @sharded(axis=1)) (b (tensor f32 [4 6]) @sharded(axis=1))
         (w (tensor f32 [6])))
  (let (((p e) (energy b w)))
    (values (rotary a :start 3) (totals b b) p e)))
"""
KERNELS = """
import numpy as np

calls = []

def rotary(x, *, start, base):
    calls.append(("rotary", x.shape, start, base))
    b, s, h, d = x.shape
    half = d // 2
    places = (np.arange(s) + start).astype(np.float32)[:, None]
    speeds = np.exp(np.arange(half, dtype=np.float32) * np.float32(-4.0 / half))
    angle = (places * speeds * np.float32(100.0 / base))[None, :, None, :]
    left, right = x[..., :half], x[..., half:]
    c, z = np.cos(angle), np.sin(angle)
    return np.concatenate([left * c - right * z, left * z + right * c], 3).astype(x.dtype)

def totals(a, w):
    return (a * w).sum(1)

def energy(a, w):
    return a * w, (a * a * w).sum(1)

def writes(a, w):
    a += 1
    return a.sum(1)

def wrong(a, w):
    return (a * w).sum(1) * 1.01

def shape(a, w):
    return a

def identity(a, w):
    return a, a[:, 0]
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages with one, `kernels_for_tests`, and a program beside it."""
    folder = tmp_path / "site"
    (folder / "kernels_for_tests-1.0.dist-info").mkdir(parents=True)
    (folder / "kernels_for_tests-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: kernels_for_tests\nVersion: 1.0\n"
    )
    (folder / "kernels_for_tests.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(str(folder))
    for sample in (ROTARY, TOTALS, ENERGY):
        sample.write(tmp_path)
    (tmp_path / "p.kina").write_text(PROGRAM)
    yield tmp_path
    monkeypatch.undo()
    import sys

    sys.modules.pop("kernels_for_tests", None)


def offer(folder: Path, **functions: str) -> None:
    lines = "".join(f"{op} = {value}\n" for op, value in functions.items())
    info = folder / "site" / "kernels_for_tests-1.0.dist-info" / "entry_points.txt"
    info.write_text(f"[kina.kernels]\n{lines}")


def run(folder: Path, *options: str) -> int:
    return cli.run(["run", str(folder / "p.kina"), "--rules", str(folder), "--verify", *options])


def test_functions_give_what_the_bodies_give(site: Path) -> None:
    offer(
        site,
        rotary="kernels_for_tests:rotary",
        totals="kernels_for_tests:totals",
        energy="kernels_for_tests:energy",
    )
    assert run(site, "--kernels") == 0
    import kernels_for_tests  # type: ignore[import-not-found]

    assert sorted(kernels_for_tests.calls) == [
        ("rotary", (2, 4, 4, 6), 3, 100.0),
        ("rotary", (2, 4, 4, 6), 7, 100.0),
    ]


def test_no_code_runs_unless_it_is_asked_for(site: Path) -> None:
    offer(site, totals="kernels_for_tests:gone")
    (site / "site" / "kernels_for_tests.py").write_text("raise RuntimeError\n")
    assert run(site) == 0


@pytest.mark.parametrize(
    ("value", "code", "part"),
    [
        ("kernels_for_tests:gone", 2, "cannot be loaded: AttributeError"),
        ("no_such_module:totals", 2, "cannot be loaded: ModuleNotFoundError"),
        ("kernels_for_tests:calls", 2, "is no function"),
        ("kernels_for_tests:wrong", 1, "K708"),
        ("kernels_for_tests:writes", 1, "read-only"),
        ("kernels_for_tests:shape", 1, "the function for `totals` gives f32[4, 3], not f32[4]"),
        ("kernels_for_tests:rotary", 1, "takes 1 positional argument"),
    ],
)
def test_a_function_that_does_not_fit_is_found(
    value: str, code: int, part: str, site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(site, totals=value)
    assert run(site, "--kernels") == code
    assert part in " ".join(capsys.readouterr().err.split())


def test_a_result_may_be_an_operand(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is handed back is no view, so nobody writes into what others hold."""
    offer(site, energy="kernels_for_tests:identity")
    (site / "p.kina").write_text(
        "(mesh (x 2)) (defn f ((b (tensor f32 [4 6])) (w (tensor f32 [6]))) "
        "(let (((p e) (energy (exp b) w))) (values (negate p) (negate e) p)))"
    )
    assert run(site, "--kernels") == 1
    assert "K708" in capsys.readouterr().err


def test_two_packages_that_offer_one_function_are_refused(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    offer(site, totals="kernels_for_tests:totals")
    info = site / "site" / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[kina.kernels]\ntotals = kernels_for_tests:wrong\n")
    assert run(site, "--kernels") == 2
    assert "several packages offer a function for `totals`" in capsys.readouterr().err
    assert cli.run(["doctor"]) == 0
    assert "kina.kernels totals" in capsys.readouterr().out


def test_xla_runs_bodies(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(site, "--kernels", "--engine", "xla") == 2
    assert "--kernels" in capsys.readouterr().err
