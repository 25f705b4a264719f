"""Missing placements, those that are alike together, with the reason why they are missing if it is known."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from kina.audit.example import example, port_names
from kina.audit.hypotheses import Missing
from kina.audit.instance import Instance
from kina.audit.outcome import Lacking
from kina.audit.placement import Placement, PortState


@dataclass(frozen=True, slots=True)
class Known:
    """Placements that are known to be missing, by patterns on kind and `where`, and why they are."""

    op: str
    where: str
    reason: str

    def covers(self, op: str, where: str) -> bool:
        return fnmatchcase(op, self.op) and fnmatchcase(where, self.where)


@cache
def known_missing() -> tuple[Known, ...]:
    """What stands in `known_missing.toml`, in its order: the first that covers a placement counts."""
    text = (files("kina") / "audit" / "known_missing.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text).get("missing", [])
    return tuple(
        Known(op, where, row["reason"]) for row in rows for op in row["ops"] for where in row["where"]
    )


def lacking(kind: str, found: Sequence[Missing]) -> tuple[Lacking, ...]:
    """One entry for each way in which placements are missing, with the smallest example."""
    groups: dict[str, list[Missing]] = {}
    for each in found:
        groups.setdefault(where(each.instance, each.placement), []).append(each)
    return tuple(_entry(kind, place, groups[place]) for place in sorted(groups))


def _entry(kind: str, place: str, group: Sequence[Missing]) -> Lacking:
    smallest = min(group, key=lambda each: (each.placement.mesh.devices, each.instance.elements))
    reason = next((known.reason for known in known_missing() if known.covers(kind, place)), "")
    shown = example(smallest.instance, smallest.placement, None, None)
    return Lacking(place, len(group), smallest.bytes, shown, reason)


def where(instance: Instance, placement: Placement) -> str:
    """What a placement does with each port that is not whole: `lhs split batch -> result split batch`."""
    names = port_names(instance)
    states = (*placement.operands, *placement.results)
    count = len(placement.operands)
    words = [
        " ".join((name, *_words(instance, port, state)))
        for port, (name, state) in enumerate(zip(names, states, strict=True))
        if state.axes
    ]
    operands = [word for word, port in zip(words, _used(states), strict=True) if port < count]
    results = [word for word, port in zip(words, _used(states), strict=True) if port >= count]
    return f"{', '.join(operands)} -> {', '.join(results)}"


def _used(states: Sequence[PortState]) -> list[int]:
    return [port for port, state in enumerate(states) if state.axes]


def _words(instance: Instance, port: int, state: PortState) -> Iterator[str]:
    if state.pending:
        yield f"pending {state.pending[0][1]}"
        return
    dim = next(dim for dim, axes in enumerate(state.layout) if axes)
    yield "split"
    label = instance.label(port, dim)
    if label:
        yield label
