"""Where the parts of a pending value come from, and why they are completed where they are."""

from __future__ import annotations

from kina.explain.inquiry import Inquiry
from kina.facts.dump import operand_port
from kina.facts.names import encode
from kina.frontend.ir import Op


def part_makers(inquiry: Inquiry, value: int, axis: str) -> tuple[Op, ...]:
    """The ops that combine a factor split over the axis, so that the value is pending, in order."""
    program, case = inquiry.program, inquiry.case
    word = encode(axis)
    makes = {str(row[1]) for row in inquiry.rows("makes_pending") if row[2] == word}
    passes = {str(row[0]) for row in inquiry.rows("passes") if row[1] == word}
    pending = {str(row[0]) for row in inquiry.rows("left_pending") if row[1] == word}
    found: dict[int, Op] = {}
    queue, seen = [value], {value}
    for current in queue:
        op = case.producers.get(current)
        if op is None:
            continue
        if encode(program.values[current].name) in makes:
            found[op.id] = op
        if encode(program.values[op.results[0]].name) not in passes:
            continue
        for operand in op.operands:
            if operand not in seen and encode(program.values[operand].name) in pending:
                seen.add(operand)
                queue.append(operand)
    return tuple(found[number] for number in sorted(found))


def completed_because(inquiry: Inquiry, value: int, axis: str, side: str, op: Op | None) -> str:
    """Why a pending value is completed at this place and not further on."""
    program = inquiry.program
    name = program.values[value].name
    if side == "operand" and op is not None:
        words = inquiry.case.op_words(op)
        return f"it is completed here, because {words} needs the value of `{name}` and not a part of it"
    uses = [each for each in program.ops if value in each.operands]
    count = sum(each.operands.count(value) for each in uses) + program.results.count(value)
    if side == "parameter":
        return f"it is completed where it enters, because nothing demands that `{name}` stays pending"
    if count != 1:
        return (
            f"it is completed here, because `{name}` is used {count} times, and each use would have to"
            " complete it"
        )
    if not uses:
        return (
            f"it is completed here, because `{name}` is returned, and nothing demands that it stays pending"
        )
    return f"it is completed here, because {_not_passed(inquiry, value, axis, uses[0])}"


def _not_passed(inquiry: Inquiry, value: int, axis: str, use: Op) -> str:
    """Why parts do not pass the only use of a value."""
    program = inquiry.program
    name, user = program.values[value].name, encode(program.values[use.results[0]].name)
    words = inquiry.case.op_words(use)
    port = operand_port(user, use.operands.index(value))
    if any(row[0] == encode(name) for row in inquiry.rows("annotated")):
        return f"`{name}` is annotated, and stored as it is written"
    if not any(row[:2] == (user, port) for row in inquiry.rows("linear")):
        return f"its use {words} is not linear, and needs the value"
    if program.type_of(use.results[0]).bytes > program.type_of(value).bytes:
        return f"its use {words} makes it larger, and completing it later would move more"
    if any(row == (user, port, encode(axis)) for row in inquiry.rows("hindered")):
        return f"another operand of its use {words} keeps parts over `{axis}` from passing"
    return f"leaving `{name}` pending would save neither bytes nor collectives further on"
