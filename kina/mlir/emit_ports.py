"""What stands beside each argument and result, so that the text alone can be run and assembled.

`kina.layout` names the value, its global shape, the mesh axes of each dim and the axes it is pending over.
For arguments it also says which values make sense, such as indices below the size of what they point into.
"""

from __future__ import annotations

from dataclasses import dataclass

from kina.frontend.ir import Op, Program, TensorType
from kina.mlir.emit_text import array, string
from kina.plan.decisions import Layout, Pending

#: Kinds whose results hold elements of their operands, or those converted.
_CARRIERS = frozenset(
    {
        "convert",
        "reshape",
        "broadcast_in_dim",
        "transpose",
        "slice",
        "reverse",
        "concatenate",
        "reshard",
        "optimization_barrier",
    }
)
#: Kinds that keep what is not negative.
_GROWING = frozenset(["add", "divide", "maximum", "reduce", "power", "cumulative"])


@dataclass(frozen=True, slots=True)
class Port:
    """An argument or result as text."""

    name: str
    type: str
    layout: str


def layout_text(name: str, type_: TensorType, layout: Layout, pending: Pending, draw: str) -> str:
    """The value of `kina.layout`."""
    axes = ", ".join(f"[{', '.join(map(string, dim))}]" for dim in layout)
    parts = ", ".join(f"[{string(axis)}, {string(reduction)}]" for axis, reduction in pending)
    return (
        f"{{axes = [{axes}], {draw}name = {string(name)}, pending = [{parts}], shape = {array(type_.shape)}}}"
    )


def draws(program: Program) -> dict[int, str]:
    """What parameters should hold: a number that fills them before the first step, indices below a limit,
    or no negative numbers.

    Read from the uses: positions in a gather, a scatter or a comparison with an iota are indices, and what
    goes into a root or a logarithm is not negative.
    """
    below: dict[int, int] = {}
    positive: set[int] = set()
    made = {result: op for op in program.ops for result in op.results}
    for op in reversed(program.ops):
        _limit(program, op, made, below)
        _sign(op, positive)
    found = {}
    first = {program.parameters[position]: text for position, text in program.initial}
    for value in program.parameters:
        if value in first:
            found[value] = f"first = {string(first[value])}, "
        elif program.type_of(value).dtype in ("i32", "i64"):
            if value in below:
                found[value] = f"below = {below[value]} : i64, "
        elif value in positive:
            found[value] = "positive = true, "
    return found


def _limit(program: Program, op: Op, made: dict[int, Op], below: dict[int, int]) -> None:
    """Note what the op says about its operands as indices."""

    def note(value: int, limit: int) -> None:
        below[value] = min(below.get(value, limit), max(limit, 1))

    if op.kind in _CARRIERS:
        limits = [below[result] for result in op.results if result in below]
        for operand in op.operands if limits else ():
            note(operand, min(limits))
    elif op.kind in ("gather", "scatter"):
        note(op.operands[1], _places(program, op))
    elif op.kind in ("dynamic_slice", "dynamic_update_slice"):
        first = 1 if op.kind == "dynamic_slice" else 2
        window = program.type_of(op.results[0] if first == 1 else op.operands[1]).shape
        whole = program.type_of(op.operands[0]).shape
        for start, size, part in zip(op.operands[first:], whole, window, strict=True):
            note(start, size - part + 1)
    elif op.kind == "compare" and op.attribute("comparison_direction") == "EQ":
        for value, other in (op.operands, op.operands[::-1]):
            counted = made.get(other)
            if counted is not None and counted.kind == "iota":
                dim = counted.attribute("iota_dimension")
                assert isinstance(dim, int)
                note(value, program.type_of(other).shape[dim])


def _places(program: Program, op: Op) -> int:
    """How many places an index may name: the window must fit behind it."""
    shape = program.type_of(op.operands[0]).shape
    name = "start_index_map" if op.kind == "gather" else "scatter_dims_to_operand_dims"
    dims = op.attribute(name)
    assert isinstance(dims, tuple)
    sizes = op.attribute("slice_sizes") if op.kind == "gather" else None
    window = sizes if isinstance(sizes, tuple) else _scatter_window(program, op)
    return min((shape[dim] - window[dim] + 1 for dim in dims), default=1)


def _scatter_window(program: Program, op: Op) -> tuple[int, ...]:
    """The size of a scattered window along each dim of the operand; 1 along dims that it lacks."""
    updates = program.type_of(op.operands[2]).shape
    lacking = op.attribute("inserted_window_dims"), op.attribute("input_batching_dims")
    dims = op.attribute("update_window_dims")
    assert isinstance(lacking[0], tuple)
    assert isinstance(lacking[1], tuple)
    assert isinstance(dims, tuple)
    sizes = iter([updates[dim] for dim in dims])
    rank = program.type_of(op.operands[0]).rank
    return tuple([1 if dim in (*lacking[0], *lacking[1]) else next(sizes) for dim in range(rank)])


def _sign(op: Op, positive: set[int]) -> None:
    """Note which operands should not be negative."""
    if op.kind in ("sqrt", "rsqrt", "log", "power"):
        positive.add(op.operands[0])
    elif not positive.isdisjoint(op.results):
        squares = op.kind == "multiply" and op.operands[0] == op.operands[1]
        if op.kind in _GROWING or op.kind in _CARRIERS or (op.kind == "multiply" and not squares):
            positive.update(op.operands)
