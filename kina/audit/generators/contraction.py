"""Instances of contractions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain

from kina.audit.instance import Instance, Maker

Make = Callable[[Maker], Instance]

_DTYPES = ("f32", "f64", "i32")


def _dot_general(maker: Maker) -> Instance:
    """Up to two dims of each role, in any order on both sides."""
    rng, dtype = maker.rng, maker.rng.choice(_DTYPES)
    batching = [maker.size() for _ in range(rng.choice((0, 0, 1, 2)))]
    contracting = [maker.size() for _ in range(rng.choice((0, 1, 1, 2)))]
    sides, operands, labels = [], [], []
    for _ in range(2):
        free = [maker.size() for _ in range(rng.randint(0, 1 if batching and contracting else 2))]
        sizes = [*batching, *contracting, *free]
        order = rng.sample(range(len(sizes)), len(sizes))
        place = {name: dim for dim, name in enumerate(order)}
        operands.append(maker.parameter(dtype, [sizes[name] for name in order]))
        first = len(batching)
        sides.append(
            (
                tuple(place[name] for name in range(first)),
                tuple(place[first + name] for name in range(len(contracting))),
            )
        )
        roles = ["batching"] * first + ["contracting"] * len(contracting) + ["free"] * len(free)
        labels.append([roles[name] for name in order])
    attributes = {
        f"{side}_{role}_dimensions": sides[number][index]
        for number, side in enumerate(("lhs", "rhs"))
        for index, role in enumerate(("batching", "contracting"))
    }
    return maker.instance("dot_general", operands, attributes, labels)


def _convolution(maker: Maker) -> Instance:
    """Up to two spatial dims, dims in any order, with steps, spread, edges and groups."""
    rng, dtype = maker.rng, maker.rng.choice(_DTYPES)
    spatial = rng.choice((0, 1, 1, 2))
    groups, batch_groups = rng.choice(((1, 1), (1, 1), (2, 1), (4, 1), (1, 2), (1, 4)))
    per_group, batch = rng.choice((1, 2, 3, 4)), batch_groups * rng.choice((1, 2, 3))
    outputs = groups * batch_groups * rng.choice((1, 2, 3))
    sizes = [rng.choice((4, 6, 5)) for _ in range(spatial)]
    kernel = [rng.choice((1, 1, 2, 3)) for _ in range(spatial)]
    places = {side: rng.sample(range(spatial + 2), spatial + 2) for side in ("input", "kernel", "output")}
    image_shape = _placed(places["input"], [batch, groups * per_group, *sizes])
    kernel_shape = _placed(places["kernel"], [outputs, per_group, *kernel])
    operands = maker.parameter(dtype, image_shape), maker.parameter(dtype, kernel_shape)
    padding = chain.from_iterable((rng.choice((0, 0, 1, -1)), rng.choice((0, 0, 1))) for _ in range(spatial))
    steps = {
        name: tuple(rng.choice((1, 1, 2)) for _ in range(spatial))
        for name in ("window_strides", "lhs_dilation", "rhs_dilation")
    }
    attributes = {
        **steps,
        "padding": tuple(padding),
        "window_reversal": tuple(rng.randint(0, 1) for _ in range(spatial)),
        **_named("input", ("batch", "feature"), places["input"]),
        **_named("kernel", ("output_feature", "input_feature"), places["kernel"]),
        **_named("output", ("batch", "feature"), places["output"]),
        "feature_group_count": groups,
        "batch_group_count": batch_groups,
    }
    labels = [
        _placed(places[side], [*roles, *(["spatial"] * spatial)])
        for side, roles in (
            ("input", ("batch", "feature")),
            ("kernel", ("output feature", "input feature")),
            ("output", ("batch", "feature")),
        )
    ]
    return maker.instance("convolution", operands, attributes, labels)


def _placed(places: list[int], things: list[int] | list[str]) -> list:  # type: ignore[type-arg]
    """The things at their places."""
    found = dict(zip(places, things, strict=True))
    return [found[dim] for dim in range(len(places))]


def _named(side: str, roles: tuple[str, str], places: list[int]) -> dict[str, int | tuple[int, ...]]:
    return {
        f"{side}_{roles[0]}_dimension": places[0],
        f"{side}_{roles[1]}_dimension": places[1],
        f"{side}_spatial_dimensions": tuple(places[2:]),
    }


MAKERS: Mapping[str, Make] = {"dot_general": _dot_general, "convolution": _convolution}
