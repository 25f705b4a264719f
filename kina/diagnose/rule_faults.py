"""Rules that contradict each other, speak of dims that are not there, or leave open what attributes do."""

from __future__ import annotations

from collections.abc import Iterator

from kina.diagnose.case import Case, Fact, plural
from kina.diagnostics.finding import Finding, Help, Label
from kina.facts.names import encode
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


def unsettled_attributes(case: Case) -> Iterator[Finding]:
    """An error (K905) for each attribute that rules leave open of a kind that is computed in parts."""
    found: dict[tuple[str, str], list[tuple[Op, Fact]]] = {}
    for fact in case.rows("attribute_unsettled"):
        op = _op_of(case, fact[0])
        if op is not None:
            name = next(name for name, _ in op.attributes if encode(name) == fact[1])
            found.setdefault((op.kind, name), []).append((op, fact))
    for (kind, name), places in found.items():
        op, fact = min(places, key=lambda place: place[0].id)
        proof = case.proof("attribute_unsettled", fact)
        spans = {each.span for each, _ in places} - {op.span}
        yield Finding(
            "K905",
            "error",
            f"{case.op_words(op)} is computed in parts, and {_open_words(proof[0].rule, name)}",
            op.span,
            labels=tuple(_declared_at(case, kind, name)),
            notes=(f"so in {plural(len(spans), 'more place')}",) if spans else (),
            helps=tuple(_settle_helps(proof[0].rule, kind, name)),
            proof=proof,
            rule=proof[0].rule,
            more=("`kina explain K905`",),
        )


def _open_words(rule: str, name: str) -> str:
    if rule == "sanity.attribute-unfollowed":
        return f"no rule says which dim `{name}` follows"
    return f"no rule says what `{name}` is on one device"


def _declared_at(case: Case, kind: str, name: str) -> Iterator[Label]:
    """Where the kind is given the attribute."""
    assert case.program.declared is not None
    for each, _ in case.program.declared.visible.ops[kind].form.attributes:
        if each.name == name:
            yield Label(each.span, "declared here")


def _settle_helps(rule: str, kind: str, name: str) -> Iterator[Help]:
    follows = (
        f"derive `attribute_follows` for `{name}`, with the dim whose shards it counts from or is divided by"
    )
    if rule == "sanity.attribute-unfollowed":
        yield Help(f"{follows}; if nothing changes, it is `attribute_indifferent`, or `attribute_guards`")
        return
    yield Help(f'if it has no bearing on layouts, say `attribute_indifferent("{kind}", "{name}").`')
    yield Help(
        f'if it decides what may be split, and the rules read it, `attribute_guards("{kind}", "{name}").`'
    )
    yield Help(f'if it changes with the shards, `attribute_localised("{kind}", "{name}").`, and {follows}')
