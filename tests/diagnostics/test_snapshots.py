"""The printed messages are those of the literate files."""

from __future__ import annotations

import pytest

from tests import literate

SNAPSHOTS = list(literate.snapshots())


@pytest.mark.parametrize("snapshot", SNAPSHOTS, ids=lambda s: f"{s.file.stem}:{s.heading}:{s.form}")
def test_message_is_printed_as_recorded(snapshot: literate.Snapshot) -> None:
    assert snapshot.actual() == snapshot.expected


def test_each_code_has_its_message_recorded() -> None:
    assert literate.codes_without_message() == [], "run `make accept`"


def test_snapshots_are_never_accepted_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(SystemExit):
        literate.accept()
