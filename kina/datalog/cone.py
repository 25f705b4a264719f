"""The tuples that goals may rest on, and the least heights of their proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kina.datalog.proof_steps import Derivation
from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Atom
from kina.datalog.tables import Row

#: A tuple of a relation.
Goal = tuple[str, Row]


class _Found(NamedTuple):
    """A derivation of the tuple `node`: `deep` are its premises in the cone, `shallow` the others."""

    node: int
    derivation: Derivation
    deep: tuple[int, ...]
    shallow: tuple[Goal, ...]


@dataclass(slots=True)
class Cone:
    """The tuples that goals may rest on, as far as they are found, with their derivations.

    Tuples of the relations in `bounds` have no proof higher than that, and are looked into when it matters.
    The others are numbered as they are found, nearest first; `cut` says whether some were left out.
    """

    goals: tuple[Goal, ...]
    bounds: Mapping[str, int]
    cut: bool = False
    _numbers: dict[Goal, int] = field(default_factory=dict)
    _nodes: list[Goal] = field(default_factory=list)
    _found: list[_Found] = field(default_factory=list)
    _waiting: list[list[int]] = field(default_factory=list)
    _below: list[list[int] | None] = field(default_factory=list)
    _heights: dict[int, int] = field(default_factory=dict)
    _best: dict[int, Derivation] = field(default_factory=dict)

    def grow(
        self, most: int, least: Mapping[str, int], derivations: Callable[[Goal], Iterable[Derivation]]
    ) -> None:
        """Find all that proofs of the goals of at most height `most` can consist of.

        A tuple some steps away from every goal is left out if the `least` height of its relation makes more.
        What was found before is kept: only tuples that were left out are looked at anew.
        """
        self.cut = False
        edge = list(dict.fromkeys(self._number(goal) for goal in self.goals))
        seen = bytearray(len(self._nodes))
        depth = 0
        while edge:
            reached: list[int] = []
            for number in edge:
                seen[number] = True
                node = self._nodes[number]
                if depth + least[node[0]] > most:
                    self.cut = True
                    continue
                below = self._below[number]
                if below is None:
                    below = self._below[number] = self._expanded(number, derivations(node))
                reached += below
            seen.extend(bytes(len(self._nodes) - len(seen)))
            edge = [number for number in dict.fromkeys(reached) if not seen[number]]
            depth += 1

    def _number(self, node: Goal) -> int:
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
            self._waiting.append([])
            self._below.append(None)
        return number

    def _expanded(self, node: int, derivations: Iterable[Derivation]) -> list[int]:
        """The premises in the cone of the derivations of a tuple, which are noted."""
        below: list[int] = []
        for derivation in derivations:
            deep: list[int] = []
            shallow: list[Goal] = []
            for premise in derivation.premises:
                if premise[0] in self.bounds:
                    shallow.append(premise)
                    continue
                number = self._number(premise)
                if number not in deep:
                    deep.append(number)
                    self._waiting[number].append(len(self._found))
            self._found.append(_Found(node, derivation, tuple(deep), tuple(shallow)))
            below += deep
        return below

    def settle(self, shallow_height: Callable[[Goal], int]) -> None:
        """Least heights of all tuples that the derivations found so far prove, level by level."""
        heights: dict[int, int] = {}
        best: dict[int, Derivation] = {}
        missing = [len(found.deep) for found in self._found]
        levels: dict[int, list[int]] = {}
        for number, found in enumerate(self._found):
            if not found.deep:
                levels.setdefault(self._height_over(found, 0, shallow_height), []).append(number)
        while levels:
            height = min(levels)
            for number in sorted(levels.pop(height)):
                node = self._found[number].node
                if node in heights:
                    continue
                heights[node] = height
                best[node] = self._found[number].derivation
                for after in self._waiting[node]:
                    missing[after] -= 1
                    if not missing[after]:
                        above = self._height_over(self._found[after], height + 1, shallow_height)
                        levels.setdefault(above, []).append(after)
        self._heights, self._best = heights, best

    def _height_over(self, found: _Found, least: int, shallow_height: Callable[[Goal], int]) -> int:
        """The height of a derivation, from `least`, which its deep premises make it."""
        rule = found.derivation.rule
        if rule is None or not rule.body:
            return 0
        height = max(1, least)
        for premise in found.shallow:
            if self.bounds[premise[0]] >= height:
                height = max(height, 1 + shallow_height(premise))
        return height

    def height(self, node: Goal) -> int | None:
        """The least height of a tuple; None if nothing found so far proves it."""
        return self._heights.get(self._numbers.get(node, -1))

    def best(self, node: Goal) -> Derivation | None:
        """The derivation of that height."""
        return self._best.get(self._numbers.get(node, -1))

    def settled(self) -> Iterator[tuple[Goal, int, Derivation]]:
        """All tuples that are proved, with height and derivation."""
        for node, number in self._numbers.items():
            if number in self._heights:
                yield node, self._heights[number], self._best[number]


def least_heights(rulebook: Rulebook) -> dict[str, int]:
    """For each relation a height that no proof of a tuple of it is below."""
    rules: dict[str, list[tuple[str, ...]]] = {name: [] for name in rulebook.relations}
    for rule in rulebook.rules:
        rules[rule.head.relation].append(tuple(p.relation for p in rule.body if isinstance(p, Atom)))
    least: dict[str, int] = {}
    for group in rulebook.strata:
        waiting = set(group)
        for name in group:
            if rulebook.relations[name].is_input or not rules[name]:
                least[name] = 0
                waiting.discard(name)
        while waiting:
            known = {
                name: min(1 + max((least[each] for each in body), default=0) for body in ready)
                for name in waiting
                if (ready := [body for body in rules[name] if all(each in least for each in body)])
            }
            if not known:
                least.update(dict.fromkeys(waiting, 0))
                break
            height = min(known.values())
            lowest = {name for name, value in known.items() if value == height}
            least.update(dict.fromkeys(lowest, height))
            waiting -= lowest
    return least


def shallow_bounds(rulebook: Rulebook) -> dict[str, int]:
    """The greatest height of a proof of each relation that rests on no recursive one."""
    rules: dict[str, list[Rule]] = {}
    for rule in rulebook.rules:
        rules.setdefault(rule.head.relation, []).append(rule)
    bounds: dict[str, int] = {}
    for group in rulebook.strata:
        for name in group:
            below = [{p.relation for p in rule.body if isinstance(p, Atom)} for rule in rules.get(name, ())]
            if len(group) == 1 and all(each in bounds for names in below for each in names):
                heights = [1 + max((bounds[each] for each in names), default=0) for names in below]
                bounds[name] = max(heights, default=0)
    return bounds
