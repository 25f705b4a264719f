"""One way in for the three questions: why it is so, why it is not, why data moves."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from kina.diagnostics.finding import SetupError

if TYPE_CHECKING:
    from kina.explain.answer import Answer
    from kina.explain.inquiry import Inquiry
    from kina.explain.why import Stages
    from kina.frontend.ir import Program


def _no_stage(name: str) -> AbstractContextManager[None]:
    return nullcontext()


def ask(
    program: Program,
    solver: str,
    question: str | None,
    negated: bool,
    collective: int | None,
    stage: Stages = _no_stage,
) -> tuple[Inquiry, tuple[Answer, ...]]:
    """The answers to `TENSOR[.DIM][@AXIS]`, `negated` or not, or about a collective, by its number.

    Raises SetupError if what is asked about is not there, or not one of the two is asked about.
    """
    if (question is None) == (collective is None) or (negated and question is None):
        raise SetupError("a question is about a tensor, which may be negated, or about a collective")
    if collective is not None:
        from kina.explain.collective import why_collective

        return why_collective(program, solver, collective, stage)
    from kina.explain.names import find_target

    target = find_target(program, question or "")
    if negated:
        from kina.explain.why_not import why_not

        return why_not(program, solver, target, stage)
    from kina.explain.why import why

    return why(program, solver, target, stage)
