"""The messages in the tests beside the rules, made anew for `make accept`."""

from __future__ import annotations

import os

from kina.paths import rules_path
from kina.rulebook.sections import files, sections_of
from kina.source import Source
from tests.rulebook.checked import message


def accept() -> list[str]:
    """Write what is printed now into the `message` blocks; the places that changed. Never in CI."""
    if os.environ.get("CI"):
        raise SystemExit("messages are not accepted in CI")
    changed = []
    for file in files(rules_path()):
        text = file.read_text(encoding="utf-8")
        # From the end, so that the places of those before stay true.
        for section in reversed(list(sections_of(Source(str(file), text)))):
            for trial in reversed(section.trials):
                if trial.message is None or message(trial.text) == trial.message.text:
                    continue
                text = text[: trial.message.start] + message(trial.text) + text[trial.message.end :]
                changed.append(section.name)
        if text != file.read_text(encoding="utf-8"):
            file.write_text(text, encoding="utf-8")
    return changed
