"""Streams that the caller closed, and programs that never end."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kina import pipeline
from kina.diagnostics.finding import SetupError
from kina.frontend import reader
from tests.command import ROOT, kina_command

UNWRITABLE = "error: cannot write to the standard output: bad file descriptor\n"
UNREADABLE = "error: `nowhere.kina` cannot be read: no such file or directory\n"


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f"{shlex.quote(sys.executable)} -m kina {command}"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("check f.kina >&-", 2, UNWRITABLE),
        ("check f.kina --format json >&-", 2, UNWRITABLE),
        ("explain K201 >&-", 2, UNWRITABLE),
        ("facts f.kina -o facts >&- <&-", 2, UNWRITABLE),
        ("check nowhere.kina >&-", 2, UNREADABLE),
        ("check nowhere.kina 2>&-", 2, ""),
        ("check nowhere.kina >&- 2>&- <&-", 2, ""),
        ("check - <&- >/dev/null", 1, "error[K006]: `<stdin>` holds no form\n"),
    ],
)
def test_streams_may_be_closed(command: str, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "f.kina").write_text(
        "(mesh (x 2))\n(defn f ((a (tensor f32 [4]) @sharded(axis=0))) (exp a))\n"
    )
    done = shell(command, tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(said)
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == bool(said)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero here")
@pytest.mark.parametrize(
    "words", [("check",), ("why", "-"), ("run",), ("facts", "-o", "x")], ids=lambda w: w[0]
)
def test_a_file_that_never_ends_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    first, *rest = words
    arguments = [each for each in rest if each != "-"]
    done = kina_command(first, "/dev/zero", *arguments, *(["a"] if "-" in rest else []))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: `/dev/zero` cannot be read: it is longer than 268,435,456 bytes\n"


def test_a_stream_that_never_ends_is_refused(tmp_path: Path) -> None:
    done = shell("check - </dev/zero", tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: `<stdin>` cannot be read: it is longer than 268,435,456 bytes\n"


def test_the_longest_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "f.kina"
    path.write_text("(mesh (x 2))")
    monkeypatch.setattr(reader, "MOST_BYTES", 12)
    assert pipeline.open_source(str(path)).text == "(mesh (x 2))"
    path.write_text("(mesh (x 2))\n")
    with pytest.raises(SetupError, match="it is longer than 12 bytes"):
        pipeline.open_source(str(path))
