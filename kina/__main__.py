"""The `kina` command: everything else is imported inside, so that an interrupt is quiet from the start."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and end the process with its exit code, at once.

    Nothing is left to be done by then, and to take a large program apart takes a tenth of a second.
    """
    os._exit(command())


def command() -> int:
    """Run the command line; its exit code, when all that it says is written."""
    _open_streams()
    _handle_endings(_interrupt)
    # programs are large trees that live to the end: collecting as often as usual takes a fifth of the time
    gc.set_threshold(1_000_000, 20, 100)
    try:
        from kina.cli import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        _handle_endings(signal.SIG_IGN)  # one is enough, and what is left to do is short
        sys.stderr.write("kina: interrupted\n")
        code = 130
    _flush_quietly()
    return code


def _open_streams() -> None:
    """Give numbers 0 to 2 to streams where the caller closed them: a file opened later would get them.

    Nothing can be written to the standard output then, which is said where something is to be.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is not None:
            continue
        handle = os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
        mode = "r" if name == "stdin" else "w"
        setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace"))


def _handle_endings(handler: signal.Handlers | Callable[[int, FrameType | None], None]) -> None:
    """What an end asked for from outside does: without a handler children and temporary files stay behind.

    One that whoever started Kina ignores, as `nohup` does, is ignored.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _flush_quietly() -> None:
    """Flush the standard streams here: a closed pipe at interpreter exit would print a traceback."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
