"""The work of one op, and its pieces, which devices that wait for the result take."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kina.sim.dtypes import DTYPES, Array
from kina.sim.prepare import Step
from kina.sim.rendezvous import CHUNK, Task, Work
from kina.sim.reuse import PLACES, apply, place_for


def computed(step: Step, operands: list[Array]) -> Sequence[Array]:
    """The results of a step that has a kernel."""
    if step.places:
        return (apply(step.op.kind, operands, step.places),)
    assert step.kernel is not None
    return step.kernel(operands, step.attributes)


def common_work(step: Step, operands: list[Array]) -> Work:
    """The same as work for several devices: an elementwise op in pieces, any other op as a whole."""
    work = Work()
    work.tasks = _pieces(step, operands, work)
    if not work.tasks:

        def whole() -> None:
            work.results = computed(step, operands)

        work.tasks = [whole]
    return work


def _pieces(step: Step, operands: list[Array], work: Work) -> list[Task]:
    """Tasks for slices of the result along its first dim; none if the op is not computed so.

    NumPy lays out a new result row by row if one operand is, which makes slices of memory in order.
    """
    shape: tuple[int, ...] = step.attributes["shape"]
    dim = next((dim for dim, size in enumerate(shape) if size > 1), len(shape))
    if step.op.kind not in PLACES or step.elements < 2 * CHUNK or dim == len(shape):
        return []
    if not any(x.shape == shape and x.flags.c_contiguous for x in operands):
        return []
    function = PLACES[step.op.kind][0]
    place = place_for(operands, step.places)
    result = operands[place] if place is not None else np.empty(shape, DTYPES[step.attributes["dtype"]])
    work.results = (result,)

    def task(index: tuple[slice, ...]) -> Task:
        def piece() -> None:
            parts = [x[index] if x.ndim else x for x in operands]
            # in place, the piece of the result is the operand's, as functions look whether it is
            function(*parts, out=parts[place] if place is not None else result[index])

        return piece

    size = max(1, shape[dim] * CHUNK // step.elements)
    return [task((slice(None),) * dim + (slice(at, at + size),)) for at in range(0, shape[dim], size)]
