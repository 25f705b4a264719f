"""What an audit found out, as plain data that also stands in its JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Json = dict[str, Any]
Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class PortValue:
    """An operand or a result of a counter-example: its type with its layout, and what each device holds.

    `whole` is what the devices hold together, `expected` what one device gives; empty for an operand that
    is what it is, and for a result that no device could compute.
    """

    name: str
    type: str
    devices: tuple[str, ...] = ()
    whole: str = ""
    expected: str = ""


@dataclass(frozen=True, slots=True)
class Example:
    """One op on the devices of a mesh."""

    mesh: tuple[tuple[str, int], ...]
    attributes: tuple[tuple[str, str], ...]
    operands: tuple[PortValue, ...]
    results: tuple[PortValue, ...]


@dataclass(frozen=True, slots=True)
class Incorrect:
    """A placement that `rules` allow and that is wrong, `times` of those that were tried; `why`, in words."""

    rules: tuple[str, ...]
    why: str
    times: int
    example: Example | None


@dataclass(frozen=True, slots=True)
class Lacking:
    """A placement that would be right and that no rule allows, `times` of those that were tried.

    Without it a device moves `bytes` more, in the example. `reason` says why it is not allowed, where
    that is known.
    """

    where: str
    times: int
    bytes: int
    example: Example
    reason: str


@dataclass(frozen=True, slots=True)
class FalseClaim:
    """What rules claim of an attribute of the op, its `role`, and is not so; `why`, in words."""

    attribute: str
    role: str
    why: str


@dataclass(frozen=True, slots=True)
class Misplan:
    """A program of the op that is planned wrongly, `times` of those that were tried; `why`, in words.

    `lines` tell the program: its mesh, the op, and the types that annotations give its operands and results.
    """

    why: str
    times: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpReport:
    """The audit of one kind of op. `fired` are the names of the rules that said something of it."""

    op: str
    instances: int
    placements: int
    hypotheses: int
    programs: int
    incorrect: tuple[Incorrect, ...]
    misplanned: tuple[Misplan, ...]
    claims: tuple[FalseClaim, ...]
    missing: tuple[Lacking, ...]
    fired: tuple[str, ...]

    @property
    def wrong(self) -> int:
        """How many things are wrong with the rules: placements, plans, and claims about attributes."""
        return len(self.incorrect) + len(self.misplanned) + len(self.claims)

    @property
    def unexplained(self) -> tuple[Lacking, ...]:
        """What lacks without a known reason."""
        return tuple(each for each in self.missing if not each.reason)


def to_json(made: Any) -> Json:
    """A dataclass of this module as JSON."""
    return asdict(made)


def from_json(kind: type[Made], data: Mapping[str, Any]) -> Made:
    """The dataclass of this module that `to_json` made `data` of."""
    hints = get_type_hints(kind)
    found = {each.name: _value(hints[each.name], data[each.name]) for each in fields(kind)}  # type: ignore[arg-type]
    return kind(**found)


def _value(hint: Any, data: Any) -> Any:
    if is_dataclass(hint):
        return from_json(hint, data)  # type: ignore[arg-type]
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        if inner[-1] is Ellipsis:
            return tuple(_value(inner[0], each) for each in data)
        return tuple(_value(each, part) for each, part in zip(inner, data, strict=True))
    if isinstance(hint, UnionType):
        return None if data is None else _value(get_args(hint)[0], data)
    return data
