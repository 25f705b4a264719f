"""Layouts in numbers: local shapes, the groups of a collective, who sends a shard to whom."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from math import prod

from kina.frontend.ir import Mesh
from kina.plan.decisions import Layout


@dataclass(slots=True)
class Grid:
    """The mesh as a grid of numbered devices, row-major over its axes. Axes of size 1 split nothing."""

    mesh: Mesh
    sizes: dict[str, int] = field(init=False)
    #: for each device its coordinate along each axis
    places: tuple[dict[str, int], ...] = field(init=False)
    _groups: dict[tuple[str, ...], tuple[tuple[int, ...], ...]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.sizes = {axis.name: axis.size for axis in self.mesh.axes}
        names = tuple(self.sizes)
        self.places = tuple(
            dict(zip(names, place, strict=True)) for place in product(*map(range, self.sizes.values()))
        )

    def parts(self, axes: tuple[str, ...]) -> int:
        """Into how many shards the axes split a dim."""
        return prod([self.sizes[axis] for axis in axes])

    def real(self, layout: Layout) -> Layout:
        """The layout without the axes of size 1."""
        return tuple([tuple([axis for axis in axes if self.sizes[axis] > 1]) for axes in layout])

    def local(self, shape: tuple[int, ...], layout: Layout) -> tuple[int, ...]:
        """The shape of one device's shard. ValueError if an axis list does not divide its dim."""
        found = []
        for size, axes in zip(shape, layout, strict=True):
            parts = self.parts(axes) if axes else 1
            if size % parts:
                raise ValueError(f"{parts} devices do not divide a dim of {size}")
            found.append(size // parts)
        return tuple(found)

    def index(self, device: int, axes: tuple[str, ...]) -> int:
        """Which shard the device holds of a dim that `axes` split, major to minor."""
        place, found = self.places[device], 0
        for axis in axes:
            found = found * self.sizes[axis] + place[axis]
        return found

    def groups(self, axes: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
        """The devices that differ along `axes` only, in the order of `axes`, major to minor."""
        if axes not in self._groups:
            found: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
            others = [axis for axis in self.sizes if axis not in axes]
            for device, place in enumerate(self.places):
                found[tuple([place[axis] for axis in others])].append(device)
            self._groups[axes] = tuple(
                tuple(sorted(group, key=lambda device: self.index(device, axes))) for group in found.values()
            )
        return self._groups[axes]

    def exchange(self, before: Layout, after: Layout) -> tuple[tuple[int, int], ...]:
        """(source, target) pairs that turn shards of `before` into those of `after`, of equal shapes.

        Axes that split neither layout keep their coordinate, so that parts of a pending sum stay apart
        and no device is asked twice. A device that holds its shard already keeps it.
        """
        used = {axis for layout in (before, after) for axes in layout for axis in axes}
        others = [axis for axis in self.sizes if axis not in used]
        sources: defaultdict[object, list[int]] = defaultdict(list)
        targets: defaultdict[object, list[int]] = defaultdict(list)
        for device, place in enumerate(self.places):
            kept = tuple([place[axis] for axis in others])
            sources[kept, self._block(device, before)].append(device)
            targets[kept, self._block(device, after)].append(device)
        return tuple(sorted(_pairs(sources, targets), key=lambda pair: pair[1]))

    def _block(self, device: int, layout: Layout) -> tuple[int, ...]:
        return tuple([self.index(device, axes) for axes in layout])


def _pairs(sources: dict[object, list[int]], targets: dict[object, list[int]]) -> Iterator[tuple[int, int]]:
    for block, wanting in targets.items():
        holding = sources.get(block, [])
        if len(holding) != len(wanting):
            raise ValueError("a permutation of shards leaves a device without one")
        staying = set(holding) & set(wanting)
        yield from ((device, device) for device in staying)
        free = [device for device in holding if device not in staying]
        yield from zip(free, [device for device in wanting if device not in staying], strict=True)
