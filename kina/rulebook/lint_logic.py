"""Clauses that change nothing: what is never read, what can never hold, what another clause says already."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from kina.datalog.rules import Rule, Rulebook
from kina.datalog.syntax import (
    Aggregate,
    Arithmetic,
    Atom,
    Comparison,
    Negation,
    Number,
    Premise,
    Term,
    Text,
    Variable,
    Wildcard,
)
from kina.diagnostics.finding import Finding, Label
from kina.frontend.ops import OpSpec
from kina.rulebook.base import ATTRIBUTE_RELATIONS, OP_RELATIONS
from kina.rulebook.evaluate import ATTRIBUTE_INPUTS
from kina.rulebook.lint_text import warning
from kina.rulebook.usage import Usage, declared, distinct
from kina.source import Span

Constant = str | int

#: Pairs of clauses that are compared, and ways that are tried for one: files that take more are not written
#: by people, and are not looked through for repetitions.
_MOST_TRIES, _MOST_WAYS = 200_000, 2_000


def dead_clauses(rulebook: Rulebook, table: Mapping[str, OpSpec]) -> frozenset[Span]:
    """The clauses that can never hold."""
    return frozenset(span for span, _, _ in _dead(rulebook, table))


def lint_logic(
    rulebook: Rulebook, found: Mapping[str, Usage], table: Mapping[str, OpSpec]
) -> Iterator[Finding]:
    """Every relation that nothing reads (K848) or that is an input without an example (K843), clause that
    cannot hold (K849), and clause that adds nothing to another (K850)."""
    yield from _unread(found)
    for _, message, at in _dead(rulebook, table):
        yield warning("K849", message, at)
    yield from _repeated(rulebook)


def _unread(found: Mapping[str, Usage]) -> Iterator[Finding]:
    """Kina reads outputs and what the rules of an op say; inputs are there for rules to come."""
    for usage in found.values():
        if usage.relation.is_input and "Example:" not in usage.relation.doc:
            yield warning("K843", f"the input relation `{usage.name}` has no `Example:`", usage.relation.span)
        relation = usage.relation
        read = usage.readers or relation.is_output or relation.is_input
        if not read and usage.name not in {*OP_RELATIONS, *ATTRIBUTE_RELATIONS}:
            yield warning("K848", f"nothing reads `{usage.name}`", relation.span)


def _dead(rulebook: Rulebook, table: Mapping[str, OpSpec]) -> Iterator[tuple[Span, str, Span]]:
    """Clauses with a premise that no fact meets: of a relation that nothing makes, or with unknown words."""
    makers: dict[str, list[Rule]] = {}
    for rule in rulebook.rules:
        makers.setdefault(rule.head.relation, []).append(rule)
    empty = _empty(rulebook, makers)
    tables = {name: rules for name, rules in makers.items() if not any(rule.body for rule in rules)}
    for rule in distinct(rulebook):
        for premise in rule.body:
            if isinstance(premise, Atom):
                why = _unheard(premise, table) or _never(rulebook, premise, empty, tables)
                if why:
                    yield rule.clause.span, f"{_called(rule)} never holds: {why}", premise.span


def _empty(rulebook: Rulebook, makers: Mapping[str, Sequence[Rule]]) -> frozenset[str]:
    """The relations that have no tuples in any program, as nothing that could be there makes them."""
    filled = {name for name, relation in rulebook.relations.items() if relation.is_input}
    before = -1
    while len(filled) > before:
        before = len(filled)
        for name, rules in makers.items():
            if any(_can_hold(rule, filled) for rule in rules):
                filled.add(name)
    return frozenset(rulebook.relations) - filled


def _can_hold(rule: Rule, filled: Collection[str]) -> bool:
    return all(premise.relation in filled for premise in rule.body if isinstance(premise, Atom))


def _never(
    rulebook: Rulebook, atom: Atom, empty: Collection[str], tables: Mapping[str, Sequence[Rule]]
) -> str:
    """Why no tuple meets an atom, "" if one can."""
    if atom.relation in empty:
        return f"nothing makes `{declared(rulebook, atom.relation)}`"
    facts = tables.get(atom.relation)
    if facts and not any(_agree(atom, fact.head) for fact in facts):
        return f"no fact of `{declared(rulebook, atom.relation)}` is `{atom.span.text}`"
    return ""


def _unheard(atom: Atom, table: Mapping[str, OpSpec]) -> str:
    """Which word of an atom no op has, "" if there is none."""
    match atom:
        case Atom(relation="op_kind", arguments=(_, Text(value=kind))) if kind not in table:
            return f"no op is a `{kind}`"
        case Atom(relation=relation, arguments=(_, Text(value=name), *_)) if relation in ATTRIBUTE_INPUTS:
            if not any(name in spec.by_name for spec in table.values()):
                return f"no op has an attribute `{name}`"
        case _:
            pass
    return ""


def _agree(atom: Atom, fact: Atom) -> bool:
    """Whether the constants of an atom are those of a fact."""
    return all(
        constant is None or value is None or constant == value
        for constant, value in zip(
            map(_constant, atom.arguments), map(_constant, fact.arguments), strict=True
        )
    )


def _constant(term: Term) -> Constant | None:
    match term:
        case Number(value=number):
            return number
        case Text(value=text):
            return text
        case _:
            return None


def _called(rule: Rule) -> str:
    return f"`{rule.name}`" if rule.name else f"a clause of `{rule.head.relation}`"


def _repeated(rulebook: Rulebook) -> Iterator[Finding]:
    """Clauses that hold only where another of the same relation does."""
    heads: dict[str, list[Rule]] = {}
    said: set[tuple[str, int]] = set()
    tries = 0
    for rule in rulebook.rules:
        place = rule.clause.span.file, rule.clause.span.start
        for other in heads.setdefault(rule.head.relation, []) if rule.body else ():
            tries += 1
            if place in said or tries > _MOST_TRIES:
                continue
            if covers(other, rule):
                said.add(place)
                yield _repeats(rule, other)
            elif covers(rule, other) and (other.clause.span.file, other.clause.span.start) not in said:
                said.add((other.clause.span.file, other.clause.span.start))
                yield _repeats(other, rule)
        if rule.body:
            heads[rule.head.relation].append(rule)
    yield from _repeated_facts(rulebook)


def _repeated_facts(rulebook: Rulebook) -> Iterator[Finding]:
    first: dict[tuple[str, ...], Rule] = {}
    for rule in distinct(rulebook):
        if not rule.body:
            key = (rule.head.relation, *map(_key, rule.head.arguments))
            if key in first:
                yield _repeats(rule, first[key])
            first.setdefault(key, rule)


def _repeats(rule: Rule, other: Rule) -> Finding:
    alike = covers(rule, other)
    what = "says the same as" if alike else "derives nothing that is not derived by"
    label = Label(other.head.span, "this clause")
    return warning("K850", f"{_called(rule)} {what} {_called(other)}", rule.head.span, labels=(label,))


def covers(general: Rule, special: Rule) -> bool:
    """Whether the clause `general` derives all that `special` does: its premises, with terms for its
    variables, are among those of the other, and its head becomes the other's."""
    bound = _match_atoms(general.head, special.head, {})
    if bound is None:
        return False
    stack = [(0, bound)]
    ways = 0
    while stack and ways < _MOST_WAYS:
        index, bindings = stack.pop()
        if index == len(general.body):
            return True
        ways += 1
        for premise in special.body:
            after = _match(general.body[index], premise, bindings)
            if after is not None:
                stack.append((index + 1, after))
    return False


_Bindings = dict[str, str]


def _match(general: Premise, special: Premise, bindings: _Bindings) -> _Bindings | None:
    match general, special:
        case Atom(), Atom():
            return _match_atoms(general, special, bindings)
        case Negation(atom=left), Negation(atom=right):
            # Here a `_` asks for more than a name does.
            blanks = [isinstance(term, Wildcard) for term in left.arguments]
            alike = blanks == [isinstance(term, Wildcard) for term in right.arguments]
            return _match_atoms(left, right, bindings) if alike else None
        case Comparison(), Comparison() if general.operator == special.operator:
            return _match_terms((general.left, general.right), (special.left, special.right), bindings)
        case _:
            return None


def _match_atoms(general: Atom, special: Atom, bindings: _Bindings) -> _Bindings | None:
    if general.relation != special.relation:
        return None
    return _match_terms(general.arguments, special.arguments, bindings)


def _match_terms(general: Sequence[Term], special: Sequence[Term], bindings: _Bindings) -> _Bindings | None:
    found = dict(bindings)
    for left, right in zip(general, special, strict=True):
        match left:
            case Wildcard():
                continue
            case Variable(name=name):
                if found.setdefault(name, _key(right)) != _key(right) or isinstance(right, Wildcard):
                    return None
            case Arithmetic() | Aggregate():
                if not _same(left, right, found):
                    return None
            case _:
                if _key(left) != _key(right):
                    return None
    return found


def _same(general: Term, special: Term, bindings: _Bindings) -> bool:
    """Whether a calculated term becomes the other one; of aggregates only those of one text do."""
    match general, special:
        case Arithmetic(), Arithmetic() if general.operator == special.operator:
            return _same(general.left, special.left, bindings) and _same(
                general.right, special.right, bindings
            )
        case Variable(name=name), _:
            return bindings.setdefault(name, _key(special)) == _key(special)
        case _:
            return _key(general) == _key(special)


def _key(term: Term) -> str:
    """A term as text; the same for equal terms."""
    return " ".join(term.span.text.split())
