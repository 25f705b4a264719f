"""The audit of one kind of op."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kina.audit.claims import false_claims
from kina.audit.follow import misled
from kina.audit.generators import SMALL, count, instances
from kina.audit.hypotheses import Missing, Search
from kina.audit.instance import Instance
from kina.audit.lacking import lacking
from kina.audit.op_rule import Derived, derive
from kina.audit.outcome import OpReport
from kina.audit.planned import misplanned
from kina.audit.programs import misplans
from kina.audit.trial import results_of
from kina.audit.wrong import incorrect, try_allowed
from kina.rulebook.base import RuleBase


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is looked at: one of `share` of the usual instances, of which some are searched for missing
    placements, and some made into programs."""

    share: int = 1
    searched: int = 12
    programs: int = 16


WHOLE, QUICK = Extent(), Extent(3, 4, 6)
#: A quick audit looks at no fewer instances.
_LEAST = 8


def audit_op(
    kind: str, base: RuleBase, seed: int = 0, solver: str = "auto", extent: Extent = WHOLE
) -> OpReport:
    """What the rules of `base` say of a kind, held against what it computes. Equal seeds give equal reports.

    Raises ProgramError if a rule file is at fault, SetupError if the engine cannot be used.
    """
    with np.errstate(all="ignore"):
        return _audited(kind, base, seed, solver, extent)


def _audited(kind: str, base: RuleBase, seed: int, solver: str, extent: Extent) -> OpReport:
    ops = base.declared
    number = max(count(kind) // extent.share, _LEAST)
    derived = derive(list(instances(kind, seed, number, declarations=ops)), base.compiled, solver)
    tried = try_allowed(derived, (seed,))

    def small() -> Derived:
        return derive(list(instances(kind, seed, 2 * count(kind), SMALL, ops)), base.compiled, solver)

    wrong = incorrect(derived, tried.faults, (seed,), small)
    searched, found = search(derived, seed, extent.searched)
    # The rules of a file alone lay out no programs.
    numbers = range(min(extent.programs, number) if base.alone is None else 0)
    laid_out, led = misled(derived, base, solver, numbers, seed)
    # Where placements are wrong, so are the programs that have them.
    planned, plans = (0, ()) if wrong else misplanned(derived, base, solver, numbers, seed)
    return OpReport(
        kind,
        len(derived.instances),
        tried.placements,
        searched,
        laid_out + planned,
        wrong,
        misplans(derived, (*led, *plans)),
        false_claims(derived, base, solver, seed),
        lacking(kind, found),
        _fired(derived),
    )


def search(
    derived: Derived, seed: int, number: int = WHOLE.searched, first: bool = False
) -> tuple[int, list[Missing]]:
    """How many hypotheses were tried, and those that are missing placements; with `first` one is enough."""
    telling = [place for place, instance in enumerate(derived.instances) if _telling(instance)]
    found: list[Missing] = []
    tried = 0
    for place in telling[:number]:
        hypotheses = Search(derived.instances[place], derived.rules[place], (seed, place))
        for missing in hypotheses.missing():
            found.append(missing)
            if first:
                return hypotheses.tried, found
        tried += hypotheses.tried
    return tried, found


def _telling(instance: Instance) -> bool:
    """Whether placements of the instance are right for a reason, and not by chance.

    Sizes of 1 and 0 make many right, and so does an op whose results do not depend on its operands.
    """
    if instance.odd or any(size < 2 for shape in instance.shapes for size in shape):
        return False
    if not instance.operand_types:
        return True
    first, second = (results_of(instance, (turn,), 1) for turn in range(2))
    return any(not np.array_equal(one, two) for one, two in zip(first, second, strict=True))


def _fired(derived: Derived) -> tuple[str, ...]:
    """The names of the rules that said something of one of the instances."""
    evaluation = derived.evaluation
    rules = evaluation.rules.rulebook.rules
    numbers = {firing.rule for op in derived.ops for firing in evaluation.fired(op)}
    return tuple(sorted({rules[number].name for number in numbers} - {""}))
