"""Which relation rests on which, as a graph of declared relations grouped by their files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from kina.datalog.rules import Rulebook, dependencies
from kina.rulebook.usage import Usage, declared, distinct


@dataclass(frozen=True, slots=True)
class Edge:
    """`above` rests on `below`, by clauses in `files`; `against` if only through negations or aggregates."""

    below: str
    above: str
    against: bool
    files: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(frozen=True, slots=True)
class Graph:
    """Relations in order of declaration, the files that declare them in reading order, and the edges.

    Relations outside `inner` are there because an inner one touches them.
    """

    nodes: tuple[Usage, ...]
    files: tuple[str, ...]
    edges: tuple[Edge, ...]
    inner: frozenset[str]


def graph_of(rulebook: Rulebook, found: Mapping[str, Usage], about: str = "", depth: int = 2) -> Graph:
    """The graph of all relations; of those that a file declares, derives or reads, and what reads its own; or
    of a relation with what it rests on and what rests on it, `depth` steps each way.

    Raises KeyError if `about` is neither a file nor a relation.
    """
    edges = tuple(_edges(rulebook))
    if not about:
        return _graph(found, edges, frozenset(found))
    if about in found:
        inner = _around(edges, about, depth)
        return _graph(found, tuple(edge for edge in edges if {edge.below, edge.above} <= inner), inner)
    file = PurePath(about).name
    inner = frozenset(name for name, usage in found.items() if usage.file == file)
    kept = tuple(edge for edge in edges if file in edge.files or edge.below in inner or edge.above in inner)
    if not (inner or kept):
        raise KeyError(about)
    return _graph(found, kept, inner)


def _graph(found: Mapping[str, Usage], edges: tuple[Edge, ...], inner: frozenset[str]) -> Graph:
    shown = inner | {name for edge in edges for name in (edge.below, edge.above)}
    nodes = tuple(usage for usage in found.values() if usage.name in shown)
    return Graph(nodes, tuple(dict.fromkeys(usage.file for usage in nodes)), edges, inner)


def _edges(rulebook: Rulebook) -> Iterator[Edge]:
    against: dict[tuple[str, str], bool] = {}
    files: dict[tuple[str, str], set[str]] = {}
    for rule in distinct(rulebook):
        head = declared(rulebook, rule.head.relation)
        for name, negated in dependencies(rule.clause):
            pair = declared(rulebook, name), head
            against[pair] = against.get(pair, True) and negated
            files.setdefault(pair, set()).add(PurePath(rule.clause.span.file).name)
    for pair in sorted(against):
        if pair[0] != pair[1]:
            yield Edge(*pair, against[pair], frozenset(files[pair]))


def _around(edges: Sequence[Edge], about: str, depth: int) -> frozenset[str]:
    below = above = frozenset({about})
    for _ in range(depth):
        below |= {edge.below for edge in edges if edge.above in below}
        above |= {edge.above for edge in edges if edge.below in above}
    return below | above
