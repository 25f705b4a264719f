"""Questions to programs."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from kina.explain.inquiry import Inquiry, inquire
from kina.explain.reasons import Reason, Reasoner
from kina.explain.why_not import OUTPUTS
from kina.facts.names import encode
from kina.frontend.ir import Program

Question = tuple[tuple[str, int], str]


def quiet(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def asked(program: Program, solver: str = "auto") -> Inquiry:
    return inquire(program, solver, OUTPUTS, quiet, everywhere=True)


def absent(inquiry: Inquiry) -> list[Question]:
    """Every dim and axis that propagation did not bring together."""
    return [
        ((encode(value.name), dim), axis.name)
        for value in inquiry.program.values
        for dim in range(value.type.rank)
        for axis in inquiry.program.mesh.axes
        if axis.size > 1 and inquiry.grant(value, dim, axis.name) is None
    ]


def reason_now(inquiry: Inquiry, question: Question) -> Reason | None:
    """The reason for a question in another program, None if the axis arrives there."""
    (name, dim), axis = question
    if inquiry.grant(inquiry.case.value(name), dim, axis) is not None:
        return None
    return Reasoner(inquiry).reason((name, dim), axis)
