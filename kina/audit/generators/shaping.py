"""Instances of ops that move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod

from kina.audit.instance import Domain, Instance, Maker

Make = Callable[[Maker], Instance]

_DTYPES = ("f32", "f32", "i32", "bool")


def _broadcast(maker: Maker) -> Instance:
    """Onto more dims in any order; dims of size 1 are stretched, others are not."""
    rng, shape = maker.rng, list(maker.shape(0, 2))
    rank = len(shape) + rng.randint(0, 2)
    dims = rng.sample(range(rank), len(shape))
    target = [maker.size() for _ in range(rank)]
    for dim, place in enumerate(dims):
        if rng.random() < 0.3:
            shape[dim] = 1
        else:
            target[place] = shape[dim]
    operand = maker.parameter(rng.choice(_DTYPES), shape)
    attributes = {"broadcast_dimensions": tuple(dims), "shape": tuple(target)}
    return maker.instance("broadcast_in_dim", (operand,), attributes)


def _transpose(maker: Maker) -> Instance:
    shape = maker.shape(1, 3)
    order = tuple(maker.rng.sample(range(len(shape)), len(shape)))
    return maker.instance(
        "transpose", (maker.parameter(maker.rng.choice(_DTYPES), shape),), {"permutation": order}
    )


def _reshape(maker: Maker) -> Instance:
    """Two groupings of one row of factors; sometimes the second row is in another order."""
    rng = maker.rng
    factors = [rng.choice((2, 2, 3, 4, 6)) for _ in range(rng.randint(1, 3))]
    others = rng.sample(factors, len(factors)) if rng.random() < 0.4 else factors
    operand = maker.parameter(rng.choice(_DTYPES), _grouped(maker, factors))
    return maker.instance("reshape", (operand,), {"shape": _grouped(maker, others)})


def _grouped(maker: Maker, factors: list[int]) -> tuple[int, ...]:
    """Sizes that multiply to the factors: runs of them, at times with a size of 1 between."""
    sizes: list[int] = []
    run: list[int] = []
    for factor in factors:
        run.append(factor)
        if maker.rng.random() < 0.5:
            sizes.append(prod(run))
            run = []
            if maker.rng.random() < 0.15:
                sizes.append(1)
    return (*sizes, prod(run)) if run else tuple(sizes)


def _slice(maker: Maker) -> Instance:
    """Along each dim all, all in steps, or a part."""
    rng, shape = maker.rng, maker.shape(1, 3)
    bounds = []
    for size in shape:
        stride = rng.choice((1, 1, 2, 3))
        start, limit = rng.choice(((0, size), (0, size), (rng.randint(0, size - 1), rng.randint(0, size))))
        bounds.append((min(start, limit), max(start, limit), stride))
    starts, limits, strides = zip(*bounds, strict=True)
    operand = maker.parameter(rng.choice(_DTYPES), shape)
    attributes = {"start_indices": starts, "limit_indices": limits, "strides": strides}
    return maker.instance("slice", (operand,), attributes, [_cut_labels(bounds, shape)])


def _cut_labels(bounds: list[tuple[int, int, int]], shape: tuple[int, ...]) -> list[str]:
    """Whether a dim is taken whole."""
    return [
        "whole" if (start, limit, stride) == (0, size, 1) else "cut"
        for (start, limit, stride), size in zip(bounds, shape, strict=True)
    ]


def _window(maker: Maker, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The sizes of a window: along each dim all of it, or less."""
    return tuple(size if maker.rng.random() < 0.5 else maker.rng.randint(1, size) for size in shape)


def _starts(maker: Maker, shape: tuple[int, ...], window: tuple[int, ...]) -> list[int]:
    """A scalar start for each dim, some of them outside."""
    dtype = maker.rng.choice(("i32", "i64"))
    return [
        maker.parameter(dtype, (), Domain("index", 0, size - part))
        for size, part in zip(shape, window, strict=True)
    ]


def _dynamic_slice(maker: Maker) -> Instance:
    shape = maker.shape(1, 2)
    window = _window(maker, shape)
    operand = maker.parameter(maker.rng.choice(_DTYPES), shape)
    return maker.instance("dynamic_slice", (operand, *_starts(maker, shape, window)), {"slice_sizes": window})


def _dynamic_update_slice(maker: Maker) -> Instance:
    shape, dtype = maker.shape(1, 2), maker.rng.choice(_DTYPES)
    window = _window(maker, shape)
    operands = maker.parameter(dtype, shape), maker.parameter(dtype, window)
    return maker.instance("dynamic_update_slice", (*operands, *_starts(maker, shape, window)))


def _concatenate(maker: Maker) -> Instance:
    """One to three operands, of equal or of other sizes along the dim."""
    rng, shape, dtype = maker.rng, maker.shape(1, 3), maker.rng.choice(_DTYPES)
    dim, operands = rng.randrange(len(shape)), []
    for _ in range(rng.choice((1, 2, 2, 3))):
        size = rng.choice((shape[dim], maker.size()))
        operands.append(maker.parameter(dtype, (*shape[:dim], size, *shape[dim + 1 :])))
    made = maker.instance("concatenate", operands, {"dimension": dim})
    # One that joins nothing gives what it takes.
    return replace(made, odd=len(operands) == 1)


def _pad(maker: Maker) -> Instance:
    """Along each dim nothing, edges, steps between the elements, or as much around an element as between."""
    rng, shape, dtype = maker.rng, maker.shape(1, 2), maker.rng.choice(("f32", "f64", "i32"))
    edges = []
    for _ in shape:
        between = rng.choice((0, 0, 0, 1, 2))
        low = rng.choice((0, 0, rng.randint(-1, 2)))
        high = between - low if rng.random() < 0.5 else rng.randint(-1, 2)
        edges.append((low, high, between))
    operand = maker.parameter(dtype, shape)
    element = rng.choice(("0", "1", "7", ""))
    padding = maker.constant(dtype, (), element) if element else maker.parameter(dtype, ())
    names = ("edge_padding_low", "edge_padding_high", "interior_padding")
    return maker.instance("pad", (operand, padding), dict(zip(names, zip(*edges, strict=True), strict=True)))


def _reverse(maker: Maker) -> Instance:
    shape = maker.shape(1, 3)
    dims = tuple(dim for dim in range(len(shape)) if maker.rng.random() < 0.5)
    operand = maker.parameter(maker.rng.choice(_DTYPES), shape)
    return maker.instance("reverse", (operand,), {"dimensions": dims})


MAKERS: Mapping[str, Make] = {
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "reshape": _reshape,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "concatenate": _concatenate,
    "pad": _pad,
    "reverse": _reverse,
}
