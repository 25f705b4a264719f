"""Executes the typed IR on one device, without any sharding: what a simulated run is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ir import Op, Program
from kina.sim.dtypes import DTYPES, Array, contiguous, dtype_name
from kina.sim.kernels import KERNELS
from kina.sim.reuse import apply, candidates


@dataclass(frozen=True, slots=True)
class ReferenceResult:
    """`outputs` in the order of the program's results; `values` has those asked for, by id."""

    outputs: tuple[Array, ...]
    values: Mapping[int, Array]


def run_program(program: Program, inputs: Sequence[Array], wanted: Iterable[int] = ()) -> ReferenceResult:
    """Results of the program for the inputs, which are in the order of its parameters.

    `wanted` are ids of values to hand back too. Values are freed after their last use. ProgramError K701 if
    the inputs do not fit the parameters, K704 if an op cannot be executed, K707 if memory runs out.
    """
    values: dict[int, Array] = dict(zip(program.parameters, _checked(program, inputs), strict=True))
    kept = {*program.results, *wanted}
    last = _last_uses(program)
    for number in program.parameters:
        if number not in last and number not in kept:
            del values[number]
    with np.errstate(all="ignore"):
        for op in program.ops:
            dying = [n for n in op.operands if last[n] == op.id and n not in kept]
            results = _execute(program, op, [values[n] for n in op.operands], dying)
            values.update(zip(op.results, results, strict=True))
            for number in {*op.operands, *op.results}:
                if last.get(number, op.id) == op.id and number not in kept:
                    del values[number]
    outputs = tuple(contiguous(values[number]) for number in program.results)
    return ReferenceResult(outputs, {number: values[number] for number in wanted})


def _last_uses(program: Program) -> dict[int, int]:
    last: dict[int, int] = {}
    for op in program.ops:
        for number in op.operands:
            last[number] = op.id
    return last


def op_attributes(program: Program, op: Op) -> dict[str, Any]:
    """The op's attributes with shape and dtype of its first result, as kernels expect them."""
    found: dict[str, Any] = dict(op.attributes)
    if op.results:
        type_ = program.type_of(op.results[0])
        found["shape"], found["dtype"] = type_.shape, type_.dtype
    return found


def _execute(program: Program, op: Op, operands: list[Array], dying: list[int]) -> tuple[Array, ...]:
    kernel = KERNELS.get(op.kind)
    if kernel is None and program.declared is not None and op.kind in program.declared.visible.ops:
        return _declared(program, op, operands)
    if kernel is None:
        raise ProgramError(error("K704", f"there is no way to execute `{op.kind}`", op.span))
    types = [program.type_of(number) for number in op.operands]
    result = program.type_of(op.results[0]) if op.results else None
    places = candidates(op.kind, op.operands, dying, types, result)
    try:
        if places:
            return (apply(op.kind, operands, places),)
        return kernel(operands, op_attributes(program, op))
    except MemoryError as raised:
        finding = error("K707", f"one device runs out of memory in `{op.kind}`", op.span, str(raised))
        raise ProgramError(finding) from None


def _declared(program: Program, op: Op, operands: list[Array]) -> tuple[Array, ...]:
    """The results of an op that the program declares, by its body."""
    assert program.declared is not None
    types = tuple(program.type_of(number) for number in op.operands)
    body = program.declared.body(op.kind, types, op.attributes)
    positions = [np.asarray(op.attribute(name), np.int32) for name in program.declared.positions(op.kind)]
    return run_program(body, [*operands, *positions]).outputs


def _checked(program: Program, inputs: Sequence[Array]) -> list[Array]:
    if len(inputs) != len(program.parameters):
        message = f"{len(inputs)} inputs are given, `{program.entry}` takes {len(program.parameters)}"
        raise ProgramError(error("K701", message, program.span))
    arrays = []
    for given, number in zip(inputs, program.parameters, strict=True):
        array, value = np.asarray(given), program.values[number]
        if array.shape != value.type.shape or array.dtype != DTYPES[value.type.dtype]:
            shown = f"{dtype_name(array.dtype)}[{','.join(map(str, array.shape))}]"
            raise ProgramError(
                error("K701", f"the input for `{value.name}` is {shown}, not {value.type}", value.span)
            )
        arrays.append(array)
    return arrays
