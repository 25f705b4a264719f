"""What the ways to use an axis in an op would move, and which was taken and why."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from kina.explain.inquiry import Inquiry
from kina.facts.dump import bytes_of_weight
from kina.facts.names import encode
from kina.frontend.ir import Op
from kina.plan.decisions import Decisions

#: Stands for leaving an axis unused (`idle_factor` of the rules).
_NONE = 999


def price_lines(inquiry: Inquiry, decisions: Decisions, op: Op, axis: str) -> Iterator[str]:
    """The alternatives of one op for one axis: those that the rules priced, else why there was none."""
    name, word = encode(inquiry.program.values[op.results[0]].name), encode(axis)
    words = inquiry.case.op_words(op)
    prices = {int(row[2]): int(row[3]) for row in inquiry.rows("option_price") if row[:2] == (name, word)}
    if prices:
        yield f"what {words} could do with `{axis}`, priced for this op alone:"
        yield from _priced(inquiry, decisions, op, name, axis, prices)
        return
    factors = _used(inquiry, decisions, op, axis)
    if not factors:
        yield f"nothing brings `{axis}` to {words} along a dim that it could compute in parallel"
        return
    split = " and ".join(f"factor {factor} ({_dims(inquiry, name, factor)})" for factor in factors)
    yield f"{words} splits {split} over `{axis}`: there was no other factor to choose"
    yield from _unused(inquiry, decisions, op, name, axis)


def _priced(
    inquiry: Inquiry, decisions: Decisions, op: Op, name: str, axis: str, prices: dict[int, int]
) -> Iterator[str]:
    used = _used(inquiry, decisions, op, axis)
    ranks = {int(row[2]): int(row[3]) for row in inquiry.rows("ranked") if row[:2] == (name, encode(axis))}
    keeps = (name,) in inquiry.rows("keeps_axes")
    for factor, price in sorted(prices.items(), key=lambda pair: (pair[0] not in used, pair[1], pair[0])):
        moved = f"{bytes_of_weight(inquiry.program, price):,} bytes"
        ranked = factor in ranks and len(set(ranks.values())) > 1
        since = f", had since priority {ranks[factor]}" if ranked else ""
        if factor == _NONE:
            # An axis that gave way to another one along its factor is left unused although that is no choice.
            barred = "; not considered: it would repeat the work on every device" if keeps and used else ""
            taken = " (taken)" if not used else ""
            yield f"  leave it unused: {moved}{barred}{taken}"
        else:
            taken = " (taken)" if factor in used else ""
            yield f"  split factor {factor}, {_dims(inquiry, name, factor)}: {moved}{since}{taken}"
    yield from _verdict(inquiry, name, axis, used)


def _verdict(inquiry: Inquiry, name: str, axis: str, used: tuple[int, ...]) -> Iterator[str]:
    """The rule that chose, from a proof that the winner is preferred."""
    for row in inquiry.rows("preferred"):
        if row[:2] == (name, encode(axis)) and row[2] in used:
            step = inquiry.case.proof("preferred", row)[0]
            yield f"  the choice is by `{step.rule}` ({step.rule_at})"
            return
    if (name, encode(axis)) in inquiry.rows("unused"):
        step = inquiry.case.proof("unused", (name, encode(axis)))[0]
        yield f"  the choice is by `{step.rule}` ({step.rule_at})"


def _used(inquiry: Inquiry, decisions: Decisions, op: Op, axis: str) -> tuple[int, ...]:
    """The factors that the plan of an op splits over an axis."""
    return tuple(factor for factor, axes in decisions.plans[op.id].factors if axis in axes)


def _dims(inquiry: Inquiry, name: str, factor: int) -> str:
    """Where a factor of an op lies, in words."""
    ports = {
        str(row[2]): str(row[3])
        for relation in ("op_operand", "op_result")
        for row in inquiry.rows(relation)
        if row[0] == name
    }
    places = [
        f"dim {row[2]} of `{inquiry.case.value(ports[str(row[1])]).name}`"
        for relation in ("factor", "factor_within")
        for row in inquiry.rows(relation)
        if row[0] == name and row[3] == factor and str(row[1]) in ports
    ]
    combined = any(row[:2] == (name, factor) for row in inquiry.rows("factor_reduced"))
    return ", ".join(dict.fromkeys(places)) + (", combined" if combined else "")


def _unused(inquiry: Inquiry, decisions: Decisions, op: Op, name: str, axis: str) -> Iterator[str]:
    """What it would move to leave the axis unused: the operands that have it are gathered."""
    program = inquiry.program
    sizes = {each.name: each.size for each in program.mesh.axes}
    moved = 0
    for value in dict.fromkeys(op.operands):
        layout = decisions.layouts[value]
        if any(axis in axes for axes in layout):
            parts = prod(sizes[each] for axes in layout for each in axes)
            moved += program.type_of(value).bytes // parts * (sizes[axis] - 1)
    because = ""
    if (name,) in inquiry.rows("keeps_axes"):
        because = "; bytes do not decide it: an op that computes uses the axes that its operands bring"
    yield (
        f"  leaving it unused would gather its operands, {moved:,} bytes, and repeat the work {sizes[axis]}"
        f" times{because}"
    )
