"""The tuples that a goal may rest on, and the least heights of their proofs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from kina.datalog.proof_steps import Derivation
from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import Atom
from kina.datalog.tables import Row

#: A tuple of a relation.
Goal = tuple[str, Row]


@dataclass(slots=True)
class Cone:
    """The tuples that a goal may rest on, as far as they are found, with their derivations.

    Tuples of the relations in `bounds` have no proof higher than that, and are looked into when it matters.
    """

    goal: Goal
    bounds: Mapping[str, int]
    depth: int = 0
    frontier: list[Goal] = field(default_factory=list)
    seen: set[Goal] = field(default_factory=set)
    derivations: list[tuple[Goal, Derivation]] = field(default_factory=list)
    heights: dict[Goal, int] = field(default_factory=dict)
    best: dict[Goal, Derivation] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.frontier.append(self.goal)
        self.seen.add(self.goal)

    def add(self, node: Goal, derivation: Derivation) -> None:
        self.derivations.append((node, derivation))
        for premise in derivation.premises:
            if premise not in self.seen and premise[0] not in self.bounds:
                self.seen.add(premise)
                self.frontier.append(premise)

    def settle(self, shallow_height: Callable[[Goal], int]) -> None:
        """Least heights of all tuples that the derivations found so far prove, level by level."""
        self.heights, self.best = {}, {}
        missing: list[int] = []
        waiting: dict[Goal, list[int]] = {}
        levels: dict[int, list[int]] = {}
        for number, (_, derivation) in enumerate(self.derivations):
            deep = {premise for premise in derivation.premises if premise[0] not in self.bounds}
            missing.append(len(deep))
            for premise in deep:
                waiting.setdefault(premise, []).append(number)
            if not deep:
                levels.setdefault(self._height_over(derivation, 0, shallow_height), []).append(number)
        while levels:
            height = min(levels)
            for number in sorted(levels.pop(height)):
                node, derivation = self.derivations[number]
                if node in self.heights:
                    continue
                self.heights[node] = height
                self.best[node] = derivation
                for after in waiting.get(node, ()):
                    missing[after] -= 1
                    if not missing[after]:
                        above = self._height_over(self.derivations[after][1], height + 1, shallow_height)
                        levels.setdefault(above, []).append(after)

    def _height_over(self, derivation: Derivation, least: int, shallow_height: Callable[[Goal], int]) -> int:
        """The height of a derivation, from `least`, which its deep premises make it."""
        if derivation.rule is None or not derivation.rule.body:
            return 0
        height = max(1, least)
        for premise in derivation.premises:
            bound = self.bounds.get(premise[0])
            if bound is not None and bound >= height:
                height = max(height, 1 + shallow_height(premise))
        return height


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
