"""`(grad f …)`: the place where reverse-mode differentiation joins formation."""

from __future__ import annotations

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ast import Apply
from kina.frontend.builder import Arg
from kina.frontend.former import Former


def form_grad(former: Former, expr: Apply) -> Arg:
    """The values of a `grad` form, whose arguments are not evaluated yet.

    Raises ProgramError: this version of Kina does not differentiate.
    """
    raise ProgramError(
        error("K033", "this version of Kina does not differentiate", former.span_for(expr.span))
    )
