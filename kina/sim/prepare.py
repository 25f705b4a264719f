"""Brings a module into the form that devices execute: steps with kernels, and when each value dies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from kina.diagnostics.finding import ProgramError, error
from kina.mlir.syntax import COLLECTIVES, Block, Function, Module, Op
from kina.sim.collectives import Collective, prepare_collective
from kina.sim.dtypes import Array
from kina.sim.kernels import KERNELS, Kernel
from kina.sim.regions import prepared_attributes
from kina.sim.reuse import candidates

#: Ops whose results are views of their operands, and take no memory of their own.
VIEWS = frozenset({"broadcast_in_dim", "reshape", "slice", "reverse", "transpose", "optimization_barrier"})


@dataclass(frozen=True, slots=True)
class Step:
    """One op, ready to run. `dead` are the values that no later step reads.

    Exactly one of `kernel`, `foreign`, `value`, `collective`, `branches` and `callee` says what to do;
    a device's number (`partition_id`) has none of them.
    """

    op: Op
    operands: tuple[int, ...]
    results: tuple[int, ...]
    dead: tuple[int, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    kernel: Kernel | None = None
    #: elements of the kernel's largest operand or result; 0 if all that it does is to make a view
    elements: int = 0
    #: a kernel that may give something else each time
    foreign: Kernel | None = None
    #: operands that the result may overwrite, if nobody else holds them
    places: tuple[int, ...] = ()
    value: Array | None = None
    collective: Collective | None = None
    branches: tuple[Plan, ...] = ()
    callee: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a block, its argument numbers and the numbers of what it returns."""

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    returned: tuple[int, ...]
    unused: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A verified module with a plan for each function."""

    module: Module
    plans: Mapping[str, Plan]
    slots: Mapping[str, int]
    #: elements of the largest value
    largest: int


def prepare(module: Module, foreign: Mapping[str, Kernel] = MappingProxyType({})) -> Prepared:
    """Plans for all functions of a module that `kina.mlir.verify.verify` accepted.

    Calls of functions that `foreign` has run its kernels in place of their bodies.
    """
    plans = {function.name: _plan(function, function.body, module, foreign) for function in module.functions}
    slots = {function.name: len(function.values) for function in module.functions}
    largest = max(
        (value.type.elements for function in module.functions for value in function.values), default=0
    )
    return Prepared(module, plans, slots, largest)


def _plan(function: Function, block: Block, module: Module, foreign: Mapping[str, Kernel]) -> Plan:
    returned = block.ops[-1].operands
    last = last_uses(block)
    deaths: list[list[int]] = [[] for _ in block.ops]
    for number, index in last.items():
        deaths[index].append(number)
    steps = []
    own = set(block.arguments)
    for index, op in enumerate(block.ops[:-1]):
        own.update(op.results)
        # a result that nobody reads dies at once; values of outer blocks are theirs to free
        unread = [number for number in op.results if number not in last]
        dead = tuple(sorted(n for n in deaths[index] if n in own)) + tuple(unread)
        steps.append(_step(function, op, dead, module, foreign))
    unused = tuple(number for number in block.arguments if number not in last)
    return Plan(block.arguments, tuple(steps), returned, unused)


def last_uses(block: Block) -> dict[int, int]:
    """The index of the last op of the block that reads each value, in its regions too."""
    last: dict[int, int] = {}
    for index, op in enumerate(block.ops):
        for number in op.operands:
            last[number] = index
        for region in op.regions:
            for inner in region.walk():
                for number in inner.operands:
                    last[number] = index
    return last


def _step(
    function: Function, op: Op, dead: tuple[int, ...], module: Module, foreign: Mapping[str, Kernel]
) -> Step:
    if op.kind in ("if", "case"):
        branches = tuple(_plan(function, region, module, foreign) for region in op.regions)
        return Step(op, op.operands, op.results, dead, branches=branches)
    if op.kind == "call":
        kernel = foreign.get(str(op.attribute("callee")))
        if kernel is not None:
            return Step(op, op.operands, op.results, dead, foreign=kernel)
        return Step(op, op.operands, op.results, dead, callee=str(op.attribute("callee")))
    if op.kind in ("partition_id", "replica_id"):
        return Step(op, op.operands, op.results, dead)
    attributes = prepared_attributes(function, op)
    if op.kind in COLLECTIVES:
        collective = prepare_collective(op, function, module, attributes)
        return Step(op, op.operands, op.results, dead, attributes, collective=collective)
    kernel = KERNELS[op.kind]
    if op.kind in ("constant", "iota"):
        # made once for all devices; nobody writes into an array that others hold
        value = _made(op, kernel, attributes)
        return Step(op, op.operands, op.results, dead, attributes, value=value)
    places, elements = _places(function, op, dead), _elements(function, op)
    return Step(
        op, op.operands, op.results, dead, attributes, kernel=kernel, elements=elements, places=places
    )


def _elements(function: Function, op: Op) -> int:
    if op.kind in VIEWS:
        return 0
    return max(function.values[number].type.elements for number in (*op.operands, *op.results))


def _places(function: Function, op: Op, dead: tuple[int, ...]) -> tuple[int, ...]:
    if len(op.results) != 1:
        return ()
    types = [function.values[number].type for number in op.operands]
    return candidates(op.kind, op.operands, dead, types, function.values[op.results[0]].type)


def _made(op: Op, kernel: Kernel, attributes: Mapping[str, Any]) -> Array:
    try:
        (value,) = kernel((), attributes)
    except (ValueError, OverflowError) as wrong:
        raise ProgramError(
            error("K603", f"`{op.kind}` has an element out of range: {wrong}", op.span)
        ) from None
    return value
