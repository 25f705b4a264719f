"""Lock files: layouts and collectives pinned as text that a review can diff."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kina.diagnostics.cells import printable
from kina.diagnostics.finding import Finding, Help, Label, SetupError
from kina.report.types import axes_text, value_type

if TYPE_CHECKING:
    from kina.frontend.ir import Program
    from kina.plan.decisions import Decisions

_FIRST = "kina lock 1"
_PLAIN = re.compile(r"[^\s\"\\]+")
#: Differences that one finding lists; the rest are counted.
_LISTED = 20


def lock_text(program: Program, decisions: Decisions) -> str:
    """The lock file of a checked program: a line for the mesh, each tensor and each collective."""
    mesh = " ".join(f"{_word(axis.name)}={axis.size}" for axis in program.mesh.axes)
    lines = [_FIRST, f"entry {_word(program.entry)}", f"mesh {mesh}"]
    for value in program.values:
        lines.append(f"tensor {_word(value.name)} {printable(value_type(program, decisions, value.id))}")
    for one in decisions.collectives:
        name = _word(program.values[one.value].name)
        lines.append(f"collective {one.kind} {_word(axes_text(one.axes))} {name} {one.bytes}")
    return "\n".join(lines) + "\n"


def compare(program: Program, decisions: Decisions, lock: str, name: str) -> Finding | None:
    """An error that lists what differs from the lock file `name` with text `lock`; None if nothing does.

    Raises SetupError if the text is no lock file of this version.
    """
    lines = lock.splitlines()
    if not lines or lines[0] != _FIRST:
        raise SetupError(f"`{name}` is not a lock file that this version reads", "write it with `--accept`")
    now = lock_text(program, decisions).splitlines()
    old, new = Counter(lines[1:]), Counter(now[1:])
    gone, come = list((old - new).elements()), list((new - old).elements())
    if not gone and not come:
        return None
    return _finding(program, name, gone, come)


def _finding(program: Program, name: str, gone: Sequence[str], come: Sequence[str]) -> Finding:
    differences = _paired(gone, come)
    places = {_word(value.name): value.span for value in program.values}
    labels: list[Label] = []
    for old, new in differences[:_LISTED]:
        kind, *fields = _fields(new or old)
        place = places.get(fields[0]) if kind == "tensor" else None
        if place is not None and len(labels) < 3:
            labels.append(
                Label(place, f"{_type(old) or 'nothing'} in the lock, {_type(new) or 'nothing'} now")
            )
    notes = [line for pair in differences[:_LISTED] for line in _shown(pair)]
    if len(differences) > _LISTED:
        notes.append(f"{len(differences) - _LISTED} more differences")
    primary = labels[0].span if labels else program.span
    at = labels[0].message if labels else ""
    count = f"{len(differences)} difference{'s' if len(differences) > 1 else ''}"
    return Finding(
        "K390",
        "error",
        f"layouts and collectives are not those of `{name}`: {count}",
        primary,
        at,
        tuple(labels[1:]),
        tuple(notes),
        (Help(f"if this is meant, `--expect {name} --accept` writes what is there now"),),
    )


def _paired(gone: Sequence[str], come: Sequence[str]) -> list[tuple[str, str]]:
    """Old and new lines about one thing side by side, in the order of what is there now."""
    waiting: dict[str, list[str]] = {}
    for line in gone:
        waiting.setdefault(_key(line), []).append(line)
    pairs = []
    for line in come:
        old = waiting.get(_key(line), [])
        pairs.append((old.pop(0) if old else "", line))
    return pairs + [(line, "") for lines in waiting.values() for line in lines]


def _key(line: str) -> str:
    """What a line is about: a tensor's name, a collective's tensor, or its first word."""
    fields = _fields(line)
    match fields:
        case ["tensor", name, *_]:
            return f"tensor {name}"
        case ["collective", _, _, name, *_]:
            return f"collective {name}"
        case [word, *_]:
            return word
        case _:
            return ""


def _fields(line: str) -> list[str]:
    return re.findall(r'"(?:[^"\\]|\\.)*"\S*|\S+', line)


def _type(line: str) -> str:
    return " ".join(_fields(line)[2:])


def _shown(pair: tuple[str, str]) -> list[str]:
    old, new = pair
    return ([f"- {old}"] if old else []) + ([f"+ {new}"] if new else [])


def _word(text: str) -> str:
    """A name as one word of a line: quoted if it has blanks, quotes or control characters."""
    return text if _PLAIN.fullmatch(text) and text.isprintable() else json.dumps(text)
