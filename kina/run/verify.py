"""Comparing what the devices computed with what one device computes without any sharding."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from kina.diagnostics.finding import Finding, error
from kina.frontend.ir import Program
from kina.mlir.grid import Grid
from kina.run.ports import RunPort
from kina.run.shards import place
from kina.sim.dtypes import Array, dtype_name, is_float

#: How far an element may be off, as a share of the largest magnitude in its tensor (and of FLOOR, if that
#: is larger): sums in another order differ by about the root of their length times the type's precision.
TOLERANCE: Mapping[str, float] = MappingProxyType({"f64": 1e-9, "f32": 2e-4, "f16": 2e-2, "bf16": 8e-2})
FLOOR = 1e-2


@dataclass(frozen=True, slots=True)
class Difference:
    """The worst element of one tensor: `share` is how much of the tolerance it uses up, 1 being all.

    `index` is in the whole tensor, `nans` counts elements that are NaN on both sides, which are equal.
    `precision` is the type whose tolerance was used.
    """

    name: str
    dtype: str
    index: tuple[int, ...]
    device: int
    simulated: float
    expected: float
    share: float
    nans: int
    precision: str = ""

    @property
    def ok(self) -> bool:
        return self.share <= 1.0

    @property
    def difference(self) -> float:
        return abs(self.simulated - self.expected)


#: Position of a result -> devices, and what each holds of it, pending parts completed.
Held = Callable[[int], tuple[Sequence[int], Sequence[Array]]]


def compare(
    grid: Grid,
    ports: Sequence[RunPort],
    held: Held,
    expected: Sequence[Array],
    precisions: Sequence[str] | None = None,
) -> list[Difference]:
    """The worst difference of each result, on the devices that `held` names.

    The shard of each of them is compared, so that copies which disagree are found. Floats may be off as
    those of the type in `precisions` may, where that is coarser than their own.
    """
    coarse = precisions or ["f64"] * len(ports)
    return [
        _worst(grid, port, held(index), whole, coarsest((dtype_name(whole.dtype), coarse[index])))
        for index, (port, whole) in enumerate(zip(ports, expected, strict=True))
    ]


def precisions(program: Program) -> list[str]:
    """For each result the coarsest type of floats that it is computed from, over any number of steps.

    A sum of rounded numbers is off by their rounding, in whatever type it ends.
    """
    found = [value.type.dtype for value in program.values]
    while True:
        before = list(found)
        for op in program.ops:
            for result in op.results:
                found[result] = coarsest((found[result], *(found[operand] for operand in op.operands)))
        for result, position in program.carries:
            parameter = program.parameters[position]
            found[parameter] = coarsest((found[parameter], found[program.results[result]]))
        if found == before:
            return [found[result] for result in program.results]


def coarsest(dtypes: Collection[str]) -> str:
    """The type whose rounding is the most that a comparison lets pass; f64 if no floats are among them."""
    return max((dtype for dtype in dtypes if dtype in TOLERANCE), key=TOLERANCE.__getitem__, default="f64")


def _worst(
    grid: Grid, port: RunPort, held: tuple[Sequence[int], Sequence[Array]], whole: Array, precision: str
) -> Difference:
    name = dtype_name(whole.dtype)
    judged = precision if is_float(whole.dtype) else name
    best = Difference(port.name, name, (), held[0][0], 0.0, 0.0, 0.0, 0, judged)
    allowed = _allowed(whole, precision)
    seen: set[tuple[int, tuple[int, ...]]] = set()
    # elements that several devices hold count once
    nans: dict[tuple[int, ...], int] = {}
    for device, part in zip(*held, strict=True):
        where = place(grid, port, device)
        starts = tuple(each.start for each in where)
        if (id(part), starts) in seen:
            continue
        seen.add((id(part), starts))
        share, at, both = _share(part, whole[where], allowed)
        nans[starts] = max(nans.get(starts, 0), both)
        if share > best.share or (device == held[0][0] and part.size):
            local = np.unravel_index(at, part.shape) if part.size else ()
            index = tuple(int(a) + start for a, start in zip(local, starts, strict=True))
            best = Difference(
                port.name, name, index, device, _number(part[local]), _number(whole[index]), share, 0, judged
            )
    return replace(best, nans=sum(nans.values()))


def _number(value: object) -> float:
    return float(np.asarray(value).astype(np.float64))


def _allowed(whole: Array, precision: str) -> float:
    """The largest difference that is no mistake: none for whole numbers and truth values."""
    if not is_float(whole.dtype):
        return 0.0
    magnitude = np.abs(whole)
    finite = magnitude[np.isfinite(magnitude)]
    largest = float(finite.max()) if finite.size else 0.0
    return TOLERANCE[precision] * max(largest, FLOOR)


def _share(part: Array, whole: Array, allowed: float) -> tuple[float, int, int]:
    """The worst share of the tolerance, where it is, and how many elements are NaN on both sides."""
    if not part.size:
        return 0.0, 0, 0
    if not is_float(whole.dtype):
        wrong = part != whole
        at = int(np.argmax(wrong))
        return (float("inf") if wrong.reshape(-1)[at] else 0.0), at, 0
    wide = np.dtype(np.float64 if whole.dtype == np.float64 else np.float32)
    one: Array = part.astype(wide, copy=False)
    two: Array = whole.astype(wide, copy=False)
    with np.errstate(all="ignore"):
        off = np.abs(np.subtract(one, two))
    odd = ~np.isfinite(off)
    nans = 0
    if odd.any():
        both = np.isnan(one) & np.isnan(two)
        nans = int(both.sum())
        off = np.where(both | (one == two), 0.0, np.where(odd, np.inf, off))
    at = int(np.argmax(off))
    return float(off.reshape(-1)[at]) / allowed, at, nans


def findings(differences: Sequence[Difference], ports: Sequence[RunPort], step: int) -> list[Finding]:
    """An error for each result that is off by more than its tolerance."""
    return [
        error(
            "K708",
            f"`{each.name}` differs from the one-device run at {list(each.index)} on device {each.device}"
            f" in step {step + 1}: {each.simulated:.9g}, not {each.expected:.9g}",
            port.span,
        )
        for each, port in zip(differences, ports, strict=True)
        if not each.ok
    ]
