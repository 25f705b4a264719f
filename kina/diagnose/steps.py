"""The steps that rules lead along, from a dim of a tensor to a dim of its neighbour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kina.diagnose.case import Fact

#: A dim of a tensor, by the tensor's name in facts.
Place = tuple[str, int]

#: The relations that `steps` reads.
STEP_RELATIONS = ("shape_forward", "shape_split", "shape_merge", "op_forward", "op_sideways", "silent")


@dataclass(frozen=True, slots=True, order=True)
class Way:
    """From one dim to another. `kind` is one of

    - "same": the whole list goes on, up to `size` parts
    - "cut": what is left of the list when its first `major` parts are taken off
    - "join": the list goes behind the one that splits the first `major` elements of the target
    - "whole": both dims must stay whole for `op`, at `port` of which the way ends
    - "unruled": no rule covers `op`
    """

    source: Place
    target: Place
    kind: str
    size: int = 0
    major: int = 1
    op: str = ""
    port: str = ""

    @property
    def open(self) -> bool:
        """Whether rules lead along it, so that only what is at its end can stop an axis."""
        return self.kind not in ("whole", "unruled")


def steps(rows: Callable[[str], Iterable[Fact]]) -> Iterator[Way]:
    """The ways that rules lead along, but for those from a value to its cotangent."""
    silent = {(row[0], row[1]) for row in rows("silent")}
    for relation in ("shape_forward", "op_forward"):
        for value, dim, result, place, size in rows(relation):
            one, two = (str(value), int(dim)), (str(result), int(place))
            if (value, result) not in silent:
                yield Way(one, two, "same", int(size))
            yield Way(two, one, "same", int(size))
    for value, dim, other, place, size in rows("op_sideways"):
        yield Way((str(value), int(dim)), (str(other), int(place)), "same", int(size))
    for value, dim, major, result, place, size in rows("shape_split"):
        one, two = (str(value), int(dim)), (str(result), int(place))
        if (value, result) not in silent:
            yield Way(one, two, "cut", int(size), int(major))
        yield Way(two, one, "join", int(size), int(major))
    for value, dim, result, place, major, size in rows("shape_merge"):
        one, two = (str(value), int(dim)), (str(result), int(place))
        if (value, result) not in silent:
            yield Way(one, two, "join", int(size), int(major))
        yield Way(two, one, "cut", int(size), int(major))
