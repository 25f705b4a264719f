"""What `docs/rules-tools.md` shows, and what is really printed."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from kina.paths import rules_path
from tests.command import ROOT, printed_by
from tests.rulebook.changed import UNSPLIT, copied

FILE = ROOT / "docs" / "rules-tools.md"
_BLOCK = re.compile(r"^```console\n\$ ([^\n]+)\n(.*?)^```$", re.S | re.M)
_PROGRAM = ROOT / "examples" / "mlp.kina"


def shown() -> list[tuple[str, str]]:
    """The commands of the document with what it says that they print."""
    return [(match[1], match[2]) for match in _BLOCK.finditer(FILE.read_text(encoding="utf-8"))]


def printed(commands: list[str]) -> list[str]:
    """What commands print beside a rule base `main` and one that is changed, `branch`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder / "main")
        copied(folder / "branch", UNSPLIT)
        (folder / "mlp.kina").write_text(_PROGRAM.read_text(encoding="utf-8"), encoding="utf-8")
        return [printed_by(command, folder) for command in commands]


def accept() -> list[str]:
    """Write what is printed now into the document; the commands that print something else."""
    assert rules_path().is_dir()
    blocks = shown()
    changed = []
    text = FILE.read_text(encoding="utf-8")
    for (command, old), new in zip(blocks, printed([command for command, _ in blocks]), strict=True):
        if old != new:
            text = text.replace(f"```console\n$ {command}\n{old}```", f"```console\n$ {command}\n{new}```")
            changed.append(f"docs/rules-tools.md: {command}")
    FILE.write_text(text, encoding="utf-8")
    return changed
