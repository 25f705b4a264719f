"""Surface op forms: what `(matmul a b)` and the others become in the typed IR."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kina.frontend.builder import Builder, Call
from kina.frontend.forms.core import Form
from kina.frontend.ops.core import DTYPES

__all__ = ["FORMS", "WORDS", "Form", "apply"]

FORMS: Mapping[str, Form] = MappingProxyType({})

#: Bare words that stand for themselves where no variable of that name is bound.
WORDS: frozenset[str] = frozenset(DTYPES) | {word for form in FORMS.values() for word in form.words}


def apply(builder: Builder, call: Call) -> tuple[int, ...]:
    """Build the form and give the ids of its results; ProgramError with located findings if it cannot be.

    New values are named after the form: its results by its name, what lies between by name and kind
    (`f.mean`, `f.mean.reduce`).
    """
    return FORMS[call.name].build(builder, call)
