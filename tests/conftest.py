"""What all tests share: whether Soufflé is there, and saying at the end when it was not."""

from __future__ import annotations

import os
import shutil

import pytest

_NO_SOUFFLE = "Soufflé is not here"


def souffle_is_here() -> bool:
    """Whether the reference engine is on PATH or named by KINA_SOUFFLE."""
    return bool(os.environ.get("KINA_SOUFFLE") or shutil.which("souffle"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if souffle_is_here():
        return
    for item in items:
        if item.get_closest_marker("souffle"):
            item.add_marker(pytest.mark.skip(reason=_NO_SOUFFLE))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if souffle_is_here():
        terminalreporter.write_line("Soufflé was found: both engines were tested.")
        return
    reports = terminalreporter.stats.get("skipped", [])
    skipped = sorted({report.nodeid for report in reports if _NO_SOUFFLE in str(report.longrepr)})
    terminalreporter.section("SOUFFLÉ WAS NOT THERE", sep="!", red=True, bold=True)
    terminalreporter.write_line(
        "Only clingo was tested, against the decisions of Soufflé that are recorded in the tree. "
        "Put Soufflé 2.5 or later on PATH, or name it in KINA_SOUFFLE."
    )
    terminalreporter.write_line(f"{len(skipped)} tests were skipped for it:")
    for name in skipped:
        terminalreporter.write_line(f"  {name}")
