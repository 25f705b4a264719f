"""What the rules decided about a program, as data: layouts, the plan of each op, coercions, collectives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kina.diagnostics.finding import Finding
from kina.source import Span

#: For each dim the mesh axes that split it, major to minor.
Layout = tuple[tuple[str, ...], ...]

#: (axis, reduction) pairs over which a value is pending, in the order of the mesh.
Pending = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One move of a coercion, over `axes` major to minor. `kind` is one of

    - "slice": each device keeps its shard of `dim`; moves nothing
    - "all_gather": `dim` becomes whole over `axes`
    - "all_to_all": `axes` leave `dim` and split `to`
    - "reduce_scatter": the pending `reduction` is completed, and `dim` is split
    - "all_reduce": the pending `reduction` is completed on every device
    - "mask": one device along `axes` keeps the value, the others hold what changes nothing
    - "collective_permute": shards change devices, so that the layout becomes the coercion's `after`

    `bytes` are those that one device moves, by ring algorithms.
    """

    kind: str
    axes: tuple[str, ...]
    dim: int | None = None
    to: int | None = None
    reduction: str | None = None
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Coercion:
    """A conversion of `value` from one type to another, for every place in `uses` that needs it.

    `side` is "operand", "result" or "parameter". A use is an (op, position) pair: of operands that
    take the converted value, or the one result that is converted where it is made. A parameter has none.
    """

    value: int
    side: str
    uses: tuple[tuple[int, int], ...]
    before: Layout
    after: Layout
    pending_before: Pending
    pending_after: Pending
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class OpPlan:
    """How one op is computed on each device: the layout of each operand and result as the op sees it.

    `passing` are the axes over which parts pass through the op. `factors` give the axes of each
    factor that is split.
    """

    op: int
    operands: tuple[Layout, ...]
    results: tuple[Layout, ...]
    factors: tuple[tuple[int, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Localised:
    """An attribute of a declared op, entry `index` if it is a list, that follows `dim` at a port by a rule.

    `side` is "operand" or "result".
    """

    name: str
    index: int
    side: str
    position: int
    dim: int


@dataclass(frozen=True, slots=True)
class Collective:
    """A step that moves data, as it is reported. `op` is the printed name of the op that causes it."""

    kind: str
    axes: tuple[str, ...]
    value: int
    op: str
    span: Span
    bytes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Decisions:
    """Everything that was decided for a program.

    `layouts` and `pending` are by value id: how each value is stored. `priorities` has the (value, dim)
    pairs whose layout came later than at the first priority, with the last one that it needed.
    `peak_bytes` is the largest number of bytes that one device holds at a time. `localised` has the
    attributes of each declared op that change on a device.
    """

    layouts: tuple[Layout, ...]
    pending: Mapping[int, Pending]
    priorities: Mapping[tuple[int, int], int]
    plans: tuple[OpPlan, ...]
    coercions: tuple[Coercion, ...]
    collectives: tuple[Collective, ...]
    findings: tuple[Finding, ...]
    cost_bytes: int
    peak_bytes: int
    solver_name: str
    solver_version: str
    localised: Mapping[int, tuple[Localised, ...]] = field(default_factory=dict)
