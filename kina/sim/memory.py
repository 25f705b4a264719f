"""How much memory a run needs, known before it starts."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from kina.diagnostics.finding import ProgramError, error
from kina.mlir.syntax import Block, Function, Module
from kina.sim.prepare import VIEWS, last_uses
from kina.source import Span


def peak_bytes(module: Module) -> int:
    """The most bytes that are alive at once on one device, by the module's own order of ops.

    Counts values, not the scratch space inside an op. Results that devices share in the simulator
    (of all_reduce, all_gather) are counted on each.
    """
    peaks: dict[str, int] = {}
    for function in _callees_first(module):
        peaks[function.name] = _peak(function, function.body, peaks)
    return peaks.get("main", 0)


def _callees_first(module: Module) -> list[Function]:
    by_name = {function.name: function for function in module.functions}
    found: list[Function] = []
    done: set[str] = set()
    todo = [(name, False) for name in by_name]
    while todo:
        name, ready = todo.pop()
        if name in done:
            continue
        if ready:
            done.add(name)
            found.append(by_name[name])
            continue
        todo.append((name, True))
        calls = [op for op in by_name[name].body.walk() if op.kind == "call"]
        todo.extend((str(op.attribute("callee")), False) for op in calls)
    return found


def _peak(function: Function, block: Block, peaks: Mapping[str, int]) -> int:
    """Peak of a block above what lives outside it. Blocks nest no deeper than the reader allows."""
    last = last_uses(block)
    deaths: list[list[int]] = [[] for _ in block.ops]
    for number, index in last.items():
        deaths[index].append(number)
    alive = {number: function.values[number].type.bytes for number in block.arguments}
    now = peak = sum(alive.values())
    for index, op in enumerate(block.ops):
        inner = 0
        if op.kind == "call":
            inner = peaks[str(op.attribute("callee"))]
        elif op.kind in ("if", "case"):
            inner = max(_peak(function, region, peaks) for region in op.regions)
        for number in op.results:
            alive[number] = 0 if op.kind in VIEWS else function.values[number].type.bytes
            now += alive[number]
        peak = max(peak, now + inner)
        for number in (*deaths[index], *(n for n in op.results if n not in last)):
            now -= alive.pop(number, 0)
    return peak


def available_bytes() -> int | None:
    """Memory that the machine, and the control group, can still give; None if the system does not say.

    What caches files counts as free: the system gives it up when it is asked for.
    """
    known = [bytes_ for bytes_ in (_machine_bytes(), _group_bytes()) if bytes_ is not None]
    return min(known, default=None)


def _machine_bytes() -> int | None:
    try:
        return _field(Path("/proc/meminfo"), "MemAvailable:") * 1024
    except (ValueError, OSError):
        pass  # not Linux
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):
        return None


def _group_bytes(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What the control group of a container (version 2) has left; None without a limit."""
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        return max(0, limit - used + _field(folder / "memory.stat", "inactive_file"))
    except (ValueError, OSError):
        return None


def _field(path: Path, name: str) -> int:
    """The number beside a name; ValueError if the file does not have it."""
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == name:
            return int(words[1])
    raise ValueError(f"no {name} in {path}")


def check_memory(
    module: Module, available: int | None, span: Span | None = None, hosted: int | None = None
) -> int:
    """The estimate for all devices together; ProgramError K707 if there is not enough for them.

    `hosted` devices, by default all, share what is available. The finding stands at `span`, at `main` without
    one.
    """
    each = peak_bytes(module)
    count = module.devices if hosted is None else hosted
    if available is not None and each * count > available:
        needed = f"{count} devices need about {each * count:,} bytes, {each:,} each"
        if count == 1:
            needed = f"one device needs about {each:,} bytes"
        message = f"{needed}; {available:,} are free"
        raise ProgramError(error("K707", message, span or module.main.span))
    return each * module.devices
