"""The order of the moves of one coercion.

The rules say which axes move and how (`rules/collectives.dl`); they also say what must wait for what.
Of the moves that can be made next, the one that makes shards smaller goes first, so that the others move
less.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from kina.plan.decisions import Layout, Step

_PREFERENCE = (
    "slice",
    "reduce_scatter",
    "all_to_all",
    "collective_permute",
    "all_reduce",
    "mask",
    "all_gather",
)


@dataclass(slots=True)
class _State:
    """The layout in the middle of a coercion, what it is to become, and the bytes of the whole tensor."""

    dims: list[list[str]]
    after: Layout
    sizes: Mapping[str, int]
    whole_bytes: int

    def can(self, step: Step) -> bool:
        """Whether the step can be made now: what leaves is last on its dim, what arrives comes next.

        An axis arrives, or one device along it keeps a value, only where it splits no dim any more.
        """
        held = {axis for axes in self.dims for axis in axes}
        match step.kind:
            case "mask":
                return held.isdisjoint(step.axes)
            case "slice" | "reduce_scatter":
                return held.isdisjoint(step.axes) and self._continues(step.dim, step.axes)
            case "all_gather":
                return self._ends_with(step.dim, step.axes)
            case "all_to_all":
                return self._ends_with(step.dim, step.axes) and self._continues(step.to, step.axes)
            case _:
                return True

    def _ends_with(self, dim: int | None, axes: tuple[str, ...]) -> bool:
        assert dim is not None
        return tuple(self.dims[dim][-len(axes) :]) == axes

    def _continues(self, dim: int | None, axes: tuple[str, ...]) -> bool:
        assert dim is not None
        grown = (*self.dims[dim], *axes)
        return self.after[dim][: len(grown)] == grown

    def make(self, step: Step) -> Step:
        """The step with the bytes that it moves; the state is what it is afterwards."""
        local = self._local()
        count = prod(self.sizes[axis] for axis in step.axes)
        if step.kind in ("all_gather", "all_to_all"):
            assert step.dim is not None
            del self.dims[step.dim][-len(step.axes) :]
        if step.kind in ("slice", "reduce_scatter"):
            assert step.dim is not None
            self.dims[step.dim].extend(step.axes)
        if step.kind == "all_to_all":
            assert step.to is not None
            self.dims[step.to].extend(step.axes)
        if step.kind == "collective_permute":
            self.dims = [list(axes) for axes in self.after]
        return replace(step, bytes=_moved(step.kind, count, local))

    def _local(self) -> int:
        parts = prod(self.sizes[axis] for axes in self.dims for axis in axes)
        return self.whole_bytes // parts


def _moved(kind: str, count: int, local: int) -> int:
    """Bytes that a device moves by a ring over `count` devices, each of which holds `local` bytes before."""
    match kind:
        case "all_gather":
            return local * (count - 1)
        case "all_reduce":
            return 2 * local * (count - 1) // count
        case "reduce_scatter" | "all_to_all":
            return local * (count - 1) // count
        case "collective_permute":
            return local
        case _:
            return 0


def schedule(
    moves: tuple[Step, ...], before: Layout, after: Layout, sizes: Mapping[str, int], whole_bytes: int
) -> tuple[Step, ...]:
    """The moves in an order that can be carried out, neighbours of one kind joined, with their bytes.

    `moves` have one axis each. Raises ValueError if they do not lead from `before` to `after`, which
    the rules exclude.
    """
    state = _State([list(axes) for axes in before], after, sizes, whole_bytes)
    order = {axis: number for number, axis in enumerate(sizes)}
    waiting = sorted(moves, key=lambda step: (_PREFERENCE.index(step.kind), order.get(step.axes[0], -1)))
    done: list[Step] = []
    while waiting:
        step = next((step for step in _joined(waiting, state) if state.can(step)), None)
        if step is None:
            raise ValueError(f"moves {waiting} cannot be made from {before} to {after}")
        waiting = [left for left in waiting if not set(left.axes) <= set(step.axes) or left.kind != step.kind]
        done.append(state.make(step))
    if tuple(map(tuple, state.dims)) != after:
        raise ValueError(f"moves {moves} lead from {before} to {state.dims}, not to {after}")
    return tuple(done)


def _joined(waiting: list[Step], state: _State) -> list[Step]:
    """The single steps, each preceded by the larger ones that it can be part of: fewer collectives first."""
    steps: list[Step] = []
    for step in waiting:
        group = [other for other in waiting if replace(other, axes=step.axes) == step]
        if len(group) > 1 and step.kind != "mask":
            steps.extend(_groups(step, group, state))
        steps.append(step)
    return steps


def _groups(step: Step, group: list[Step], state: _State) -> list[Step]:
    """The joint forms of alike steps over several axes, largest first."""
    axes = {other.axes[0] for other in group}
    if step.kind == "all_reduce":
        ordered = tuple(axis for axis in state.sizes if axis in axes)
        return [replace(step, axes=ordered)]
    if step.kind in ("all_gather", "all_to_all"):
        assert step.dim is not None
        run = _last_run(state.dims[step.dim], axes)
    else:
        assert step.dim is not None
        run = _first_run(state.after[step.dim][len(state.dims[step.dim]) :], axes)
    candidates = [run[cut:] for cut in range(len(run) - 1)] if step.kind != "slice" else [run]
    return [replace(step, axes=part) for part in candidates if len(part) > 1]


def _last_run(dims: list[str], axes: set[str]) -> tuple[str, ...]:
    """The longest end of `dims` that consists of `axes`."""
    start = len(dims)
    while start and dims[start - 1] in axes:
        start -= 1
    return tuple(dims[start:])


def _first_run(dims: tuple[str, ...], axes: set[str]) -> tuple[str, ...]:
    """The longest beginning of `dims` that consists of `axes`."""
    end = 0
    while end < len(dims) and dims[end] in axes:
        end += 1
    return dims[:end]
