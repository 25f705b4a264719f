"""The result of a check as tables: layouts, collectives, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from typing import TYPE_CHECKING

from kina.diagnostics.cells import cells, pad, printable, wrap
from kina.diagnostics.style import Style
from kina.report.types import axes_text, value_type

if TYPE_CHECKING:
    from kina.frontend.ir import Program, Value
    from kina.pipeline import Result
    from kina.plan.decisions import Collective, Decisions

_INDEX = re.compile(r"\[(\d+)\]")
#: Columns that a sentence beside others has at least.
_ROOM = 32
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def tables(result: Result, style: Style, every: bool = False) -> str:
    """Mesh, layouts, collectives and totals of a check that came to an end; empty for one that did not.

    Values of repeated layers that are alike share a line. Unless `every` value is asked for, a form that
    became several ops, as a call of the library does, is shown by its result.
    """
    program, decisions = result.program, result.decisions
    if program is None or decisions is None:
        return ""
    mesh = program.mesh
    head = f"`{program.entry}` of {result.file} on mesh {mesh.text} ({_count(mesh.devices, 'device')})"
    out = [style.paint(printable(head), "strong"), ""]
    out += _layouts(program, decisions, every, style)
    out += ["", *_collectives(program, decisions, style), ""]
    out.append(f"bytes moved per device  {size_text(decisions.cost_bytes)}")
    out.append(f"peak memory per device  {size_text(decisions.peak_bytes)}")
    return "\n".join(line.rstrip() for line in out) + "\n"


def size_text(count: int) -> str:
    """A number of bytes, exactly, and in the largest unit that it fills."""
    unit = 0
    while count >= 1024 ** (unit + 1) and unit + 1 < len(_UNITS):
        unit += 1
    plain = f"{count:,} {'byte' if count == 1 else 'bytes'}"
    return f"{plain} ({count / 1024**unit:.1f} {_UNITS[unit]})" if unit else plain


def layout_rows(program: Program, decisions: Decisions, every: bool) -> tuple[list[tuple[str, ...]], int]:
    """Name, type, role and origin of each value, alike ones on one row; and how many are not shown.

    The origin is `given` where the user annotated the value, `settled` where a conflict was settled there.
    """
    annotated = {each.value: "settled" if each.settled else "given" for each in program.annotations}
    roles = dict.fromkeys(program.parameters, "parameter")
    roles.update({value: "result" for value in program.results if value not in roles})
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    shown = program.values if every else _main_values(program, roles.keys() | annotated)
    for value in shown:
        key = (
            _INDEX.sub("[*]", value.name),
            value_type(program, decisions, value.id),
            roles.get(value.id, ""),
            annotated.get(value.id, ""),
        )
        groups.setdefault(key, []).append(value.name)
    rows = [(_fold(names), type_, role, given) for (_, type_, role, given), names in groups.items()]
    return [*rows], len(program.values) - len(shown)


def _layouts(program: Program, decisions: Decisions, every: bool, style: Style) -> list[str]:
    rows, hidden = layout_rows(program, decisions, every)
    out = aligned(("tensor", "type", "", ""), rows, style)
    if hidden:
        inner = _count(hidden, "value")
        out += ["", f"{inner} inside forms and library calls not shown (`--all` shows them)"]
    return out


def _main_values(program: Program, always: Set[int]) -> list[Value]:
    """What forms and calls give, without what lies inside them and without constants; and `always`.

    Inside is what an op at the same place, of the same layer, goes on with. Ops of a gradient stand at the
    place of the op that they turn round, and go on with what that one gave, which is not inside.
    """
    derived = {value for op in program.ops if op.origin == "derived" for value in op.results}
    inner = {
        value
        for op in program.ops
        for value in op.operands
        if _together(program.values[value], program.values[op.results[0]])
        and (op.origin != "derived" or value in derived)
    }
    hidden = (inner | set(program.constants)) - always
    return [value for value in program.values if value.id not in hidden]


def collective_rows(program: Program, decisions: Decisions) -> list[tuple[str, ...]]:
    """Number, kind, bytes, tensor, place and reason of each collective, alike ones on one row."""
    groups: dict[tuple[str, ...], list[tuple[int, Collective]]] = {}
    for number, collective in enumerate(decisions.collectives, 1):
        name = _INDEX.sub("[*]", program.values[collective.value].name)
        reason = _INDEX.sub("[*]", collective.reason)
        axes = axes_text(collective.axes)
        key = (collective.kind, axes, name, str(collective.bytes), str(collective.span), reason)
        groups.setdefault(key, []).append((number, collective))
    return [_collective_row(program, members) for members in groups.values()]


def _collectives(program: Program, decisions: Decisions, style: Style) -> list[str]:
    rows = collective_rows(program, decisions)
    if not rows:
        return ["no collectives"]
    return aligned(("collectives", "", "bytes", "tensor", "at", "because"), rows, style)


def _collective_row(program: Program, members: Sequence[tuple[int, Collective]]) -> tuple[str, ...]:
    number, first = members[0]
    times = f" ×{len(members)}" if len(members) > 1 else ""
    name = _fold([program.values[collective.value].name for _, collective in members])
    kind = f"{first.kind}({','.join(first.axes)})"
    reason = _INDEX.sub("[*]", first.reason) if times else first.reason
    return (f"{number}{times}", kind, f"{first.bytes:,}", name, str(first.span), reason)


def _fold(names: Sequence[str]) -> str:
    """One name for values of repeated layers: `layer[0-11].wq`; names are otherwise listed by their first."""
    if len(names) == 1:
        return names[0]
    found = [_INDEX.findall(name) for name in names]
    numbers = [int(indices[0]) for indices in found if len(indices) == 1]
    # gradients come from the last layer to the first
    if len(numbers) == len(names) and numbers in (
        _run(numbers[0], len(names), 1),
        _run(numbers[0], len(names), -1),
    ):
        return _INDEX.sub(f"[{min(numbers)}-{max(numbers)}]", names[0])
    return f"{_INDEX.sub('[*]', names[0])} ×{len(names)}"


def _together(one: Value, other: Value) -> bool:
    """Whether values stand at one place, and not in two layers: one without a number may be of any."""
    if one.span != other.span:
        return False
    layers = [_INDEX.findall(each.name) for each in (one, other)]
    return layers[0] == layers[1] or not all(layers)


def _run(first: int, count: int, step: int) -> list[int]:
    return list(range(first, first + step * count, step))


def aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    """Columns under their heads; the last one is wrapped, or stands below where it has too little room."""
    texts = [[printable(text) for text in row] for row in rows]
    last = len(heads) - 1
    used = [max(cells(text) for text in column) for column in zip(heads, *texts, strict=True)]
    lead = sum(width + 2 for width in used[:last] if width)
    below = style.width - lead < min(used[last], _ROOM)
    lead, head = (4, "") if below else (lead, heads[last])
    out = [style.paint(_joined((*heads[:last], head), used).rstrip(), "dim")]
    for row in texts:
        lines = wrap(row[last], style.width - lead) if row[last] else []
        first = "" if below or not lines else lines.pop(0)
        out.append(_joined((*row[:last], first), used).rstrip())
        out += [" " * lead + line for line in lines]
    return out


def _joined(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(pad(text, width) for text, width in zip(row, widths, strict=True) if width)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
