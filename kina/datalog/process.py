"""Runs a child process to its end, or to Kina's."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def run_child(
    command: Sequence[str],
    data: bytes = b"",
    time_limit: float | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """What the process wrote, after it ended; it is killed and gone if this function raises.

    Raises subprocess.TimeoutExpired at the time limit, in seconds, and OSError if the process cannot start.
    `subprocess.run` does not wait for what it kills on an interrupt, which would leave it in our folder.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    ) as child:
        try:
            out, err = child.communicate(data, time_limit)
        except BaseException:
            child.kill()
            child.wait()
            raise
    return subprocess.CompletedProcess(command, child.returncode, out, err)
