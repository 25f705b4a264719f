"""`docs/rules.md` is what the rule files say now."""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_rules_md_is_current() -> None:
    made = runpy.run_path(str(DOCS / "make_rules.py"))["rules_page"]()
    assert (DOCS / "rules.md").read_text(encoding="utf-8") == made, "run `make accept`"
