"""What the README shows, and what really happens."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from tests.command import ROOT, kina_command

FILE = ROOT / "README.md"


def block(language: str, text: str) -> re.Match[str]:
    """The first fenced block of a language."""
    found = re.search(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)
    assert found is not None, language
    return found


def start() -> str:
    """The console block of the five-line start, made anew: the command and what it prints."""
    text = FILE.read_text(encoding="utf-8")
    command = block("console", text)[1].splitlines()[0]
    name, *arguments = command.removeprefix("$ ").split()
    assert name == "kina"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "start.kina").write_text(block("kina", text)[1], encoding="utf-8")
        done = kina_command(*arguments, cwd=Path(folder))
    assert done.returncode == 0, done.stderr
    return f"{command}\n{done.stdout}"


def message() -> str:
    """The first finding about the example that contradicts itself."""
    done = kina_command("check", "conflict.kina", cwd=ROOT / "examples")
    assert done.returncode == 1
    return done.stderr.split("\n\n")[0].rstrip() + "\n"


def accept() -> list[str]:
    """Write both into the README; the blocks that changed."""
    changed = []
    for language, new in (("text", message()), ("console", start())):
        text = FILE.read_text(encoding="utf-8")
        old = block(language, text)
        if old[1] != new:
            FILE.write_text(text[: old.start(1)] + new + text[old.end(1) :], encoding="utf-8")
            changed.append(f"README.md: {language}")
    return changed
