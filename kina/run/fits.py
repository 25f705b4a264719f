"""Whether an array that was given is what an argument takes: nothing is converted, and nothing guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kina.mlir.grid import Grid
from kina.run.ports import RunPort
from kina.run.shards import place
from kina.sim.dtypes import BF16, DTYPES, Array, dtype_name, is_float


@dataclass(frozen=True, slots=True)
class Misfit:
    """What an array is that does not fit, and what makes it fit, empty if that is not known."""

    said: str
    help: str = ""


def fitting(value: Any, name: str, shape: tuple[int, ...]) -> Array | Misfit:
    """The array of the element type `name` and of this shape that the value is, or what is wrong with it.

    A single number fits where a scalar is wanted, if the element type holds its value exactly.
    """
    # an array that is mapped from a file stays one
    array: Array = np.asanyarray(value)
    dtype = DTYPES[name]
    if dtype == BF16 and array.dtype == np.dtype("V2"):
        array = array.view(BF16)  # NumPy writes types that it does not know as bare bytes
    if array.shape == shape and array.dtype.newbyteorder("=") == dtype:
        return array.astype(dtype, copy=False)
    wanted = _type(dtype, shape)
    if array.shape == shape == ():
        exact = _exactly(array, dtype)
        if exact is not None:
            return exact
        if _convertible(array.dtype, dtype):
            said = f"{array.item()!r}, which {dtype_name(dtype)} does not hold exactly"
            return Misfit(said, f"`{_numpy(dtype)}(…)` rounds it" if is_float(dtype) else "")
    said = f"{_type(array.dtype, array.shape)}, not {wanted}"
    help_ = f"`.astype({_numpy(dtype)})` converts it" if _convertible(array.dtype, dtype) else ""
    return Misfit(said, help_ if array.dtype != dtype else "")


def _exactly(array: Array, dtype: np.dtype[Any]) -> Array | None:
    """A single number in another element type, if that holds its value."""
    truth = array.dtype == np.bool_, dtype == np.bool_
    if truth[0] != truth[1] or not (array.dtype.kind in "iufO" or is_float(array.dtype)):
        return None
    try:
        with np.errstate(all="ignore"):
            found = array.astype(dtype)
    except (OverflowError, TypeError, ValueError):
        return None
    one, two = _number(array), _number(found)
    return found if one == two or (one != one and two != two) else None


def _number(array: Array) -> Any:
    return float(array) if is_float(array.dtype) else array.item()


def _convertible(one: np.dtype[Any], two: np.dtype[Any]) -> bool:
    """Whether to convert keeps what numbers mean: to another width, or of whole numbers to any number."""
    return (is_float(two) and (is_float(one) or one.kind in "iu")) or (one.kind in "iu" and two.kind in "iu")


def _numpy(dtype: np.dtype[Any]) -> str:
    """The element type as a Python program says it."""
    return "ml_dtypes.bfloat16" if dtype == BF16 else f"np.{dtype.name}"


def _type(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> str:
    return f"{dtype_name(dtype)}[{','.join(map(str, shape))}]"


def replicas_differ(grid: Grid, port: RunPort, parts: Mapping[int, Array]) -> tuple[int, int, str] | None:
    """A device that is given other elements than one that holds the same, this one, and where; None without.

    Devices that differ along an axis that the tensor is pending over hold parts of a sum, which are unequal.
    """
    if not port.known:
        return None
    first: dict[tuple[int, ...], int] = {}
    for device, part in parts.items():
        starts = [each.start for each in place(grid, port, device)]
        key = (*starts, *(grid.places[device][axis] for axis, _ in port.pending))
        other = first.setdefault(key, device)
        at = _first_difference(parts[other], part)
        if at is not None:
            return device, other, f" at {list(at)}" if at else ""
    return None


def _first_difference(one: Array, two: Array) -> tuple[int, ...] | None:
    """The first element that differs in any bit, so that NaN is equal to itself; None if there is none."""
    if one is two or not one.size:
        return None
    rows = [np.ascontiguousarray(each).reshape(-1, 1).view(np.uint8) for each in (one, two)]
    wrong = (rows[0] != rows[1]).any(axis=1)
    at = int(np.argmax(wrong))
    return tuple(int(index) for index in np.unravel_index(at, one.shape)) if wrong[at] else None
