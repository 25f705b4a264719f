"""Results as JSON and as Markdown, with the versions and the machine that they hold for."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any

from bench.measure import RESULTS

_SETTINGS = ("OPENBLAS_", "OMP_", "MKL_", "XLA_FLAGS", "PYTHONDONTWRITEBYTECODE")
_PACKAGES = ("kina", "clingo", "jax", "jaxlib", "numpy")


def versions() -> dict[str, str]:
    """Package or tool -> version, of those that are there."""
    from kina.datalog.souffle_engine import find_souffle

    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    souffle = find_souffle()
    if souffle is not None:
        found["souffle"] = souffle.version
    return found


def machine_json() -> dict[str, Any]:
    """The machine: processor, cores, memory, load. Nothing that names it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "processor": _processor(),
        "cores": cores,
        "memory_mib": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        "load": [round(each, 1) for each in os.getloadavg()],
        "versions": versions(),
        "settings": settings(),
    }


def settings() -> dict[str, str]:
    """Variables of the environment that change how fast libraries compute, where any is set."""
    return {name: value for name, value in sorted(os.environ.items()) if name.startswith(_SETTINGS)}


def _processor() -> str:
    """The model that /proc/cpuinfo names, where there is one."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def spread(seconds: Sequence[float]) -> str:
    """The fastest (median, slowest)."""
    return f"{min(seconds):.3f} ({median(seconds):.3f}, {max(seconds):.3f})"


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table whose columns line up; the first row is its head."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def save(
    name: str, rows: Sequence[Any], text: str, pictures: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Print the text, and leave it, rows and pictures as `bench/results/NAME.json`, `.md` and `-….svg`."""
    print(text, flush=True)
    RESULTS.mkdir(exist_ok=True)
    machine = machine_json()
    out = json.dumps({"machine": machine, "rows": [_plain(row) for row in rows]}, indent=1, allow_nan=False)
    (RESULTS / f"{name}.json").write_text(out + "\n", encoding="utf-8")
    shown = [f"![{title}]({name}-{title}.svg)" for title in pictures]
    for title, picture in pictures.items():
        (RESULTS / f"{name}-{title}.svg").write_text(picture, encoding="utf-8")
    page = "\n\n".join([f"# {name}", _sentence(machine), text.rstrip(), *shown]) + "\n"
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")


def _sentence(machine: Mapping[str, Any]) -> str:
    """The machine and the versions in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    cores = f"{machine['cores']} cores of {machine['processor'] or machine['architecture']}"
    set_ = "".join(f", {name}={value}" for name, value in machine["settings"].items())
    return f"Measured on {cores}, {machine['memory_mib']:,} MiB, load {machine['load'][0]}; {versions}{set_}."


def _plain(value: Any) -> Any:
    """The value as JSON has it: a number that was not measured is null."""
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(asdict(value))
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value
