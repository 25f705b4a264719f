"""Instances of gather and scatter: all attributes, indices outside of the operand too."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

from kina.audit.instance import Domain, Instance, Maker
from kina.frontend.ir import Attribute

Make = Callable[[Maker], Instance]


@dataclass(frozen=True, slots=True)
class _Lookup:
    """What gather and scatter have in common: how windows lie on the operand, and indices in their tensor.

    `roles` of the dims of the operand are batching, gone, moved (a window that indices move) and still.
    """

    roles: tuple[str, ...]
    shape: tuple[int, ...]
    window: tuple[int, ...]
    index_map: tuple[int, ...]
    indices: tuple[int, ...]
    index_batching: tuple[int, ...]
    vector_dim: int
    windows: tuple[int, ...]
    window_dims: tuple[int, ...]

    def dims(self, role: str) -> tuple[int, ...]:
        """The dims of the operand with a role, in order."""
        return tuple(dim for dim, each in enumerate(self.roles) if each == role)

    @property
    def domain(self) -> Domain:
        """Indices from the first place to the last, and some beyond."""
        room = [self.shape[dim] - self.window[dim] for dim in self.index_map]
        return Domain("index", 0, max(room, default=0))

    @property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The names of the dims of operand, indices and windows."""
        indices = tuple("vector" if dim == self.vector_dim else "index" for dim in range(len(self.indices)))
        windows = tuple("window" if dim in self.window_dims else "index" for dim in range(len(self.windows)))
        return self.roles, indices, windows


def _draw(maker: Maker) -> _Lookup:
    rng, shape = maker.rng, maker.shape(1, 3)
    roles = [rng.choice(("gone", "moved", "still", "still")) for _ in shape]
    if not {"gone", "moved"} & set(roles):
        roles[rng.randrange(len(roles))] = "gone"
    if len(shape) > 1 and rng.random() < 0.4:
        roles[rng.randrange(len(roles))] = "batching"
    indexed = [dim for dim, role in enumerate(roles) if role in ("gone", "moved")]
    window = tuple(_extent(maker, role, size) for role, size in zip(roles, shape, strict=True))
    batch, matched = _batch(maker, [shape[dim] for dim, role in enumerate(roles) if role == "batching"])
    indices, vector_dim, batching = _with_vector(maker, batch, matched, len(indexed))
    kept = [window[dim] for dim, role in enumerate(roles) if role in ("moved", "still")]
    rank = len(batch) + len(kept)
    window_dims = tuple(sorted(rng.sample(range(rank), len(kept))))
    sizes, rest = dict(zip(window_dims, kept, strict=True)), iter(batch)
    windows = tuple(sizes[dim] if dim in sizes else next(rest) for dim in range(rank))
    index_map = tuple(rng.sample(indexed, len(indexed)))
    return _Lookup(
        tuple(roles), shape, window, index_map, indices, batching, vector_dim, windows, window_dims
    )


def _extent(maker: Maker, role: str, size: int) -> int:
    """The size of a window along a dim."""
    if role in ("gone", "batching"):
        return 1
    return size if maker.rng.random() < 0.6 else maker.rng.randint(1, size)


def _batch(maker: Maker, matched: list[int]) -> tuple[list[int], list[int]]:
    """The sizes of the dims of the indices, and where those are that match the operand's."""
    batch = [maker.size() for _ in range(maker.rng.choice((0, 1, 1, 2)))]
    places: list[int] = []
    for size in matched:
        at = maker.rng.randint(0, len(batch))
        batch.insert(at, size)
        places = [*(place + (place >= at) for place in places), at]
    return batch, places


def _with_vector(
    maker: Maker, batch: list[int], batching: list[int], parts: int
) -> tuple[tuple[int, ...], int, tuple[int, ...]]:
    """The shape of the indices with the dim that holds the parts of one index, if it has one."""
    if parts == 1 and maker.rng.random() < 0.5:
        return tuple(batch), len(batch), tuple(batching)
    at = maker.rng.randint(0, len(batch))
    return (
        (*batch[:at], parts, *batch[at:]),
        at,
        tuple(place + (place >= at) for place in batching),
    )


def _gather(maker: Maker) -> Instance:
    lookup = _draw(maker)
    operand = maker.parameter(maker.rng.choice(("f32", "i32", "bool")), lookup.shape)
    indices = maker.parameter(maker.rng.choice(("i32", "i64")), lookup.indices, lookup.domain)
    attributes: dict[str, Attribute] = {
        "offset_dims": lookup.window_dims,
        "collapsed_slice_dims": lookup.dims("gone"),
        "operand_batching_dims": lookup.dims("batching"),
        "start_indices_batching_dims": lookup.index_batching,
        "start_index_map": lookup.index_map,
        "index_vector_dim": lookup.vector_dim,
        "slice_sizes": lookup.window,
        "indices_are_sorted": False,
    }
    return maker.instance("gather", (operand, indices), attributes, lookup.labels)


def _scatter(maker: Maker) -> Instance:
    rng, lookup = maker.rng, _draw(maker)
    combiner = rng.choice(("add", "add", "set", "max", "min", "mul"))
    dtype = rng.choice(("f32", "f64", "i32"))
    splat = rng.choice(("", "", "0", "1"))
    operand = maker.constant(dtype, lookup.shape, splat) if splat else maker.parameter(dtype, lookup.shape)
    places = lookup.domain.high + 1
    unique = len(lookup.index_map) == 1 and 1 < prod(lookup.indices) <= places
    unique = unique and lookup.roles[lookup.index_map[0]] == "gone" and not lookup.index_batching
    unique = unique and rng.random() < 0.7
    domain = Domain("unique", 0, lookup.domain.high) if unique else lookup.domain
    indices = maker.parameter(rng.choice(("i32", "i64")), lookup.indices, domain)
    updates = maker.parameter(dtype, lookup.windows)
    attributes: dict[str, Attribute] = {
        "update_window_dims": lookup.window_dims,
        "inserted_window_dims": lookup.dims("gone"),
        "input_batching_dims": lookup.dims("batching"),
        "scatter_indices_batching_dims": lookup.index_batching,
        "scatter_dims_to_operand_dims": lookup.index_map,
        "index_vector_dim": lookup.vector_dim,
        "combiner": combiner,
        "indices_are_sorted": False,
        "unique_indices": unique,
    }
    labels = (*lookup.labels, lookup.roles)
    return maker.instance("scatter", (operand, indices, updates), attributes, labels)


MAKERS: Mapping[str, Make] = {"gather": _gather, "scatter": _scatter}
