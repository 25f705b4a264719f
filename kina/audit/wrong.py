"""Tries the placements that the rules allow, and makes small what goes wrong."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kina.audit.allowed import Allowed, allowed
from kina.audit.blame import Blame
from kina.audit.draw import COUNTING, VARIETIES
from kina.audit.example import example
from kina.audit.execute import Built, UnbuildableError, build
from kina.audit.instance import Instance
from kina.audit.op_rule import Derived
from kina.audit.outcome import Incorrect
from kina.audit.trial import Seed, Trial, attempt

#: Of the placements of one instance over two axes this many are tried.
_PAIRS = 16


@dataclass(frozen=True, slots=True)
class Fault:
    """A placement that is wrong: the op has no form on its shards (`why`), or a run gave something else."""

    number: int
    allowed: Allowed
    why: str
    built: Built | None = None
    trial: Trial | None = None

    def size(self, instance: Instance) -> tuple[int, int, int]:
        """How large it is as a counter-example."""
        return self.allowed.placement.mesh.devices, len(self.allowed.split), instance.elements


@dataclass(frozen=True, slots=True)
class Tried:
    """How many placements were tried, and which were wrong."""

    placements: int
    faults: tuple[Fault, ...]


def try_allowed(derived: Derived, seed: Seed, first: bool = False) -> Tried:
    """Run every placement over one axis, and a choice of those over two, with drawn elements.

    With `first` the first one that is wrong is enough.
    """
    count, faults = 0, []
    for number, (instance, rule) in enumerate(zip(derived.instances, derived.rules, strict=True)):
        for each in _chosen(list(allowed(instance, rule)), (*seed, number)):
            count += 1
            fault = _try(instance, number, each, (*seed, number), _varieties(each, count))
            if fault is not None:
                faults.append(fault)
                if first:
                    return Tried(count, tuple(faults))
    return Tried(count, tuple(faults))


def _chosen(every: Sequence[Allowed], seed: Seed) -> Iterator[Allowed]:
    single = [each for each in every if len(each.placement.mesh.axes) == 1]
    pairs = [each for each in every if len(each.placement.mesh.axes) > 1]
    yield from single
    if len(pairs) > _PAIRS:
        pairs = random.Random(str(seed)).sample(pairs, _PAIRS)  # noqa: S311
    yield from pairs


def _varieties(each: Allowed, count: int) -> Sequence[int]:
    """The draws that a placement is run with: over two axes one, in turn. One axis shows what elements do."""
    single = len(each.placement.mesh.axes) == 1
    return range(VARIETIES) if single else (count % VARIETIES,)


def _try(
    instance: Instance, number: int, each: Allowed, seed: Seed, varieties: Sequence[int]
) -> Fault | None:
    try:
        built = build(instance, each.placement)
    except UnbuildableError as problem:
        return Fault(number, each, str(problem))
    for variety in varieties:
        trial = attempt(built, seed, variety)
        if not trial.ok:
            return Fault(number, each, "", built, trial)
    return None


def incorrect(
    derived: Derived, faults: Sequence[Fault], seed: Seed, small: Callable[[], Derived]
) -> tuple[Incorrect, ...]:
    """One small counter-example for each set of rules that is to blame.

    Rules that are to blame for something by themselves are not blamed again together with others. `small`
    gives smaller instances, among which still smaller counter-examples are looked for.
    """
    if not faults:
        return ()
    groups = _by_rules(derived, faults)
    least = [
        rules for rules in groups if not any(set(other) < set(rules) for other in groups if other != rules)
    ]
    others = small()
    smaller = _by_rules(others, try_allowed(others, seed).faults)
    found = []
    for rules in sorted(least):
        candidates = [_smallest(derived, groups[rules])]
        candidates += [_smallest(others, smaller[rules])] if rules in smaller else []
        instance, fault = min(candidates, key=lambda each: each[1].size(each[0]))
        found.append(_shown(instance, fault, rules, len(groups[rules]), seed))
    return tuple(found)


def _by_rules(derived: Derived, faults: Sequence[Fault]) -> dict[tuple[str, ...], list[Fault]]:
    """Faults by the rules that are to blame."""
    blame = Blame(derived)
    groups: dict[tuple[str, ...], list[Fault]] = {}
    for fault in faults:
        groups.setdefault(blame.rules(fault.number, fault.allowed), []).append(fault)
    return groups


def _smallest(derived: Derived, faults: Sequence[Fault]) -> tuple[Instance, Fault]:
    fault = min(faults, key=lambda fault: fault.size(derived.instances[fault.number]))
    return derived.instances[fault.number], fault


def _shown(instance: Instance, smallest: Fault, rules: tuple[str, ...], times: int, seed: Seed) -> Incorrect:
    trial = smallest.trial
    if smallest.built is not None:
        counted = attempt(smallest.built, seed, COUNTING)
        trial = trial if counted.ok else counted
    shown = example(instance, smallest.allowed.placement, smallest.built, trial)
    return Incorrect(rules, _why(smallest), times, shown)


def _why(fault: Fault) -> str:
    if fault.why:
        return f"the op cannot be computed on these shards: {fault.why}"
    passing = fault.allowed.passing
    if passing is None:
        return "the shards do not make up what one device gives"
    return f"the parts of the pending {passing.reduction} do not make up what one device gives"
