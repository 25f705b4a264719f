"""Why an axis is not on a dim: exactly one reason, on the way from the nearest place that has the axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kina.diagnose.case import Fact
from kina.diagnose.steps import Place, Way
from kina.explain.inquiry import Inquiry
from kina.explain.ways import Ways
from kina.facts.axes import axes_word

#: Reason -> what it says.
KINDS: Mapping[str, str] = {
    "nothing": "nothing asks for it",
    "annotation": "an annotation keeps the axis off",
    "taken": "the axis splits another dim of the tensor",
    "size": "the parts do not divide the dim, or what a reshape makes of it",
    "lost": "the dim holds another list, of a lower priority number or an earlier level",
    "contested": "requests disagree, and nothing ranks them",
    "unruled": "no rule covers the op",
    "whole": "the op needs the dim whole",
    "released": "the plan takes the axis away: for a pending sum, or as the value is built where it is used",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why `axis` is not on the dim at `place`, the first one on the way that lacks it.

    `facts` are the tuples that decide it, winner first. `way` is the step that leads to `place`, None if
    the reason lies in the place alone, and `path` the steps from there on to the dim that was asked about.
    `behind` is the list that the axis comes behind, where the reason is that this does not arrive. `asked` is
    the list that a reshape hands on to `place`, where the reason is that it makes too many parts.
    """

    kind: str
    place: Place
    axis: str
    facts: tuple[tuple[str, Fact], ...] = ()
    way: Way | None = None
    path: tuple[Way, ...] = ()
    behind: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reasoner:
    """Finds reasons in one solved program; what it works out serves all questions."""

    inquiry: Inquiry
    _nearest: dict[str, Mapping[Place, Way]] = field(default_factory=dict)

    def reason(self, place: Place, axis: str) -> Reason:
        """Why the axis is not on the dim, which no row of `granted` puts it on."""
        local = self._local(place, axis)
        if local is not None:
            return local
        path = self._path(place, axis)
        if not path:
            return Reason("nothing", place, axis)
        return self._stop(path[0], axis, tuple(path[1:]))

    def _path(self, place: Place, axis: str) -> list[Way]:
        """The steps from the nearest place that has the axis, first one first; empty if there is no way."""
        if axis not in self._nearest:
            self._nearest[axis] = self._ways.from_nearest(axis)
        steps = self._nearest[axis]
        path: list[Way] = []
        while place in steps:
            path.append(steps[place])
            place = steps[place].source
        return path[::-1]

    @cached_property
    def _ways(self) -> Ways:
        return Ways(self.inquiry)

    # -- what lies in a place alone

    def _local(self, place: Place, axis: str) -> Reason | None:
        if self._sizes[place] % self._axis_sizes[axis]:
            return Reason("size", place, axis)
        name = self._encoded[axis]
        barred = ("given_barred", (*place, name))
        elsewhere = self._elsewhere(place, axis)
        if barred[1] in self._barred and not (elsewhere and self._only_elsewhere(place, name)):
            return Reason("annotation", place, axis, (barred,))
        if elsewhere is not None:
            return Reason("taken", place, axis, (("granted", elsewhere),))
        return self._contested(place, axis)

    def _elsewhere(self, place: Place, axis: str) -> Fact | None:
        """The row that puts the axis on another dim of the tensor."""
        for dim in range(self._ranks[place[0]]):
            for row in self.inquiry.granted.get((place[0], dim), ()):
                if dim != place[1] and self.inquiry.ends_in(row, axis):
                    return row
        return None

    def _only_elsewhere(self, place: Place, axis: str) -> bool:
        """Whether annotations keep the axis off only by putting it on another dim."""
        value, dim = place
        return (
            (value, dim) not in self._fixed
            and (value, axis) not in self._replicated
            and not any(row[:2] == (value, axis) for row in self.inquiry.rows("given_pending"))
        )

    def _contested(self, place: Place, axis: str) -> Reason | None:
        for row in self._contests.get(place, ()):
            if self.inquiry.ends_in(row, axis):
                rival = self._rival(row)
                facts = (("contested_at", row), *((("contested_at", rival),) if rival else ()))
                return Reason("contested", place, axis, facts)
        return None

    def _rival(self, row: Fact) -> Fact | None:
        """Another contested row of the tensor that excludes this one."""
        value, dim, word, _ = row
        axes = self.inquiry.case.axis_list(word)
        for other in range(self._ranks[str(value)]):
            for each in self._contests.get((str(value), other), ()):
                theirs = self.inquiry.case.axis_list(each[2])
                shared = axes[-1] == theirs[-1] if other != dim else parted(axes, theirs)
                if shared:
                    return each
        return None

    # -- what stops a step

    def _stop(self, way: Way, axis: str, path: tuple[Way, ...]) -> Reason:
        if way.kind == "whole":
            fact: Fact = (way.op, way.port, way.target[1])
            return Reason("whole", way.target, axis, (("dim_whole", fact),), way, path)
        if way.kind == "unruled":
            return Reason("unruled", way.target, axis, (("unruled", (way.op,)),), way, path)
        asked = self._asked(way, axis)
        if asked is None:
            return Reason("size", way.target, axis, (), way, path)
        for length in range(1, len(asked) + 1):
            found = self._stop_list(way, asked[:length])
            if found is not None:
                behind = asked[: len(asked) - 1] if found.axis != axis else ()
                return replace(found, way=way, path=path, behind=behind)
        raise AssertionError(f"{axis} is not at {way.target}, and nothing stops it")

    def _asked(self, way: Way, axis: str) -> tuple[str, ...] | None:
        """What the source asks of the target, None if a reshape cannot hand the axis on."""
        held = next(row for row in self.inquiry.granted[way.source] if self.inquiry.ends_in(row, axis))
        axes = self.inquiry.case.axis_list(held[2])
        if way.kind == "same":
            return axes
        if way.kind == "cut":
            upper = self._prefix(axes, way.major)
            return axes[len(upper) :] or None if upper is not None else None
        rows = self.inquiry.granted.get(way.target, ())
        target = self.inquiry.case.axis_list(rows[-1][2]) if rows else ()
        major = self._prefix(target, way.major)
        return None if major is None else (*major, *axes)

    def _prefix(self, axes: Sequence[str], parts: int) -> tuple[str, ...] | None:
        """The beginning of a list that makes just so many parts, not empty."""
        product = 1
        for count, axis in enumerate(axes, 1):
            product *= self._axis_sizes[axis]
            if product == parts:
                return tuple(axes[:count])
        return None

    def _stop_list(self, way: Way, axes: tuple[str, ...]) -> Reason | None:
        """Why the target lacks a list of which it has all but the last axis; None if it has it."""
        rows = self.inquiry.granted.get(way.target, ())
        word = axes_word(axes)
        if any(row[2] == word for row in rows):
            return None
        axis = axes[-1]
        local = self._local(way.target, axis)
        if local is not None:
            return local
        limit = way.size if way.kind != "join" or len(axes) == 1 else way.size * way.major
        if limit and (limit, word) not in self._fits:
            return Reason("size", way.target, axis, asked=axes)
        for row in rows:
            if parted(self.inquiry.case.axis_list(row[2]), axes):
                return Reason("lost", way.target, axis, (("granted", row),))
        return None

    # -- lookups

    @cached_property
    def _sizes(self) -> Mapping[Place, int]:
        return {(str(row[0]), int(row[1])): int(row[2]) for row in self.inquiry.rows("value_dim")}

    @cached_property
    def _ranks(self) -> Mapping[str, int]:
        return {str(row[0]): int(row[1]) for row in self.inquiry.rows("value_rank")}

    @cached_property
    def _axis_sizes(self) -> Mapping[str, int]:
        return {axis.name: axis.size for axis in self.inquiry.program.mesh.axes}

    @cached_property
    def _encoded(self) -> Mapping[str, str]:
        return {name: word for word, name in self.inquiry.case.axes.items()}

    @cached_property
    def _barred(self) -> frozenset[Fact]:
        return frozenset(self.inquiry.rows("given_barred"))

    @cached_property
    def _fixed(self) -> frozenset[Fact]:
        return frozenset(self.inquiry.rows("given_fixed"))

    @cached_property
    def _replicated(self) -> frozenset[Fact]:
        return frozenset(self.inquiry.rows("given_replicated"))

    @cached_property
    def _fits(self) -> frozenset[Fact]:
        return frozenset(self.inquiry.rows("axes_fit"))

    @cached_property
    def _contests(self) -> Mapping[Place, tuple[Fact, ...]]:
        found: dict[Place, list[Fact]] = {}
        for row in self.inquiry.rows("contested_at"):
            found.setdefault((str(row[0]), int(row[1])), []).append(row)
        return {place: tuple(rows) for place, rows in found.items()}


def parted(one: Sequence[str], two: Sequence[str]) -> bool:
    """Whether neither list begins with the other."""
    return any(a != b for a, b in zip(one, two, strict=False))
