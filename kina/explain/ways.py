"""The ways that an axis could go from a dim to another, and the shortest one from where it is."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from kina.diagnose.steps import STEP_RELATIONS, Place, Way, steps
from kina.explain.inquiry import Inquiry

#: The relations that ways are made of.
RELATIONS = (*STEP_RELATIONS, "dim_whole", "unruled")


@dataclass(frozen=True)
class Ways:
    """All ways of one program, by the place where they start."""

    inquiry: Inquiry

    @cached_property
    def _from(self) -> Mapping[Place, tuple[Way, ...]]:
        found: dict[Place, dict[Way, None]] = defaultdict(dict)
        for way in self._all():
            if way.source[0] != way.target[0]:
                found[way.source][way] = None
        return {place: tuple(ways) for place, ways in found.items()}

    def _all(self) -> Iterator[Way]:
        yield from steps(self.inquiry.rows)
        yield from self._cotangents()
        yield from self._closed()

    def _cotangents(self) -> Iterator[Way]:
        ranks = {str(row[0]): int(row[1]) for row in self.inquiry.rows("value_rank")}
        for value, cotangent in self.inquiry.rows("value_cotangent"):
            for dim in range(ranks[str(value)]):
                yield Way((str(value), dim), (str(cotangent), dim), "same")

    def _closed(self) -> Iterator[Way]:
        """Between dims of one number of one op that must stay whole, or that no rule covers."""
        at_port = {
            str(row[2]): str(row[3])
            for name in ("op_operand", "op_result")
            for row in self.inquiry.rows(name)
        }
        sizes = {(str(row[0]), int(row[1])): int(row[2]) for row in self.inquiry.rows("value_dim")}
        groups: defaultdict[tuple[str, str, int], list[str]] = defaultdict(list)
        for op, port, dim in self.inquiry.rows("dim_whole"):
            groups["whole", str(op), int(dim)].append(str(port))
        unruled = {str(row[0]) for row in self.inquiry.rows("unruled")}
        for name in ("op_operand", "op_result"):
            for op, _, port, value in self.inquiry.rows(name) if unruled else ():
                for dim in range(len(sizes)) if str(op) in unruled else ():
                    if (str(value), dim) not in sizes:
                        break
                    groups["unruled", str(op), dim].append(str(port))
        for (kind, op, dim), ports in groups.items():
            for one in ports:
                for two in ports:
                    yield Way((at_port[one], dim), (at_port[two], dim), kind, op=op, port=two)

    @cached_property
    def _derived(self) -> frozenset[str]:
        return frozenset(str(row[0]) for row in self.inquiry.rows("value_derived"))

    @cached_property
    def _last_priority(self) -> int:
        return max(self.inquiry.facts.priorities)

    def _live(self, way: Way, axis: str, arrived: bool) -> bool:
        """Whether an axis would go this way: nothing flows from a gradient back into what the user wrote,
        except from an annotation on it, or what it has since an earlier priority."""
        if way.source[0] not in self._derived or way.target[0] in self._derived:
            return True
        if not arrived:
            return False
        name, dim = way.source
        last = [row for row in self.inquiry.granted[way.source] if self.inquiry.ends_in(row, axis)]
        seeded = any(
            row[0] == name and row[1] == dim and axis in self.inquiry.case.axis_list(row[2])
            for row in self.inquiry.rows("given_sharded")
        )
        return seeded or int(last[0][3]) < self._last_priority

    def from_nearest(self, axis: str) -> Mapping[Place, Way]:
        """For each place that the axis could reach from where it is, the last step of the shortest way there.

        Ways that no rule leads along come last.
        """
        sources = sorted(
            place
            for place, rows in self.inquiry.granted.items()
            if any(self.inquiry.ends_in(row, axis) for row in rows)
        )
        steps: dict[Place, Way] = {}
        done: set[Place] = set()
        queue: list[tuple[int, int, Place, Way | None]] = [(0, 0, place, None) for place in sources]
        while queue:
            closed, length, place, way = heapq.heappop(queue)
            if place in done:
                continue
            done.add(place)
            if way is not None:
                steps[place] = way
            for on in self._from.get(place, ()):
                if on.target not in done and self._live(on, axis, way is None):
                    heapq.heappush(queue, (closed + (not on.open), length + 1, on.target, on))
        return steps
