"""How many bytes one device holds at most while the plan runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from kina.frontend.ir import Program
from kina.plan.decisions import Coercion, Layout


def peak_bytes(program: Program, layouts: tuple[Layout, ...], coercions: Iterable[Coercion]) -> int:
    """The largest sum of shards that are alive at once on a device, in bytes.

    Parameters stay for the whole run. Anything else lives from the op that makes it to its last use,
    and so does what a coercion makes of it. A constant that repeats one element takes no room.
    """
    sizes = {axis.name: axis.size for axis in program.mesh.axes}
    births: defaultdict[int, int] = defaultdict(int)
    deaths: defaultdict[int, int] = defaultdict(int)
    last = _last_uses(program)
    made = {value: op.id for op in program.ops for value in op.results}
    resident = 0
    for value in program.values:
        size = _shard(value.type.bytes, layouts[value.id], sizes)
        if value.id not in made:
            resident += size
        elif value.splat is None:
            births[made[value.id]] += size
            deaths[last.get(value.id, made[value.id])] += size
    for coercion in coercions:
        _live_copy(program, coercion, sizes, births, deaths)
    return resident + _highest(len(program.ops), births, deaths)


def _shard(whole: int, layout: Layout, sizes: Mapping[str, int]) -> int:
    parts = 1
    for axes in layout:
        for axis in axes:
            parts *= sizes[axis]
    return whole // parts


def _last_uses(program: Program) -> dict[int, int]:
    last = {value: op.id for op in program.ops for value in op.operands}
    end = len(program.ops)
    last.update((value, end) for value in program.results)
    return last


def _live_copy(
    program: Program,
    coercion: Coercion,
    sizes: Mapping[str, int],
    births: defaultdict[int, int],
    deaths: defaultdict[int, int],
) -> None:
    """Add what a coercion holds beside its value: the converted copy, or the result before conversion."""
    whole = program.type_of(coercion.value).bytes
    if not coercion.uses:
        return
    ops = [op for op, _ in coercion.uses]
    layout = coercion.after if coercion.side == "operand" else coercion.before
    size = _shard(whole, layout, sizes)
    births[min(ops)] += size
    deaths[max(ops)] += size


def _highest(ops: int, births: Mapping[int, int], deaths: Mapping[int, int]) -> int:
    alive = highest = 0
    for op in range(ops):
        alive += births.get(op, 0)
        highest = max(highest, alive)
        alive -= deaths.get(op, 0)
    return highest
