"""What all tests share: whether Soufflé is there, and saying at the end when it was not."""

from __future__ import annotations

import signal
from functools import cache

import pytest

from kina.datalog.souffle_engine import find_souffle
from kina.diagnostics.finding import SetupError

#: A shell that starts the suite in the background has interrupts ignored, in it and in all that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

_NO_SOUFFLE = "Soufflé is not here"


@cache
def souffle_is_here() -> bool:
    """Whether the reference engine is on PATH or named by KINA_SOUFFLE, and is not too old."""
    try:
        return find_souffle() is not None
    except SetupError:
        return False


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
    skipped = sorted({report.nodeid for report in reports if "souffl" in str(report.longrepr).casefold()})
    terminalreporter.section("SOUFFLÉ WAS NOT THERE", sep="!", red=True, bold=True)
    terminalreporter.write_line(
        "Only clingo was tested, against the decisions of Soufflé that are recorded in the tree. "
        "Put Soufflé 2.5 or later on PATH, or name it in KINA_SOUFFLE."
    )
    terminalreporter.write_line(f"{len(skipped)} tests were skipped for it:")
    for name in skipped:
        terminalreporter.write_line(f"  {name}")
