"""Which ops count as made by differentiation: its own, and those that compute with its results only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kina.frontend.ir import Op, Value


def spread(values: Sequence[Value], ops: Sequence[Op]) -> tuple[Op, ...]:
    """The ops, those marked derived too that take derived values and, besides, only what has no layout.

    The norm of a gradient is such a value: it takes its layout from the gradient, which the rules give to
    derived values alone. The next value of a parameter is none, since the parameter is written. Scalars,
    constants and what is made of these have no layout to give.
    """
    derived: set[int] = set()
    bare = {value.id for value in values if value.type.rank == 0}
    marked: list[Op] = []
    for op in ops:
        if op.origin != "derived":
            taken = [operand for operand in op.operands if operand not in derived]
            if any(operand not in bare for operand in taken):
                marked.append(op)
                continue
            if len(taken) == len(op.operands):
                bare.update(op.results)
                marked.append(op)
                continue
            op = replace(op, origin="derived")
        derived.update(op.results)
        marked.append(op)
    return tuple(marked)
