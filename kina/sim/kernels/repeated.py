"""Elementwise ops on operands that repeat their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kina.sim.dtypes import Array


def applied(function: Callable[..., Array], operands: Sequence[Array]) -> Array:
    """The function's value, computed once along dims in which every operand repeats its elements.

    Such are a broadcast scalar and an iota, as which a one-hot starts: the value repeats as they do.
    """
    first = operands[0]
    if all(0 in x.strides and x.shape == first.shape for x in operands):
        index = tuple(
            slice(1) if size > 1 and not any(x.strides[dim] for x in operands) else slice(None)
            for dim, size in enumerate(first.shape)
        )
        return np.broadcast_to(function(*(x[index] for x in operands)), first.shape)
    return np.asarray(function(*operands))
