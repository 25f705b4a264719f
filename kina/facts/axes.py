"""The ordered lists of mesh axes that can split some dim of a program, and the facts about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kina.facts.names import encode

AxisList = tuple[str, ...]


def axes_word(axes: AxisList) -> str:
    """A list as it stands in facts, major to minor: `a,b`."""
    return ",".join(encode(axis) for axis in axes)


def fitting_lists(sizes: Mapping[str, int], dims: Iterable[int]) -> dict[AxisList, int]:
    """Every ordered list of distinct axes whose number of parts divides at least one of `dims`.

    Maps the list to its number of parts. Prefixes of a list are in the result, as they divide the same dims.
    """
    dims = sorted(set(dims))
    found: dict[AxisList, int] = {}
    frontier: list[tuple[AxisList, int]] = [((), 1)]
    while frontier:
        grown: list[tuple[AxisList, int]] = []
        for axes, parts in frontier:
            for axis, size in sizes.items():
                more = parts * size
                if axis not in axes and any(dim and dim % more == 0 for dim in dims):
                    grown.append(((*axes, axis), more))
        found.update(grown)
        frontier = grown
    return found


def axes_facts(sizes: Mapping[str, int], dims: Iterable[int]) -> dict[str, list[tuple[str | int, ...]]]:
    """The relations `axes_*` of the schema, for axes of these `sizes` and a program with these `dims`."""
    dims = sorted({dim for dim in dims if dim > 0})
    lists = fitting_lists(sizes, dims)
    facts: dict[str, list[tuple[str | int, ...]]] = {
        name: [] for name in ("axes_single", "axes_extended", "axes_parts", "axes_joined", "axes_fit")
    }
    for axes, parts in lists.items():
        word = axes_word(axes)
        facts["axes_parts"].append((word, parts))
        if len(axes) == 1:
            facts["axes_single"].append((word, encode(axes[0])))
        else:
            facts["axes_extended"].append((word, axes_word(axes[:-1]), encode(axes[-1])))
        facts["axes_joined"].extend(
            (word, axes_word(axes[:cut]), axes_word(axes[cut:])) for cut in range(1, len(axes))
        )
        facts["axes_fit"].extend((dim, word) for dim in dims if dim % parts == 0)
    return facts
