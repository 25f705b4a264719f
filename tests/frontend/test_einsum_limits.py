"""Equations of einsum that no tensor can meet are refused at once."""

from __future__ import annotations

import pytest

from kina.diagnostics.finding import ProgramError
from kina.pipeline import Options, build
from kina.source import Source


def test_an_equation_of_a_million_letters_is_refused() -> None:
    equation = "i" * 1_000_000
    text = f'(mesh (x 2))\n(defn f ((a (tensor f32 [4]))) (einsum "{equation}" a))'
    with pytest.raises(ProgramError) as caught:
        build(Source("long.kina", text), Options())
    (finding,) = caught.value.findings
    assert finding.code == "K110"
    assert len(finding.message) < 200
