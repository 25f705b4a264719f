"""Which ops an audit is about: a rule, a rule file, an op, or all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from kina.audit.generators import MAKERS, instances
from kina.audit.op_rule import derive
from kina.diagnostics.finding import SetupError
from kina.rulebook.base import RuleBase, clauses, rule_name
from kina.rulebook.evaluate import op_cone

#: Instances of each op that are enough to see which rules speak of it.
_FEW = 6


def chosen_ops(names: Sequence[str], base: RuleBase, solver: str = "auto") -> tuple[str, ...]:
    """The ops that `names` are about, in the order of the op table; all ops if there are none.

    A name is an op, a rule, a rule file or `all`. Rules that are not about one op, such as those of the plan,
    are about all of them. SetupError if there is nothing of that name.
    """
    found: set[str] = set()
    rules: set[str] = set()
    for name in names or ("all",):
        if name == "all":
            found.update(MAKERS)
        elif name in MAKERS:
            found.add(name)
        else:
            rules |= _rules(name, base)
    if rules - _about_ops(base):
        found.update(MAKERS)
    elif rules:
        found |= _spoken_of(rules, base, solver)
    return tuple(kind for kind in MAKERS if kind in found)


def _rules(name: str, base: RuleBase) -> set[str]:
    """The names of the rule, or of those in the file, called `name`."""
    file = PurePath(name).name
    every = {
        rule_name(clause): PurePath(each.source.name).name for each in base.files for clause in clauses(each)
    }
    found = {rule for rule, place in every.items() if rule and (name in (rule, place) or file == place)}
    if found:
        return found
    import difflib

    known = [*MAKERS, *filter(None, every), *sorted(set(every.values()))]
    near = difflib.get_close_matches(name, known, n=3)
    raise SetupError(
        f"there is no op, no rule and no rule file `{name}`",
        "near it: " + ", ".join(f"`{each}`" for each in near) if near else "",
    )


def _about_ops(base: RuleBase) -> set[str]:
    """The names of the rules that say what one op allows."""
    cone = set(op_cone(base.rulebook))
    return {rule.name for rule in base.rulebook.rules if rule.head.relation in cone}


def _spoken_of(rules: set[str], base: RuleBase, solver: str) -> set[str]:
    """The ops of which one of the rules derives something."""
    made = [(kind, instance) for kind in MAKERS for instance in instances(kind, 0, _FEW)]
    derived = derive([instance for _, instance in made], base.compiled, solver)
    known = base.rulebook.rules
    return {
        kind
        for (kind, _), op in zip(made, derived.ops, strict=True)
        if any(known[firing.rule].name in rules for firing in derived.evaluation.fired(op))
    }
