"""Instances of ops that combine or order the elements along dims."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kina.audit.instance import Instance, Maker
from kina.frontend.ir import Attribute

Make = Callable[[Maker], Instance]

_NUMBERS = ("f32", "f64", "i32", "i64")


def _reduce(maker: Maker) -> Instance:
    """Over any dims, none and all of them too."""
    rng, shape = maker.rng, maker.shape(1, 3)
    kind = rng.choice(("sum", "sum", "max", "min", "prod", "and", "or"))
    dtype = rng.choice(("bool", "bool", "i32") if kind in ("and", "or") else _NUMBERS)
    dims = tuple(rng.sample(range(len(shape)), rng.choice((0, 1, 1, 1, len(shape)))))
    labels = [["reduced" if dim in dims else "kept" for dim in range(len(shape))]]
    attributes: dict[str, Attribute] = {"dimensions": dims, "kind": kind}
    return maker.instance("reduce", (maker.parameter(dtype, shape),), attributes, labels)


def _along(maker: Maker, shape: tuple[int, ...], dim: int) -> list[str]:
    """The names of the dims of a tensor of which one is special."""
    return ["along" if place == dim else "across" for place in range(len(shape))]


def _cumulative(maker: Maker) -> Instance:
    rng, shape = maker.rng, maker.shape(1, 3)
    dim = rng.randrange(len(shape))
    attributes = {
        "dimension": dim,
        "kind": rng.choice(("sum", "prod", "max", "min")),
        "reverse": rng.random() < 0.5,
    }
    operand = maker.parameter(rng.choice(_NUMBERS), shape)
    labels = [_along(maker, shape, dim)] * 2
    return maker.instance("cumulative", (operand,), attributes, labels)


def _argmax(maker: Maker) -> Instance:
    rng, shape = maker.rng, maker.shape(1, 3)
    dim = rng.randrange(len(shape))
    operand = maker.parameter(rng.choice(_NUMBERS), shape)
    attributes = {"dimension": dim, "kind": rng.choice(("max", "min"))}
    return maker.instance("argmax", (operand,), attributes, [_along(maker, shape, dim)])


def _sort(maker: Maker) -> Instance:
    rng, shape = maker.rng, maker.shape(1, 3)
    dim = rng.randrange(len(shape))
    operands = [maker.parameter(rng.choice((*_NUMBERS, "bool")), shape) for _ in range(rng.choice((1, 2)))]
    attributes = {
        "dimension": dim,
        "is_stable": rng.random() < 0.7,
        "direction": rng.choice(("ascending", "descending")),
    }
    return maker.instance("sort", operands, attributes, [_along(maker, shape, dim)] * (2 * len(operands)))


def _top_k(maker: Maker) -> Instance:
    rng, shape = maker.rng, maker.shape(1, 3)
    k = rng.choice((1, shape[-1], rng.randint(1, shape[-1])))
    operand = maker.parameter(rng.choice(_NUMBERS), shape)
    return maker.instance("top_k", (operand,), {"k": k}, [_along(maker, shape, len(shape) - 1)] * 3)


MAKERS: Mapping[str, Make] = {
    "reduce": _reduce,
    "cumulative": _cumulative,
    "argmax": _argmax,
    "sort": _sort,
    "top_k": _top_k,
}
