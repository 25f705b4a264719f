"""Memory that is kept between steps, and given back after them."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from kina.sim import heap
from kina.sim.heap import kept

#: How many pages the system had to clear for twenty arrays, one after the other: before, inside, and after.
PROGRAM = """
import resource
import numpy as np
from kina.sim.heap import kept

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def twenty():
    before = faults()
    for _ in range(20):
        np.ones(64 << 20, np.uint8)
    return faults() - before

first = twenty()
with kept():
    twenty()
    inside = twenty()
print(first, inside, twenty())
"""


@pytest.fixture
def applied(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is set, in order."""
    said: list[str] = []
    names = {heap._KEPT: "kept", heap._DEFAULTS: "defaults"}
    monkeypatch.setattr(heap, "_apply", lambda settings: said.append(names[settings]))
    monkeypatch.setattr(heap, "_give_back", lambda: said.append("given back"))
    return said


def test_only_the_outermost_sets_and_gives_back(applied: list[str]) -> None:
    with kept():
        with kept():
            assert applied == ["kept"]
        assert applied == ["kept"]
    assert applied == ["kept", "defaults", "given back"]


def test_whoever_ends_last_gives_back(applied: list[str]) -> None:
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with kept():
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    with kept():
        thread.start()
        assert entered.wait(60)
    assert applied == ["kept"]
    leave.set()
    thread.join()
    assert applied == ["kept", "defaults", "given back"]


def test_an_error_inside_ends_it(applied: list[str]) -> None:
    with pytest.raises(MemoryError), kept():
        raise MemoryError
    assert applied == ["kept", "defaults", "given back"]


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    heap._library.cache_clear()
    monkeypatch.setattr(sys, "platform", "darwin")
    with kept():
        assert heap._library() is None
    monkeypatch.undo()
    heap._library.cache_clear()


@pytest.mark.skipif(heap._library() is None, reason="the C library is not glibc")
def test_pages_are_cleared_once() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    before, inside, after = (int(word) for word in done.stdout.split())
    assert inside * 10 < before
    assert inside * 10 < after
