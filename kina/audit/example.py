"""A run of an op as a counter-example in words and numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kina.audit.execute import Built
from kina.audit.instance import Instance
from kina.audit.outcome import Example, PortValue
from kina.audit.placement import Placement
from kina.audit.trial import Trial
from kina.frontend.ir import Attribute
from kina.mlir.grid import Grid
from kina.rulebook.catalogue import operand_names
from kina.run.shards import completed
from kina.sim.dtypes import Array, is_float

#: More elements than this are cut short.
_SHOWN = 64


def example(instance: Instance, placement: Placement, built: Built | None, trial: Trial | None) -> Example:
    """The op and its placement, with the values of a run if there was one."""
    texts = placement.texts(instance)
    names = port_names(instance)
    count = len(placement.operands)
    operands: list[PortValue] = []
    results: list[PortValue] = []
    for port, (name, text) in enumerate(zip(names, texts, strict=True)):
        if built is None or trial is None:
            value = PortValue(name, text)
        elif port < count:
            whole = array_text(trial.inputs.wholes[port]) if placement.operands[port].pending else ""
            value = PortValue(name, text, _texts(trial.inputs.per_device[port]), whole)
        else:
            value = _result(name, text, built, trial, port - count)
        (operands if port < count else results).append(value)
    mesh = tuple((axis.name, axis.size) for axis in placement.mesh.axes)
    return Example(mesh, attributes(instance), tuple(operands), tuple(results))


def _result(name: str, text: str, built: Built, trial: Trial, index: int) -> PortValue:
    state, parts = built.placement.results[index], trial.outputs[index]
    expected = trial.expected[index]
    together = _together(built, completed(built.grid, state.pending, parts), index, expected.shape)
    whole = array_text(together) if together is not None else "devices that hold the same shard differ"
    return PortValue(name, text, _texts(parts), whole, array_text(expected))


def _together(built: Built, parts: Sequence[Array], index: int, shape: tuple[int, ...]) -> Array | None:
    """What the shards make up; None if devices that hold the same shard do not agree."""
    whole = np.zeros(shape, parts[0].dtype)
    seen = np.zeros(shape, np.bool_)
    for device, part in enumerate(parts):
        where = _where(built.grid, built.placement.results[index].layout, part.shape, device)
        if bool(np.any(seen[where])) and not np.array_equal(
            whole[where], part, equal_nan=is_float(part.dtype)
        ):
            return None
        whole[where], seen[where] = part, True
    return whole


def _where(
    grid: Grid, layout: Sequence[tuple[str, ...]], shape: tuple[int, ...], device: int
) -> tuple[slice, ...]:
    starts = [grid.index(device, axes) * size for axes, size in zip(layout, shape, strict=True)]
    return tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))


def attributes(instance: Instance) -> tuple[tuple[str, str], ...]:
    """The attributes that say something: those that differ from their plain default."""
    spec = instance.spec
    plain = {each.name: each.default for each in spec.attributes}
    return tuple(
        (name, attribute_text(value))
        for name, value in instance.op.attributes
        if plain.get(name) is None or callable(plain[name]) or plain[name] != value
    )


def attribute_text(value: Attribute) -> str:
    """The value of an attribute, lists in brackets."""
    return f"[{' '.join(map(str, value))}]" if isinstance(value, tuple) else str(value)


def port_names(instance: Instance) -> tuple[str, ...]:
    """The names of operands and results for people."""
    operands = operand_names(instance.spec, len(instance.op.operands))
    results = len(instance.op.results)
    return (*operands, *(("result",) if results == 1 else (f"result {place}" for place in range(results))))


def _texts(arrays: Sequence[Array]) -> tuple[str, ...]:
    return tuple(array_text(array) for array in arrays)


def array_text(array: Array) -> str:
    """The elements in brackets, as short as they can be told apart.

    >>> array_text(np.array([[1.5, 2.0]], np.float32))
    '[[1.5 2]]'
    """
    if array.size > _SHOWN:
        return f"{array_text(array.reshape(-1)[:8])[:-1]} …]"
    if array.ndim:
        return "[" + " ".join(array_text(each) for each in array) + "]"
    if array.dtype == np.bool_ or not is_float(array.dtype):
        return str(array.item())
    return f"{float(array):.6g}"
