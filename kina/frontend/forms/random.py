"""Random numbers that depend on the seed and the global index alone, so that no layout changes them.

Each dim has one iota, whose numbers are hashed in i32 (products wrap, shifts fill with zeros) and met
with the hash of the dims before it; only the last dim is hashed at full size. The hash is the
finalizer of MurmurHash3, a bijection of 32 bits: no two indices of one dim start alike.
"""

from __future__ import annotations

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.literals import constant
from kina.frontend.forms.parameters import dtype, integers, tensor
from kina.frontend.ir import TensorType

_MASK = 0xFFFFFFFF
_FIRST, _SECOND = 0x85EBCA6B, 0xC2B2AE35
_GOLDEN = 0x9E3779B9
#: dtype -> how many random bits a number of it holds exactly
_BITS = {"f32": 24, "bf16": 8, "f16": 11}


def mix(number: int) -> int:
    """The hash of a 32-bit number, as the emitted ops compute it."""
    number ^= number >> 16
    number = number * _FIRST & _MASK
    number ^= number >> 13
    number = number * _SECOND & _MASK
    return number ^ number >> 16


def _signed(number: int) -> int:
    number &= _MASK
    return number - (1 << 32) if number >= 1 << 31 else number


class _Hash:
    """Emits i32 ops for one call."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound

    def constant(self, number: int, shape: tuple[int, ...]) -> int:
        return constant(self.bound.builder, _signed(number), "i32", shape, self.bound.call.span)

    def combine(self, kind: str, value: int, number: int) -> int:
        shape = self.bound.builder.type_of(value).shape
        return self.bound.emit(kind, (value, self.constant(number, shape)))

    def mix(self, value: int) -> int:
        for shift, factor in ((16, _FIRST), (13, _SECOND), (16, 0)):
            moved = self.combine("shift_right_logical", value, shift)
            value = self.bound.emit("xor", (value, moved))
            if factor:
                value = self.combine("multiply", value, factor)
        return value

    def seed(self, stream: int) -> int:
        """The hashed seed of one of several independent streams, a scalar."""
        salt = mix(_GOLDEN * (stream + 1) & _MASK)
        literal = self.bound.arg("seed").literal
        if literal is not None:
            return self.constant(mix(mix(self.bound.number("seed") & _MASK) ^ salt), ())
        value = self.bound.value("seed")
        type_ = self.bound.builder.type_of(value)
        if type_ != TensorType("i32", ()):
            self.bound.refuse("K119", f"`seed` of `{self.bound.call.name}` is a scalar of i32, not {type_}")
        return self.mix(self.combine("xor", self.mix(value), salt))

    def bits(self, shape: tuple[int, ...], stream: int) -> int:
        """32 random bits for each index of the shape."""
        state = self.seed(stream)
        for dim, size in enumerate(shape):
            before = shape[: dim + 1]
            index = self.bound.emit("iota", (), iota_dimension=0, dtype="i32", shape=(size,))
            index = self.mix(self.combine("multiply", index, _GOLDEN))
            state = self.spread(state, tuple(range(dim)), before)
            state = self.mix(self.bound.emit("xor", (state, self.spread(index, (dim,), before))))
        return state

    def spread(self, value: int, dims: tuple[int, ...], shape: tuple[int, ...]) -> int:
        if self.bound.builder.type_of(value).shape == shape:
            return value
        return self.bound.emit("broadcast_in_dim", (value,), broadcast_dimensions=dims, shape=shape)

    def uniform(self, shape: tuple[int, ...], target: str, stream: int) -> int:
        """Numbers from 0 up to, not including, 1, with as many random bits as the dtype holds."""
        if target == "f64":
            # Two hashes give the 53 bits: 27 high ones and 26 low ones.
            high = self.scaled(self.bits(shape, stream), 27, target, 2.0**-27)
            low = self.scaled(self.bits(shape, stream + 2), 26, target, 2.0**-53)
            return self.bound.emit("add", (high, low))
        return self.scaled(self.bits(shape, stream), _BITS[target], target, 2.0 ** -_BITS[target])

    def scaled(self, bits: int, keep: int, target: str, scale: float) -> int:
        kept = self.combine("shift_right_logical", bits, 32 - keep)
        number = self.bound.emit("convert", (kept,), dtype=target)
        return self.scale(number, scale)

    def scale(self, value: int, factor: float, kind: str = "multiply") -> int:
        type_ = self.bound.builder.type_of(value)
        other = constant(self.bound.builder, factor, type_.dtype, type_.shape, self.bound.call.span)
        operands = (other, value) if kind == "subtract" else (value, other)
        return self.bound.emit(kind, operands)


def _target(bound: Bound) -> str:
    target = bound.text("dtype")
    if target not in (*_BITS, "f64"):
        bound.refuse(
            "K103", f"`{bound.call.name}` makes floating-point numbers, not {target}", bound.arg("dtype").span
        )
    return target


def _uniform(bound: Bound) -> tuple[int, ...]:
    return (_Hash(bound).uniform(bound.numbers("shape"), _target(bound), 0),)


def _normal(bound: Bound) -> tuple[int, ...]:
    """By Box and Muller: sqrt(-2 log(1 - u)) cos(2 pi v), in f32 for shorter dtypes."""
    target, shape, hashing = _target(bound), bound.numbers("shape"), _Hash(bound)
    wide = "f64" if target == "f64" else "f32"
    first = hashing.scale(hashing.uniform(shape, wide, 0), 1.0, "subtract")
    radius = bound.emit("sqrt", (hashing.scale(bound.emit("log", (first,)), -2.0),))
    angle = hashing.scale(hashing.uniform(shape, wide, 1), 6.283185307179586)
    result = bound.emit("multiply", (radius, bound.emit("cosine", (angle,))))
    return (result if target == wide else bound.emit("convert", (result,), dtype=target),)


_PARAMETERS = (tensor("seed"), dtype(), integers("shape"))

FORMS = (
    Form(
        "rng_uniform",
        _PARAMETERS,
        "random numbers from 0 up to 1; the seed is a number or a scalar of i32",
        _uniform,
    ),
    Form(
        "rng_normal",
        _PARAMETERS,
        "random numbers of mean 0 and variance 1; the seed is a number or a scalar of i32",
        _normal,
    ),
)
