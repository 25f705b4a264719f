"""Rules that contradict each other, or speak of dims that are not there: then nothing can be decided."""

from __future__ import annotations

from collections.abc import Iterator

from kina.diagnose.case import Case, Fact
from kina.diagnostics.finding import Finding
from kina.frontend.ir import Op


def rule_faults(case: Case) -> tuple[Finding, ...]:
    """An error for each op and place (K901, K903); alike ones of repeated layers are one."""
    return (*_clashes(case), *_misplaced_dims(case))


def _first(case: Case, relation: str) -> Iterator[Fact]:
    """The first tuple about each place in the program."""
    seen: set[object] = set()
    for fact in case.rows(relation):
        op = _op_of(case, fact[0])
        place = fact[0] if op is None else op.span
        if place not in seen:
            seen.add(place)
            yield fact


def _clashes(case: Case) -> Iterator[Finding]:
    for fact in _first(case, "role_clash"):
        op = _op_of(case, fact[0])
        of = f"the rules of {case.op_words(op)}" if op is not None else f"the rules of `{fact[0]}`"
        yield Finding(
            "K901",
            "error",
            f"{of} contradict each other on dim {fact[2]} at `{fact[1]}`",
            op.span if op is not None else case.program.span,
            proof=case.proof("role_clash", fact),
            rule="sanity.role-clash",
        )


def _op_of(case: Case, name: str | int) -> Op | None:
    """The op of a fact; None if a rule made its name up."""
    value = case.values.get(str(name))
    return None if value is None else case.producers.get(value.id)


def _misplaced_dims(case: Case) -> Iterator[Finding]:
    for fact in _first(case, "dim_misplaced"):
        op = _op_of(case, fact[0])
        of = case.op_words(op) if op is not None else f"`{fact[0]}`, which is no op of the program,"
        yield Finding(
            "K903",
            "error",
            f"a rule of {of} speaks of dim {fact[2]} at `{fact[1]}`, and there is none",
            op.span if op is not None else case.program.span,
            proof=case.proof("dim_misplaced", fact),
            rule="sanity.misplaced-factor",
            more=("`kina explain K903`",),
        )
