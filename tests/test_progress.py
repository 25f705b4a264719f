"""Progress is shown on a terminal only, and only when there is something to wait for."""

from __future__ import annotations

import io
import sys
from threading import Event

import pytest

from kina import progress
from kina.diagnostics.finding import Finding
from kina.pipeline import Options, check
from kina.source import Source


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_away_from_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with progress.progress() as say:
        say("solve")
    assert stream.getvalue() == ""


def test_what_takes_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Event()
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    show = progress._Progress.show

    def show_and_tell(self: progress._Progress) -> None:
        show(self)
        shown.set()

    monkeypatch.setattr(progress._Progress, "show", show_and_tell)
    with progress.progress() as say:
        say("solve")
        assert shown.wait(30)
    assert "solve" in stream.getvalue()


def test_what_is_quick_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
    with progress.progress() as say:
        say("solve")
    assert stream.getvalue() == ""


def test_stages_are_told_in_order() -> None:
    stages: list[str] = []
    result = check(Source("f.kina", "(mesh (x 1))\n(nothing)"), Options(), stages.append)
    assert stages == [name for name, _ in result.timings]
    assert stages[0] == "read"
    assert all(isinstance(finding, Finding) for finding in result.findings)
