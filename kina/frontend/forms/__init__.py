"""Surface op forms: what `(matmul a b)` and the others become in the typed IR."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kina.frontend.builder import Builder, Call
from kina.frontend.forms import (
    contraction,
    creation,
    einsum,
    elementwise,
    indexing,
    random,
    reduction,
    shaping,
)
from kina.frontend.forms.core import Form
from kina.frontend.ops.core import DTYPES

__all__ = ["FORMS", "WORDS", "Form", "apply"]

_MODULES = (elementwise, shaping, contraction, einsum, reduction, indexing, creation, random)

#: surface name -> form
FORMS: Mapping[str, Form] = MappingProxyType(
    {form.name: form for module in _MODULES for form in module.FORMS}
)

#: Bare words that stand for themselves where no variable of that name is bound.
WORDS: frozenset[str] = frozenset(DTYPES) | {word for form in FORMS.values() for word in form.words}


def apply(builder: Builder, call: Call) -> tuple[int, ...]:
    """Build the form and give the ids of its results; ProgramError with located findings if it cannot be.

    New values are named after the form: its results by its name, what lies between by name and kind
    (`f.mean`, `f.mean.reduce`).
    """
    first_value, first_op = len(builder.values), len(builder.ops)
    outer, builder.head = builder.head, call.name
    try:
        results = FORMS[call.name].build(builder, call)
    finally:
        builder.head = outer
    for value in results:
        if value >= first_value and not builder.values[value].name:
            builder.rename(value, builder.name_for(call.name))
    if len(builder.values) - first_value > len(results):
        _name_between(builder, call.name, first_op)
    return results


def _name_between(builder: Builder, head: str, first_op: int) -> None:
    for op in builder.ops[first_op:]:
        for value in op.results:
            if not builder.values[value].name:
                builder.rename(value, builder.name_for(f"{head}.{op.kind}"))
