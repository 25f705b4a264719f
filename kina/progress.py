"""Telling a person at a terminal what takes long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

#: Seconds until something is shown: what is quicker needs no progress.
PATIENCE = 2.0


class _Progress:
    """The line on the terminal, once there is one; it is made by a timer's thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._said = ""
        self._status: Status | None = None
        self._done = False

    def say(self, what: str) -> None:
        """Show `what` from now on, or as soon as anything is shown."""
        with self._lock:
            self._said = what
            if self._status is not None:
                self._status.update(what)

    def show(self) -> None:
        from rich.console import Console
        from rich.markup import escape

        with self._lock:
            if not self._done:
                self._status = Console(stderr=True).status(escape(self._said))
                self._status.start()

    def stop(self) -> None:
        with self._lock:
            self._done = True
            if self._status is not None:
                self._status.stop()


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Give a function that says what is going on; it is shown after two seconds, and only on a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    line = _Progress()
    timer = Timer(PATIENCE, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield line.say
    finally:
        timer.cancel()
        line.stop()
