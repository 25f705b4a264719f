"""Arrays that were given for a run: which argument each of them is, and whether it fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kina.diagnostics.finding import Finding, Help, ProgramError, error
from kina.frontend.suggest import nearest
from kina.run.fits import Misfit, fitting, replicas_differ
from kina.run.ports import RunPort, Signature, result_names
from kina.run.shards import assemble, same_layout
from kina.sim.dtypes import Array
from kina.source import Span

#: What an argument is given: its whole tensor, a part for each device, or nothing if it has a first value.
Given = Array | Mapping[int, Array] | None

#: Names that a message lists.
_LISTED = 8


@dataclass(frozen=True, slots=True)
class Origin:
    """Where arrays come from, as messages say it: `name` has them, and `words` is what they are called.

    `entry` is the function whose own parameters go before others of the same ending, `span` its place.
    """

    name: str
    words: str
    entry: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """An array by its name: for the argument of number `index`, whole or as the part of a device.

    `result` is the number of the result whose name it has, if it is one that a step carries. It is `spare` if
    a step also returns the argument by this name: what else is given for it goes before.
    """

    key: str
    index: int
    device: int | None
    result: int | None = None
    spare: bool = False


def from_arrays(
    arrays: Mapping[str, Any], ports: Signature, devices: Sequence[int], origin: Origin
) -> list[Given]:
    """For each argument its whole tensor, or an array for each of `devices` if `NAME@0`, … are given.

    An argument goes by its full name, by an ending of it that no other has, or by the name of the result that
    a step carries into it; other results are left aside. One with a first value may be missing.

    ProgramError K701 that lists every argument whose array is missing, given twice, or does not fit, every
    part that differs from another of the same elements, and every array that belongs to no argument.
    """
    reader = _Reader(arrays, ports, devices, origin, [], [])
    pieces = reader.pieces()
    found = [reader.argument(index, pieces.get(index, [])) for index in range(len(ports.arguments))]
    if reader.findings or reader.strangers:
        raise ProgramError(*reader.findings, *reader.strangers)
    return found


@dataclass(slots=True)
class _Reader:
    arrays: Mapping[str, Any]
    ports: Signature
    devices: Sequence[int]
    origin: Origin
    findings: list[Finding]
    strangers: list[Finding]

    def pieces(self) -> dict[int, list[_Piece]]:
        """Number of an argument -> what is given for it."""
        names = _Names(self.ports, self.origin.entry)
        found: dict[int, list[_Piece]] = {}
        for key in sorted(self.arrays):
            matched = names.matched(key)
            if not matched and not names.left_aside(key):
                self.strangers.append(self._stranger(key, names))
            if len(matched) == 1:
                found.setdefault(matched[0].index, []).append(matched[0])
            elif matched:
                self.strangers.append(self._ambiguous(key, matched))
        return found

    def argument(self, index: int, given: Sequence[_Piece]) -> Given:
        """What an argument is given; None also where a finding says what is wrong."""
        port = self.ports.arguments[index]
        given = [piece for piece in given if not piece.spare] or given
        if not given:
            if port.first is None:
                self._miss(port.name, port)
            return None
        twice = _twice(port.name, given)
        if twice:
            helps = (Help("leave one of them out"),)
            self.findings.append(error("K701", twice, port.span, helps=helps))
            return None
        if given[0].device is None:
            return self._fitting(given[0].key, port.name, port, port.shape)
        return self._parts(port, {piece.device: piece for piece in given})

    def _parts(self, port: RunPort, pieces: Mapping[int | None, _Piece]) -> Given:
        """The parts of an argument; the whole tensor if they lie as the result that is carried into it."""
        number = next(iter(pieces.values())).result
        result = port if number is None else self.ports.results[number]
        alike = same_layout(result, port)
        before = len(self.findings)
        parts: dict[int, Array] = {}
        for device in self.devices if alike else range(self.ports.devices):
            name = f"{result.name}@{device}"
            if device not in pieces:
                self._miss(name, port)
                continue
            part = self._fitting(pieces[device].key, name, port, result.type.shape)
            if part is not None:
                parts[device] = part
        if len(self.findings) > before:
            return None
        differ = replicas_differ(self.ports.grid, result, parts)
        if differ:
            one, other, where = differ
            message = (
                f"`{result.name}@{one}` of `{self.origin.name}` differs from `{result.name}@{other}`{where}"
            )
            message += f"; both devices hold the same part of `{port.name}`"
            self.findings.append(error("K701", message, port.span))
        return parts if alike else assemble(self.ports.grid, result, list(parts.values()))

    def _fitting(self, key: str, name: str, port: RunPort, shape: tuple[int, ...]) -> Array | None:
        found = fitting(self.arrays[key], port.type.dtype, shape)
        if not isinstance(found, Misfit):
            return found
        message = f"`{name}` of `{self.origin.name}` is {found.said}"
        helps = (Help(found.help),) if found.help else ()
        self.findings.append(error("K701", message, port.span, helps=helps))
        return None

    def _miss(self, name: str, port: RunPort) -> None:
        """Note that an array is missing; the first time with those that are there."""
        helps = () if self.findings else (Help(f"{self.origin.words}: {_listed(sorted(self.arrays))}"),)
        message = f"`{self.origin.name}` has no array `{name}`"
        self.findings.append(error("K701", message, port.span, helps=helps))

    def _stranger(self, key: str, names: _Names) -> Finding:
        base, at, device = key.rpartition("@")
        guess = nearest(key, (*names.arguments, *names.endings))
        known = names.matched(guess) if guess else []
        near = self.ports.arguments[known[0].index].name if known else ""
        helps = (Help(f"the nearest name is `{near}`"),) if near else ()
        if at and device.isdecimal() and names.known(base):
            helps = (Help(f"parts are numbered from 0 to {self.ports.devices - 1}, one for each device"),)
        message = f"`{self.origin.name}` has an array `{key}`, which is no argument"
        return error("K701", message, self.origin.span, helps=helps)

    def _ambiguous(self, key: str, matched: Sequence[_Piece]) -> Finding:
        names = [self.ports.arguments[piece.index].name for piece in matched]
        message = f"`{self.origin.name}` has an array `{key}`, which is the name of {len(names)} arguments"
        span = self.ports.arguments[matched[0].index].span
        return error("K701", message, span, helps=(Help(f"say which: {_listed(names)}"),))


class _Names:
    """Which argument a name stands for."""

    def __init__(self, ports: Signature, entry: str) -> None:
        self.entry = entry
        self.devices = {str(device): device for device in range(ports.devices)}
        self.arguments = {port.name: index for index, port in enumerate(ports.arguments)}
        self.results = {name: index for index, name in enumerate(result_names(ports.results))}
        self.carried = {result: argument for argument, result in ports.carries.items()}
        self.endings: dict[str, list[int]] = {}
        for name, index in self.arguments.items():
            for at, char in enumerate(name):
                if char == ".":
                    self.endings.setdefault(name[at + 1 :], []).append(index)

    def matched(self, key: str) -> list[_Piece]:
        """What the name may stand for; full names go first, and whole tensors before parts."""
        readings = list(self._readings(key))
        for name, device in readings:
            if name in self.arguments:
                return [_Piece(key, self.arguments[name], device, spare=name in self.results)]
            result = self.results.get(name)
            if result is not None:
                argument = self.carried.get(result)
                return [] if argument is None else [_Piece(key, argument, device, result)]
        for name, device in readings:
            own = self.arguments.get(f"{self.entry}.{name}")
            found = self.endings.get(name, ()) if own is None else (own,)
            if found:
                return [_Piece(key, index, device) for index in found]
        return []

    def left_aside(self, key: str) -> bool:
        """Whether it is a result that no step carries on."""
        return any(name in self.results for name, _ in self._readings(key))

    def known(self, name: str) -> bool:
        return name in self.arguments or name in self.endings or name in self.results

    def _readings(self, key: str) -> Sequence[tuple[str, int | None]]:
        name, at, device = key.rpartition("@")
        part = [(name, self.devices[device])] if at and device in self.devices else []
        return [(key, None), *part]


def _twice(name: str, given: Sequence[_Piece]) -> str:
    """What is said of an argument that is given more than once, "" for another."""
    own = [piece for piece in given if piece.result is None]
    carried = [piece for piece in given if piece.result is not None]
    if own and carried:
        by = f"`{own[0].key}` and `{carried[0].key}`, the result that a step carries into it"
        return f"`{name}` is given twice: as {by}"
    whole = [piece for piece in given if piece.device is None]
    parts = [piece for piece in given if piece.device is not None]
    if whole and parts:
        return f"`{name}` is given both whole, as `{whole[0].key}`, and in parts, as `{parts[0].key}`"
    if len(whole) > 1:
        return f"`{name}` is given twice: as `{whole[0].key}` and `{whole[1].key}`"
    seen: dict[int | None, _Piece] = {}
    for piece in parts:
        other = seen.setdefault(piece.device, piece)
        if other is not piece:
            return f"`{name}@{piece.device}` is given twice: as `{other.key}` and `{piece.key}`"
    return ""


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(f"`{name}`" for name in names[:_LISTED]) or "none") + more
