"""`make accept`: take the messages as printed now for the expected ones, and rebuild generated documents."""

from __future__ import annotations

import runpy
from pathlib import Path

from tests import literate, readme, rules_tools, writing_rules
from tests.rulebook import messages


def main() -> None:
    """Rewrite snapshots and documents, and say which snapshots changed."""
    documents = [*readme.accept(), *rules_tools.accept(), *writing_rules.accept()]
    for place in [*literate.accept(), *messages.accept(), *documents]:
        print(f"accepted {place}")
    for name in ("make.py", "make_rules.py"):
        runpy.run_path(str(Path(__file__).parent.parent / "docs" / name), run_name="__main__")


if __name__ == "__main__":
    main()
