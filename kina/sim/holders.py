"""Which devices hold the very same bits, so that what they compute of these need be computed only once.

A set of devices is a whole number with a bit for each. For every value a device knows its holders: devices
that have the same bits at the same place of the program, laid out in memory alike. These are devices that
were given the same memory, that got the same out of a collective, and for the result of any other op those
that hold all its operands. So the holders of a value all find the same set, without asking each other.

This is so on the way through the program that all devices take. A branch that they choose by a value that all
hold is on that way; inside any other branch nothing is computed once, and its results are each device's own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kina.sim.dtypes import Array

#: Elements of an operand or a result from which waiting for another device takes less than computing.
WORTH = 1 << 18


@dataclass(slots=True)
class Holders:
    """The sets of this device and of all, and how far it is on the way that all take."""

    own: int
    everyone: int
    #: elements from which an op is computed once
    least: int
    #: ops so far at which devices may meet
    place: int = 0
    #: in how many branches, one in the other, that not all take
    apart: int = 0

    def advance(self) -> int:
        """The number of the next op at which devices may meet; off the way one that no other device has."""
        if self.apart:
            return -self.own
        self.place += 1
        return self.place


def given_holders(rows: Sequence[Sequence[Array]]) -> list[list[int]]:
    """For each device the holders of its inputs: those that were given the same memory."""
    found: list[list[int]] = [[] for _ in rows]
    for column in zip(*rows, strict=True):
        keys = [_memory(array) for array in column]
        sets: dict[object, int] = {}
        for device, key in enumerate(keys):
            sets[key] = sets.get(key, 0) | 1 << device
        for device, key in enumerate(keys):
            found[device].append(sets[key])
    return found


def _memory(array: Array) -> object:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def united(rows: Sequence[Sequence[Array]], holders: Sequence[Sequence[int]]) -> list[list[Array]]:
    """The results of each device, with one array for all that hold the same.

    So they are known to be the same when they are given to the next step.
    """
    return [[rows[_first(same)][index] for index, same in enumerate(known)] for known in holders]


def _first(devices: int) -> int:
    return (devices & -devices).bit_length() - 1
