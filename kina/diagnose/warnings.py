"""Warnings worth reading: what a plan costs that its reader may not expect (K501, K504, K505)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import prod

from kina.diagnose.case import LARGE, Case, axis_words, plural
from kina.diagnose.flops import flops
from kina.diagnostics.finding import Finding, Label
from kina.frontend.ir import Op, Value
from kina.plan.decisions import Decisions

#: Bytes of a tensor whose gather is worth a warning.
LARGE_GATHER = 16 * 2**20
#: Bytes of a tensor that is worth a warning when every device holds all of it.
LARGE_COPY = 64 * 2**20
#: Operations that each device repeats, and their share of all that it does, that are worth a warning.
MUCH_WORK, SHARE = 10**9, 0.05


def warnings(case: Case, decisions: Decisions) -> Iterator[Finding]:
    """At most one for each kind and cause: the largest case, the others counted."""
    yield from _gathers(case)
    yield from _repeated(case, decisions)
    yield from _copies(case, decisions)


def _gathers(case: Case) -> Iterator[Finding]:
    rows = [row for row in case.rows("gathered_whole") if case.value(row[1]).type.bytes >= LARGE_GATHER]
    rows.sort(
        key=lambda row: (-case.value(row[1]).type.bytes, case.value(row[1]).id, case.value(row[0]).id, row)
    )
    if not rows:
        return
    user, name, _, axis = rows[0]
    value, op = case.value(name), case.producers[case.value(user).id]
    proof = case.proof("gathered_whole", rows[0]) if len(case.program.ops) <= LARGE else ()
    axes = list(dict.fromkeys(case.axes[str(row[3])] for row in rows if row[:2] == (user, name)))
    others = {row[:2] for row in rows} - {(user, name)}
    labels = [Label(note.span, f"splits over `{case.axes[str(axis)]}`") for note in case.origins(proof)]
    yield Finding(
        "K501",
        "warning",
        f"{case.op_words(op)} gathers all of `{case.short(value)}` over {axis_words(axes)}",
        op.span,
        f"{value.type.bytes:,} bytes whole on each device",
        labels=tuple(labels[:3]),
        notes=(f"{plural(len(others), 'more gather')} of a whole tensor",) if others else (),
        proof=proof,
        rule="warnings.gathered-whole",
        more=("`kina explain K501`",),
    )


def _repeated(case: Case, decisions: Decisions) -> Iterator[Finding]:
    """Products that all devices of an axis compute alike."""
    program = case.program
    sizes = {axis.name: axis.size for axis in program.mesh.axes if axis.size > 1}
    wasted: defaultdict[str, list[tuple[int, Op]]] = defaultdict(list)
    total = 0
    for op in program.ops:
        work = flops(program, op)
        if not work:
            continue
        used = {axis for _, axes in decisions.plans[op.id].factors for axis in axes}
        local = work // prod(sizes.get(axis, 1) for axis in used)
        total += local
        for axis, size in sizes.items():
            if axis not in used:
                wasted[axis].append((local - local // size, op))
    for axis in sizes:
        work = sum(each for each, _ in wasted[axis])
        if work >= MUCH_WORK and work >= SHARE * total:
            yield _repeat(case, axis, wasted[axis], total)


def _repeat(case: Case, axis: str, wasted: list[tuple[int, Op]], total: int) -> Finding:
    program = case.program
    worst, op = max(wasted, key=lambda pair: (pair[0], -pair[1].id))
    work = sum(each for each, _ in wasted)
    size = program.mesh.size(axis)
    operands = " and ".join(f"`{case.short(program.values[value])}`" for value in dict.fromkeys(op.operands))
    notes = [
        f"{work:,} of the {total:,} operations of a device could be split over `{axis}`,"
        f" {worst:,} of them here; the operands {operands} take"
        f" {plural(sum(program.type_of(value).bytes for value in set(op.operands)), 'byte')}"
    ]
    if len(wasted) > 1:
        others = plural(len(wasted) - 1, "more product")
        notes.append(f"{others} {'repeats its' if len(wasted) == 2 else 'repeat their'} work over `{axis}`")
    return Finding(
        "K504",
        "warning",
        f"all {size} devices of `{axis}` compute the same {case.op_words(op)}",
        op.span,
        f"nothing that it computes is split over `{axis}`",
        notes=tuple(notes),
        more=("`kina explain K504`",),
    )


def _copies(case: Case, decisions: Decisions) -> Iterator[Finding]:
    program = case.program
    if program.mesh.devices == 1:
        return
    kept = {note.value for note in program.annotations if note.kind in ("replicated", "closed")}
    large = [
        value
        for value in program.values
        if value.type.bytes >= LARGE_COPY
        and value.splat is None
        and value.id not in kept
        and not any(decisions.layouts[value.id])
        and not decisions.pending.get(value.id)
    ]
    if large:
        yield _copy(case, max(large, key=lambda value: (value.type.bytes, -value.id)), large)


def _copy(case: Case, value: Value, large: list[Value]) -> Finding:
    program = case.program
    notes = ["no annotation splits it, and none leads an axis to it"]
    if len(large) > 1:
        total = sum(each.type.bytes for each in large if each is not value)
        notes.append(f"{plural(len(large) - 1, 'more large tensor')} likewise, {total:,} bytes")
    return Finding(
        "K505",
        "warning",
        f"each of {program.mesh.devices} devices holds all of `{case.short(value)}`",
        value.span,
        f"{value.type.bytes:,} bytes",
        notes=tuple(notes),
        more=("`kina explain K505`",),
    )
