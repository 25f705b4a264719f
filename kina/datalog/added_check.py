"""What added rule files may do: derive what the rules of an op say, not what Kina concludes from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath

from kina.datalog.rules import Relation, Rule
from kina.datalog.syntax import (
    Arithmetic,
    Atom,
    Comparison,
    Component,
    Directive,
    RuleFile,
    Term,
    Variable,
    variables,
    walk,
)
from kina.diagnostics.finding import Finding, Label, error
from kina.source import Source, Span

#: The file of the rule base that declares what the rules of an op say.
SAID = "sharding.dl"


def check_directives(added: Sequence[Source], files: Iterable[RuleFile]) -> tuple[Finding, ...]:
    """A finding (K832) for each input that an added file makes."""
    return tuple(_directives(frozenset(added), files))


def check_added(
    added: Sequence[Source], relations: Mapping[str, Relation], rules: Iterable[Rule]
) -> tuple[Finding, ...]:
    """Every fault of added clauses (K830 names, K831 what they derive, K832 what is not theirs to say)."""
    found: dict[tuple[str, int], Finding] = {}
    own = frozenset(added)
    checks = (*_names(own, rules), *_heads(own, relations, rules), *_codes(own, rules))
    for finding in checks:
        assert finding.primary is not None
        found.setdefault((finding.primary.file, finding.primary.start), finding)
    return tuple(found.values())


def _directives(own: frozenset[Source], files: Iterable[RuleFile]) -> Iterator[Finding]:
    for file in files:
        if file.source not in own:
            continue
        for item in file.items:
            for part in item.items if isinstance(item, Component) else (item,):
                if isinstance(part, Directive) and part.kind == "input":
                    note = "the inputs are those of `program.dl`, which Kina writes"
                    message = f"an added rule file makes `{part.relation}` an input"
                    yield error("K832", message, part.span, notes=(note,))


def _names(own: frozenset[Source], rules: Iterable[Rule]) -> Iterator[Finding]:
    """Names of rules that stand in two files, one of them added."""
    first: dict[str, Span] = {}
    for rule in sorted(rules, key=lambda rule: rule.clause.span.source in own):
        span = rule.clause.span
        known = first.setdefault(rule.name, span) if rule.name else span
        if known.source != span.source:
            message = f"the rule name `{rule.name}` is taken by a rule of `{known.file}`"
            place = next((each.span for each in rule.clause.metadata if each.key == "rule"), span)
            yield error("K830", message, place, labels=(Label(known, "named so here"),))


def _heads(
    own: frozenset[Source], relations: Mapping[str, Relation], rules: Iterable[Rule]
) -> Iterator[Finding]:
    for rule in rules:
        span = rule.head.span
        relation = relations[rule.head.relation]
        if rule.clause.span.source not in own or relation.span.source in own:
            continue
        if PurePath(relation.span.file).name == SAID:
            continue
        if not rule.body and relation.columns and relation.columns[0].type == "Kind":
            # A table of kinds, such as `elementwise_kind`.
            continue
        note = f"they derive relations of their own and those of `{SAID}`, and add facts to tables of kinds"
        message = f"`{relation.declared}` is derived by the rule base alone"
        labels = (Label(relation.span, "declared here"),)
        yield error("K831", message, span, labels=labels, notes=(note,))


def _codes(own: frozenset[Source], rules: Iterable[Rule]) -> Iterator[Finding]:
    for rule in rules:
        if rule.code is None or rule.clause.span.source not in own:
            continue
        place = next(each.span for each in rule.clause.metadata if each.key == "code")
        note = (
            f"added rules derive their own relations and those of `{SAID}`, and add facts to tables of kinds"
        )
        yield error("K832", f"an added rule has the code `{rule.code}`", place, notes=(note,))


def check_ends(
    added: Sequence[Source], rules: Iterable[Rule], strata: Iterable[tuple[str, ...]]
) -> tuple[Finding, ...]:
    """A finding (K833) for each added clause that could count without an end.

    In a cycle of relations a new number is computed only from variables that a premise outside the cycle
    binds: then there are finitely many, and evaluation ends.
    """
    own = frozenset(added)
    place = {name: index for index, group in enumerate(strata) for name in group}
    found: dict[tuple[str, int], Finding] = {}
    for rule in rules:
        span = rule.clause.span
        if span.source in own and (term := _endless(rule, place)) is not None:
            message = f"`{rule.head.relation}` counts on from itself, and nothing bounds `{term.span.text}`"
            note = "bind its variables by a premise that does not depend on the relation, such as `value_dim`"
            found.setdefault((span.file, span.start), error("K833", message, term.span, notes=(note,)))
    return tuple(found.values())


def _endless(rule: Rule, place: Mapping[str, int]) -> Term | None:
    """A term of the head that is computed from what only the cycle itself binds."""
    home = place[rule.head.relation]
    atoms = [premise for premise in rule.body if isinstance(premise, Atom)]
    if all(place[atom.relation] != home for atom in atoms):
        return None
    finite = _names_in(atom for atom in atoms if place[atom.relation] != home)
    bound = _names_in(atoms)
    fresh = _fresh(rule, finite, bound)
    for term in rule.head.arguments:
        if isinstance(term, Variable) and term.name in fresh:
            return fresh[term.name]
        if _computes(term, finite) or any(each.name in fresh for each in variables(term)):
            return term
    return None


def _fresh(rule: Rule, finite: frozenset[str], bound: frozenset[str]) -> dict[str, Term]:
    """The variables that only `=` binds, to what is computed inside the cycle, with that."""
    fresh: dict[str, Term] = {}
    sides = [
        pair
        for premise in rule.body
        if isinstance(premise, Comparison) and premise.operator == "="
        for pair in ((premise.left, premise.right), (premise.right, premise.left))
    ]
    before = -1
    while len(fresh) > before:
        before = len(fresh)
        for side, other in sides:
            if not isinstance(side, Variable) or side.name in bound or side.name in fresh:
                continue
            if _computes(other, finite) or any(each.name in fresh for each in variables(other)):
                fresh[side.name] = other
    return fresh


def _names_in(atoms: Iterable[Atom]) -> frozenset[str]:
    """The variables that atoms bind: those that are a whole argument."""
    return frozenset(term.name for atom in atoms for term in atom.arguments if isinstance(term, Variable))


def _computes(term: Term, finite: frozenset[str]) -> bool:
    """Whether a term calculates with a variable that is not bound outside the cycle."""
    arithmetic = any(isinstance(node, Arithmetic) for node in walk(term))
    return arithmetic and any(each.name not in finite for each in variables(term))
