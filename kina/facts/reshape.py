"""The common factors of two shapes with the same number of elements in row-major order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import gcd


@dataclass(frozen=True, slots=True)
class ReshapeFactor:
    """A factor of `size` that lies on `dim` of one side, below `major` elements of that dim.

    `side` is 0 for the operand and 1 for the result; the two sides of a factor share its `number`.
    """

    side: int
    dim: int
    number: int
    major: int
    size: int


@dataclass(slots=True)
class _Cursor:
    """A place in a shape: the dim, what is left of it, and what has been passed of it."""

    shape: tuple[int, ...]
    dim: int = 0
    left: int = 1
    passed: int = 1

    def settle(self) -> bool:
        """Move on to the next dim with something left; false past the last."""
        while self.left == 1:
            if self.dim >= len(self.shape):
                return False
            self.left, self.passed = self.shape[self.dim], 1
            self.dim += 1
        return True

    def take(self, size: int) -> None:
        self.left //= size
        self.passed *= size


def common_factors(before: tuple[int, ...], after: tuple[int, ...]) -> tuple[ReshapeFactor, ...]:
    """The factors that can be split on both sides of a reshape from `before` to `after`.

    Walks both shapes from the major end and takes greatest common divisors, as long as they exist;
    where the shapes disagree, goes on from the next place at which they have the same number of
    elements above them. Sizes of 1 have no factors, and a shape with no elements has none.
    """
    if 0 in before or 0 in after:
        return ()
    return tuple(_walk(_Cursor(before), _Cursor(after)))


def _walk(one: _Cursor, two: _Cursor) -> Iterator[ReshapeFactor]:
    number = 0
    while one.settle() and two.settle():
        size = gcd(one.left, two.left)
        if size == 1:
            _realign(one, two)
            continue
        yield ReshapeFactor(0, one.dim - 1, number, one.passed, size)
        yield ReshapeFactor(1, two.dim - 1, number, two.passed, size)
        one.take(size)
        two.take(size)
        number += 1


def _realign(one: _Cursor, two: _Cursor) -> None:
    """Move both on to the next place with equal numbers of elements passed since here."""
    first, second = one.left, two.left
    while first != second:
        if first < second:
            first *= one.shape[one.dim]
            one.dim += 1
        else:
            second *= two.shape[two.dim]
            two.dim += 1
    one.left = two.left = 1
