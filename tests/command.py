"""Running the `kina` command as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def kina_command(
    *arguments: str, cwd: Path | None = None, stdin: bytes = b"", **env: str
) -> subprocess.CompletedProcess[str]:
    """What `kina ARGUMENTS` prints, and its exit code."""
    surroundings = {
        name: value for name, value in os.environ.items() if name not in ("KINA_DEBUG", "NO_COLOR")
    }
    surroundings |= {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8", **env}
    done = subprocess.run(
        [sys.executable, "-m", "kina", *arguments],
        cwd=cwd or ROOT,
        input=stdin,
        capture_output=True,
        env=surroundings,
        timeout=120,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
    )
