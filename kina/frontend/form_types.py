"""Declared types of parameters: `(tensor f32 [8 (* d 4)])`."""

from __future__ import annotations

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ast import TypeForm
from kina.frontend.form_expr import whole
from kina.frontend.former import Former
from kina.frontend.ir import DTYPE_BYTES, TensorType
from kina.frontend.suggest import did_you_mean

#: Dims beyond this do not fit the 32-bit numbers of the rules.
SIZE_LIMIT = (1 << 31) - 1
RANK_LIMIT = 64


def tensor_type(former: Former, form: TypeForm) -> TensorType:
    """The type that a form declares; ProgramError if its dtype or a size is none."""
    name = form.dtype.name
    bound = former.frame.env.get(name) or former.frame.visible.constants.get(name)
    dtype = bound.literal if bound is not None and isinstance(bound.literal, str) else name
    if dtype not in DTYPE_BYTES:
        listed = ", ".join([f"`{known}`" for known in DTYPE_BYTES])
        message = f"`{dtype}` is no dtype; those are {listed}"
        raise ProgramError(error("K016", message, form.dtype.span, helps=did_you_mean(dtype, DTYPE_BYTES)))
    if len(form.shape) > RANK_LIMIT:
        message = f"this tensor has {len(form.shape)} dims, and {RANK_LIMIT} is the most"
        raise ProgramError(error("K029", message, form.shape_span))
    shape: list[int] = []
    for dim, expr in enumerate(form.shape):
        size = whole(former, expr, f"the size of dim {dim}")
        if not 0 <= size <= SIZE_LIMIT:
            limit = "below zero" if size < 0 else f"above {SIZE_LIMIT}"
            raise ProgramError(error("K029", f"dim {dim} has size {size}, which is {limit}", expr.span))
        shape.append(size)
    return TensorType(dtype, tuple(shape))
