"""Which ops an audit is about: a rule, a rule file, an op, or all."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path, PurePath

from kina.audit.generators import instances, makers
from kina.audit.op_rule import derive
from kina.datalog.rules import Rule
from kina.datalog.syntax import Atom, Text
from kina.diagnostics.finding import SetupError
from kina.frontend.suggest import near_it
from kina.rulebook.base import RuleBase, clauses, rule_name
from kina.rulebook.evaluate import op_cone

#: Instances of each op that are enough to see which rules speak of it.
_FEW = 6


def chosen_ops(names: Sequence[str], base: RuleBase, solver: str = "auto") -> tuple[str, ...]:
    """The ops that `names` are about, in the order of the op table; all ops if there are none.

    A name is an op, a rule, a rule file or `all`. Rules that are not about one op, such as those of the plan,
    are about all of them. SetupError if there is nothing of that name.
    """
    known = makers(base.declared)
    found: set[str] = set()
    rules: set[str] = set()
    for name in names or ("all",):
        if name == "all":
            found.update(known)
        elif name in known:
            found.add(name)
        elif (named := _named(name, base)) is not None:
            found |= named
        else:
            rules |= _rules(name, base)
    if rules - _about_ops(base):
        found.update(known)
    elif rules:
        found |= _spoken_of(rules, base, solver)
    if not found:
        raise SetupError(
            f"no op is there of which {' or '.join(f'`{name}`' for name in names)} says anything",
            "an op of a rule file `ops.dl` is declared in `ops.kina` beside it",
        )
    return tuple(kind for kind in known if kind in found)


def _named(name: str, base: RuleBase) -> set[str] | None:
    """The ops that an added file is about, None if it has clauses that do not say of which op they speak."""
    added = {file.source for file in base.added if Path(file.real) == Path(name).resolve()}
    ours = [rule for rule in base.rulebook.rules if rule.clause.span.source in added]
    kinds = [_kind(rule, base.table) for rule in ours if rule.body]
    if not kinds or None in kinds:
        return None
    return {kind for kind in kinds if kind}


def _kind(rule: Rule, table: Collection[str]) -> str | None:
    """The kind that a premise of a rule asks for, None if none does."""
    for premise in rule.body:
        match premise:
            case Atom(relation="op_kind", arguments=(_, Text(value=kind))) if kind in table:
                return kind
            case _:
                pass
    return None


def _rules(name: str, base: RuleBase) -> set[str]:
    """The names of the rule, or of those in the file, called `name`."""
    file = PurePath(name).name
    every = {
        rule_name(clause): PurePath(each.source.name).name for each in base.files for clause in clauses(each)
    }
    found = {rule for rule, place in every.items() if rule and (name in (rule, place) or file == place)}
    if found:
        return found
    known = [*makers(base.declared), *filter(None, every), *sorted(set(every.values()))]
    raise SetupError(f"there is no op, no rule and no rule file `{name}`", near_it(name, known))


def _about_ops(base: RuleBase) -> set[str]:
    """The names of the rules that say what one op allows."""
    cone = set(op_cone(base.rulebook))
    return {rule.name for rule in base.rulebook.rules if rule.head.relation in cone}


def _spoken_of(rules: set[str], base: RuleBase, solver: str) -> set[str]:
    """The ops of which one of the rules derives something."""
    ops = base.declared
    made = [
        (kind, instance) for kind in makers(ops) for instance in instances(kind, 0, _FEW, declarations=ops)
    ]
    derived = derive([instance for _, instance in made], base.compiled, solver)
    known = base.rulebook.rules
    return {
        kind
        for (kind, _), op in zip(made, derived.ops, strict=True)
        if any(known[firing.rule].name in rules for firing in derived.evaluation.fired(op))
    }
