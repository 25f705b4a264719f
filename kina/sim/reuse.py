"""Computes elementwise ops in place of an operand that dies, when nobody else can see it.

New memory costs more than the arithmetic: the system clears each fresh page. An operand may be overwritten if
the step is its last use and the array has no other reference: no view, no other device, no caller. Reference
counts tell, since a view holds one to its base.

The counts depend on how far other devices are, so a result must be laid out as a new array would be: sums and
products add in the order in which elements lie in memory.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from kina.sim.dtypes import Array
from kina.sim.kernels.elementwise import BINARY, UNARY, Elementwise, clamp, select
from kina.sim.kernels.repeated import applied

#: Ops that take `out`, and the operands that it may be.
PLACES: Mapping[str, tuple[Elementwise, tuple[int, ...]]] = MappingProxyType(
    {kind: (function, (0,)) for kind, function in UNARY.items()}
    | {kind: (function, (0, 1)) for kind, function in BINARY.items()}
    | {"select": (select, (1, 2)), "clamp": (clamp, (1,))}
)


def candidates(
    kind: str, operands: Sequence[int], dead: Sequence[int], types: Sequence[object], result: object
) -> tuple[int, ...]:
    """Positions of operands that may hold the result: they die here and have its type.

    A value that is an operand twice is left alone: its reference count is another one.
    """
    if kind not in PLACES:
        return ()
    return tuple(
        place
        for place in PLACES[kind][1]
        if operands[place] in dead and operands.count(operands[place]) == 1 and types[place] == result
    )


def _references(arrays: list[Array], index: int) -> int:
    return sys.getrefcount(arrays[index])


def _sole() -> int:
    """What `_references` counts for an array that stands in a slot and in a list of operands only."""
    slots = [np.empty(1)]
    operands = [slots[0]]
    return _references(operands, 0)


_SOLE = _sole()


def apply(kind: str, operands: list[Array], places: Sequence[int]) -> Array:
    """The op's result, in the memory of an operand at one of `places` where that is safe.

    Each operand is referred to by its slot and by the list, by nothing else of the caller's.
    """
    function = PLACES[kind][0]
    for place in places:
        if _references(operands, place) == _SOLE and _fits(operands, place):
            return function(*operands, out=operands[place])
    return applied(function, operands)


def _fits(operands: Sequence[Array], place: int) -> bool:
    """Whether the array may be written, and is laid out as NumPy lays out a new result.

    That is row by row if one operand is, and as the operands are if all are alike.
    """
    target = operands[place]
    flags = target.flags
    if not (flags.owndata and flags.writeable and target.ndim):
        return False
    return flags.c_contiguous or all(x.strides == target.strides for x in operands)
