"""Where the boxes of a graph go: files in rows by what they rest on, relations in columns within a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kina.rulebook.graph import Edge, Graph
from kina.rulebook.usage import Usage

#: Pixels: of a character, of a relation's box, between boxes, around a file, and of a file's title.
CHARACTER, HEIGHT, GAP, MARGIN, TITLE = 7, 22, 14, 12, 22
#: Relations above each other in one column of a file, and files beside each other in one row.
_TALLEST, _WIDEST = 9, 2600


@dataclass(frozen=True, slots=True)
class Box:
    x: int
    y: int
    width: int
    height: int

    def moved(self, x: int, y: int) -> Box:
        return Box(self.x + x, self.y + y, self.width, self.height)


@dataclass(frozen=True, slots=True)
class Placed:
    """The box of every relation and every file, and the size of the whole."""

    relations: Mapping[str, Box]
    files: Mapping[str, Box]
    width: int
    height: int


def place(graph: Graph) -> Placed:
    """A place for everything; equal graphs get equal places."""
    inside = {file: _inside(graph, file) for file in graph.files}
    files: dict[str, Box] = {}
    relations: dict[str, Box] = {}
    y, widest = MARGIN, 0
    for row in _rows(graph, {file: size for file, (_, size) in inside.items()}):
        x = MARGIN
        for file in row:
            boxes, (width, height) = inside[file]
            files[file] = Box(x, y, width, height)
            relations.update({name: box.moved(x, y) for name, box in boxes.items()})
            x += width + 2 * MARGIN
        widest = max(widest, x - MARGIN)
        y += max(files[file].height for file in row) + 4 * MARGIN
    return Placed(relations, files, widest + MARGIN, y - 3 * MARGIN)


def _rows(graph: Graph, sizes: Mapping[str, tuple[int, int]]) -> list[list[str]]:
    """The files by level, one more than the highest of those before it in reading order that it rests on;
    a level that is too wide for one row takes several."""
    home = {usage.name: usage.file for usage in graph.nodes}
    order = {file: number for number, file in enumerate(graph.files)}
    levels: dict[str, int] = {}
    for file in graph.files:
        below = {home[edge.below] for edge in graph.edges if home[edge.above] == file}
        earlier = [levels[other] for other in below if order[other] < order[file]]
        levels[file] = 1 + max(earlier, default=-1)
    rows: list[list[str]] = []
    for level in range(max(levels.values(), default=-1) + 1):
        width = 0
        rows.append([])
        for file in graph.files:
            if levels[file] == level:
                if rows[-1] and width + sizes[file][0] > _WIDEST:
                    rows.append([])
                    width = 0
                rows[-1].append(file)
                width += sizes[file][0] + 2 * MARGIN
    return rows


def _inside(graph: Graph, file: str) -> tuple[dict[str, Box], tuple[int, int]]:
    """The boxes of a file's relations, as if the file stood at 0, 0, and its size."""
    own = [usage for usage in graph.nodes if usage.file == file]
    boxes: dict[str, Box] = {}
    x, tallest = MARGIN, 0
    for column in _columns(own, graph.edges):
        width = max(len(usage.name) for usage in column) * CHARACTER + GAP
        for row, usage in enumerate(column):
            boxes[usage.name] = Box(x, TITLE + MARGIN + row * (HEIGHT + GAP // 2), width, HEIGHT)
        tallest = max(tallest, len(column))
        x += width + 2 * GAP
    width = max(x - 2 * GAP + MARGIN, len(file) * CHARACTER + 2 * MARGIN)
    return boxes, (width, TITLE + 2 * MARGIN + tallest * (HEIGHT + GAP // 2) - GAP // 2)


def _columns(own: Sequence[Usage], edges: Sequence[Edge]) -> list[list[Usage]]:
    """The relations of a file by their level in the file, those of one level by their neighbours before."""
    names = {usage.name for usage in own}
    below: dict[str, list[str]] = {name: [] for name in names}
    for edge in edges:
        if edge.below in names and edge.above in names:
            below[edge.above].append(edge.below)
    rank = {level: number for number, level in enumerate(sorted({usage.level for usage in own}))}
    by_rank: list[list[Usage]] = [[] for _ in rank]
    for usage in own:
        by_rank[rank[usage.level]].append(usage)
    columns: list[list[Usage]] = []
    heights: dict[str, int] = {}
    for level in by_rank:
        level.sort(key=lambda usage: _middle(below[usage.name], heights))
        heights.update({usage.name: number for number, usage in enumerate(level)})
        columns += [level[start : start + _TALLEST] for start in range(0, len(level), _TALLEST)]
    return columns


def _middle(names: Sequence[str], heights: Mapping[str, int]) -> float:
    known = [heights[name] for name in names if name in heights]
    return sum(known) / len(known) if known else 0.0
