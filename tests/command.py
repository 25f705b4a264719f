"""Running the `kina` command as a process of its own."""

from __future__ import annotations

import os
import re
import shlex
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


def printed_by(command: str, folder: Path) -> str:
    """What a command prints, through the `grep`s behind it."""
    first, *filters = command.split(" | grep -E ")
    words = shlex.split(first)
    if words[0] == "cat":
        text = (folder / words[1]).read_text(encoding="utf-8")
    else:
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        text = done.stdout + done.stderr
    for each in filters:
        *options, pattern = shlex.split(each)
        lines = text.splitlines()
        if options:
            found = [match[0] for line in lines for match in re.finditer(pattern, line)]
        else:
            found = [line for line in lines if re.search(pattern, line)]
        text = "".join(f"{line}\n" for line in found)
    return text
