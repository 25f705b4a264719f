"""What Kina finds on this machine: engines, packages, versions, and how to get what is missing."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata

from kina import __version__
from kina.datalog.cache import cache_folder
from kina.diagnostics.cells import pad
from kina.paths import rules_path

#: Package -> what it is for, when it is not installed.
_PACKAGES = ("clingo", "click", "jinja2", "lark", "ml_dtypes", "numpy", "rich", "sexpdata", "threadpoolctl")


@dataclass(frozen=True, slots=True)
class Examined:
    """One thing that was looked for: what was found, and how to get it where it is not right."""

    name: str
    found: str
    ok: bool
    required: bool
    advice: str = ""


def examine() -> tuple[Examined, ...]:
    """Look at the machine; nothing is changed and nothing is raised."""
    return tuple(_examine())


def report(findings: tuple[Examined, ...]) -> str:
    """What was found, a line each, then advice."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        mark = "ok" if finding.ok else "missing" if finding.required else "-"
        lines.append(f"{pad(finding.name, width)}  {pad(mark, 7)}  {finding.found}".rstrip())
    advice = [f"{finding.name}: {finding.advice}" for finding in findings if finding.advice]
    return "\n".join([*lines, *([""] if advice else []), *advice]) + "\n"


def _examine() -> Iterator[Examined]:
    yield Examined("kina", __version__, True, True)
    python = sys.version_info >= (3, 11)
    yield Examined(
        "python", platform.python_version(), python, True, "" if python else "3.11 or later is needed"
    )
    yield Examined("cores", str(_cores()), True, False)
    yield _rules()
    yield _extensions()
    yield _cache()
    yield _souffle()
    for name in _PACKAGES:
        yield _package(name)
    yield _jax()


def _cores() -> int:
    """The cores that this process may use, which a container may limit."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _rules() -> Examined:
    folder = rules_path()
    there = (folder / "program.dl").is_file()
    advice = "" if there else "the installation is not complete: install kina again"
    return Examined("rules", str(folder), there, True, advice)


def _extensions() -> Examined:
    """The packages that add rules, or functions that `kina run --kernels` uses."""
    from importlib.metadata import entry_points

    from kina.additions import GROUP as RULES
    from kina.run.kernels import GROUP as KERNELS

    entries = [entry for group in (RULES, KERNELS) for entry in entry_points(group=group)]
    found = [f"{entry.group} {entry.name}" for entry in entries]
    return Examined("extensions", ", ".join(sorted(found)) or "none", True, False)


def _cache() -> Examined:
    folder = cache_folder()
    if folder is None:
        return Examined("cache", "off", True, False)
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    writable = os.access(existing, os.W_OK)
    advice = "" if writable else "name a folder that can be written in `KINA_CACHE`, or say `KINA_CACHE=off`"
    return Examined("cache", str(folder), writable, False, advice)


def _souffle() -> Examined:
    from kina.datalog.souffle_engine import GET_SOUFFLE, find_souffle
    from kina.diagnostics.finding import SetupError

    try:
        found = find_souffle()
    except SetupError as problem:
        return Examined("souffle", problem.message, False, False, problem.help or GET_SOUFFLE)
    if found is None:
        return Examined("souffle", "not found; clingo is used", False, False, GET_SOUFFLE)
    return Examined("souffle", f"{found.version} at {found.path}", True, False)


def _jax() -> Examined:
    from kina.run.xla_devices import OLDEST

    needs = f"`pip install 'kina[xla]'`, jax {'.'.join(map(str, OLDEST))} or later, for `--engine xla`"
    try:
        found = metadata.version("jax")
    except metadata.PackageNotFoundError:
        return Examined("jax", "not installed; the simulator is used", False, False, needs)
    parts = [int(part) for part in found.split(".")[:2] if part.isdecimal()]
    recent = tuple(parts) >= OLDEST
    return Examined("jax", found, recent, False, "" if recent else needs)


def _package(name: str) -> Examined:
    try:
        return Examined(name, metadata.version(name), True, True)
    except metadata.PackageNotFoundError:
        return Examined(name, "not installed", False, True, f"`pip install {name}`")
