"""The result of a check as tables: layouts, collectives, and what they cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kina.diagnostics.cells import cells, pad, printable, wrap
from kina.diagnostics.style import Style
from kina.report.types import axes_text, value_type

if TYPE_CHECKING:
    from kina.frontend.ir import Program
    from kina.pipeline import Result
    from kina.plan.decisions import Collective, Decisions

_INDEX = re.compile(r"\[(\d+)\]")
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def tables(result: Result, style: Style) -> str:
    """Mesh, layouts, collectives and totals of a check that came to an end; empty for one that did not.

    Values of repeated layers that are alike share a line.
    """
    program, decisions = result.program, result.decisions
    if program is None or decisions is None:
        return ""
    mesh = ", ".join(f"{axis.name}={axis.size}" for axis in program.mesh.axes)
    head = f"`{program.entry}` of {result.file} on mesh {mesh} ({_count(program.mesh.devices, 'device')})"
    out = [style.paint(printable(head), "strong"), ""]
    out += _layouts(program, decisions, style)
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


def _layouts(program: Program, decisions: Decisions, style: Style) -> list[str]:
    annotated = {annotation.value for annotation in program.annotations}
    roles = dict.fromkeys(program.parameters, "parameter")
    roles.update({value: "result" for value in program.results if value not in roles})
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for value in program.values:
        if value.id in program.constants:
            continue
        key = (
            _INDEX.sub("[*]", value.name),
            value_type(program, decisions, value.id),
            roles.get(value.id, ""),
            "given" if value.id in annotated else "",
        )
        groups.setdefault(key, []).append(value.name)
    rows = [(_fold(names), type_, role, given) for (_, type_, role, given), names in groups.items()]
    return _aligned(("tensor", "type", "", ""), rows, style)


def _collectives(program: Program, decisions: Decisions, style: Style) -> list[str]:
    if not decisions.collectives:
        return ["no collectives"]
    groups: dict[tuple[str, ...], list[tuple[int, Collective]]] = {}
    for number, collective in enumerate(decisions.collectives, 1):
        name = _INDEX.sub("[*]", program.values[collective.value].name)
        reason = _INDEX.sub("[*]", collective.reason)
        axes = axes_text(collective.axes)
        key = (collective.kind, axes, name, str(collective.bytes), str(collective.span), reason)
        groups.setdefault(key, []).append((number, collective))
    rows = [_collective_row(program, members) for members in groups.values()]
    return _aligned(("collectives", "", "bytes", "tensor", "at", "because"), rows, style)


def _collective_row(program: Program, members: Sequence[tuple[int, Collective]]) -> tuple[str, ...]:
    number, first = members[0]
    times = f" ×{len(members)}" if len(members) > 1 else ""
    name = _fold([program.values[collective.value].name for _, collective in members])
    kind = f"{first.kind}({','.join(first.axes)})"
    return (f"{number}{times}", kind, f"{first.bytes:,}", name, str(first.span), first.reason)


def _fold(names: Sequence[str]) -> str:
    """One name for values of repeated layers: `layer[0-11].wq`; names are otherwise listed by their first."""
    if len(names) == 1:
        return names[0]
    found = [_INDEX.findall(name) for name in names]
    numbers = [int(indices[0]) for indices in found if len(indices) == 1]
    if len(numbers) == len(names) and numbers == list(range(numbers[0], numbers[0] + len(names))):
        return _INDEX.sub(f"[{numbers[0]}-{numbers[-1]}]", names[0])
    return f"{_INDEX.sub('[*]', names[0])} ×{len(names)}"


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> list[str]:
    """Columns under their heads; what the last column has too much is wrapped under it."""
    texts = [[printable(text) for text in row] for row in rows]
    last = len(heads) - 1
    used = [max(cells(text) for text in column) for column in zip(heads, *texts, strict=True)]
    lead = sum(width + 2 for width in used[:last] if width)
    room = max(style.width - lead, 24)
    out = [style.paint(_joined(heads, used).rstrip(), "dim")]
    for row in texts:
        first, *rest = wrap(row[last], room)
        out.append(_joined((*row[:last], first), used))
        out += [" " * lead + line for line in rest]
    return out


def _joined(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(pad(text, width) for text, width in zip(row, widths, strict=True) if width)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
