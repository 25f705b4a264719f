"""Instances of ops that make a tensor from nothing, and of those that pass tensors on."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kina.audit.instance import Instance, Maker
from kina.frontend.ir import Attribute

Make = Callable[[Maker], Instance]

_NUMBERS = ("f32", "f64", "i32", "i64")


def _iota(maker: Maker) -> Instance:
    shape = maker.shape(1, 3)
    dim = maker.rng.randrange(len(shape))
    attributes: dict[str, Attribute] = {
        "iota_dimension": dim,
        "dtype": maker.rng.choice(_NUMBERS),
        "shape": shape,
    }
    return maker.instance("iota", (), attributes)


def _constant(maker: Maker) -> Instance:
    """One element repeated, or elements of their own."""
    shape, dtype = maker.shape(0, 2), maker.rng.choice((*_NUMBERS, "bool"))
    attributes: dict[str, Attribute] = {"dtype": dtype, "shape": shape}
    if maker.rng.random() < 0.5:
        attributes["value"] = maker.rng.choice(("0", "1"))
    else:
        count = 1
        for size in shape:
            count *= size
        attributes["data"] = " ".join(str(maker.rng.randint(0, 1)) for _ in range(count))
    return maker.instance("constant", (), attributes)


def _barrier(maker: Maker) -> Instance:
    """One to three operands of their own shapes."""
    count = maker.rng.choice((1, 2, 3))
    operands = [maker.parameter(maker.rng.choice(_NUMBERS), maker.shape(0, 2)) for _ in range(count)]
    return maker.instance("optimization_barrier", operands, {"stop_gradient": maker.rng.random() < 0.5})


def _reshard(maker: Maker) -> Instance:
    operand = maker.parameter(maker.rng.choice((*_NUMBERS, "bool")), maker.shape())
    return maker.instance("reshard", (operand,))


MAKERS: Mapping[str, Make] = {
    "iota": _iota,
    "constant": _constant,
    "optimization_barrier": _barrier,
    "reshard": _reshard,
}
