"""`docs/language.md` is true: its programs form, and its tables are those of the code."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from kina.frontend.form import form
from kina.frontend.form_modules import library
from kina.frontend.forms import FORMS
from kina.frontend.reader import read
from kina.frontend.spec import check_ir
from kina.source import Source

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "language.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```kina\n(.*?)```", TEXT, re.S)


@pytest.mark.parametrize("text", PROGRAMS)
def test_programs_form(text: str) -> None:
    check_ir(form(read(Source("language.md", text))))


def test_tables_are_current() -> None:
    tools = runpy.run_path(str(DOCS / "make_language.py"))
    assert tools["rebuilt"](TEXT) == TEXT, "run `python docs/make_language.py`"


def test_every_op_and_function_has_a_row() -> None:
    for name in [*FORMS, *library()]:
        assert re.search(rf"^\| `\({re.escape(name)}[ )]", TEXT, re.M), name
