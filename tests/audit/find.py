"""Finds a wrong rule in one of the ways that an audit or the lint has, as fast as that can be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kina.audit.claims import false_claims
from kina.audit.follow import misled
from kina.audit.generators import count, instances
from kina.audit.lacking import lacking
from kina.audit.one_op import audit_op, search
from kina.audit.op_rule import Derived, derive
from kina.audit.planned import misplanned
from kina.audit.wrong import try_allowed
from kina.rulebook.base import RuleBase
from kina.rulebook.lint import lint
from tests.audit.mutants import Mutant

_SOLVER = "clingo"
#: How many instances of an op are made into programs to find a mutant.
_PROGRAMS = 32


def found(mutant: Mutant, base: RuleBase) -> bool:
    """Whether what is to find the mutant does."""
    with np.errstate(all="ignore"):
        return any(_found(mutant, base))


def _found(mutant: Mutant, base: RuleBase) -> Iterator[bool]:
    for kind in mutant.ops:
        match mutant.by:
            case "placement":
                derived = _derived(base, kind, 0, count(kind))
                yield bool(try_allowed(derived, (0,), first=True).faults)
            case "program":
                derived = _derived(base, kind, 0, _PROGRAMS)
                numbers = range(_PROGRAMS)
                yield bool(misled(derived, base, _SOLVER, numbers, 0)[1])
                yield bool(misplanned(derived, base, _SOLVER, numbers, 0, first=True)[1])
            case "missing":
                _, lacks = search(_derived(base, kind, 0, count(kind)), 0, first=True)
                yield any(not each.reason for each in lacking(kind, lacks))
            case "claim":
                derived = _derived(base, kind, 0, count(kind))
                yield bool(false_claims(derived, base, _SOLVER, 0))
            case "lint":
                changed = [file for file in base.files if file.source.name.endswith(mutant.file)]
                yield bool(lint(base, changed, _SOLVER))
            case way:
                raise ValueError(f"nothing finds a mutant by {way}")


def accusations(base: RuleBase, kind: str, seed: int, number: int) -> list[str]:
    """What is found to be wrong with the rules of a kind in `number` instances, or with 0 by its audit."""
    if not number:
        report = audit_op(kind, base, seed, _SOLVER)
        return [each.why for each in (*report.incorrect, *report.misplanned, *report.claims)]
    with np.errstate(all="ignore"):
        derived = _derived(base, kind, seed, number)
        wrong = [fault.why or "wrong" for fault in try_allowed(derived, (seed,)).faults]
        _, led = misled(derived, base, _SOLVER, range(number), seed)
        _, planned = misplanned(derived, base, _SOLVER, range(number), seed)
    return [*wrong, *(each.why for each in (*led, *planned))]


def _derived(base: RuleBase, kind: str, seed: int, number: int) -> Derived:
    return derive(list(instances(kind, seed, number, declarations=base.declared)), base.compiled, _SOLVER)
