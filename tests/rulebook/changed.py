"""Copies of Kina's rule base with something changed, for tests of comparisons."""

from __future__ import annotations

import shutil
from pathlib import Path

from kina.paths import rules_path


def copied(folder: Path, *edits: tuple[str, str, str]) -> Path:
    """A rule base in `folder`/rules: Kina's own, with a text in a file replaced by another in each edit."""
    target = folder / "rules"
    target.mkdir(parents=True)
    for file in rules_path().glob("*.dl"):
        shutil.copy(file, target / file.name)
    for name, old, new in edits:
        text = (target / name).read_text(encoding="utf-8")
        assert old in text, f"{name} has no {old!r}"
        (target / name).write_text(text.replace(old, new, 1), encoding="utf-8")
    return target


#: One-line changes: contracted dims cannot be split any more; absolute values of parts are added up.
UNSPLIT = (
    "contraction.dl",
    "factor(op, port, dim, 100 + index) :-\n",
    "factor(op, port, dim, 100 + index) :-\n    index > 0,\n",
)
ABSOLUTE = (
    "elementwise.dl",
    'additive_kind("negate").\n',
    'additive_kind("negate").\nadditive_kind("abs").\n',
)
