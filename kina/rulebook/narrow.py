"""Which ops, rules and relations names mean: themselves, or all of a rule file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath

from kina.datalog.rules import Rule, Rulebook
from kina.diagnostics.finding import SetupError
from kina.frontend.suggest import near_it
from kina.rulebook.base import RuleBase
from kina.rulebook.lint_ops import kinds_of
from kina.rulebook.usage import Usage, declared, distinct


def narrowed_ops(base: RuleBase, names: Sequence[str]) -> frozenset[str]:
    """The ops that names mean, a file those that its clauses name; all if there is no name.

    SetupError if one means none.
    """
    found: set[str] = set() if names else set(base.table)
    for name in names:
        files = _files(name, (file.source.name for file in base.files))
        if name in base.table:
            found.add(name)
        elif files:
            found |= kinds_of(base, files)
        else:
            _unknown("op", name, (*base.table, *(PurePath(file.source.name).name for file in base.files)))
    return frozenset(found)


def narrowed_rules(rulebook: Rulebook, names: Sequence[str]) -> tuple[Rule, ...]:
    """The rules with a name that `names` mean: their own, what they derive, or a file.

    SetupError if one means none.
    """
    rules = [rule for rule in distinct(rulebook) if rule.name]
    called = {rule.id: (rule.name, declared(rulebook, rule.head.relation)) for rule in rules}
    if not names:
        return tuple(rules)
    kept: set[int] = set()
    for name in names:
        files = _files(name, (rule.clause.span.file for rule in rules))
        meant = {rule.id for rule in rules if name in called[rule.id] or rule.clause.span.file in files}
        if not meant:
            _unknown("rule", name, [each for pair in called.values() for each in pair])
        kept |= meant
    return tuple(rule for rule in rules if rule.id in kept)


def narrowed_relations(found: Mapping[str, Usage], names: Sequence[str]) -> Mapping[str, Usage]:
    """The relations that names mean: their own, or those that a file declares.

    SetupError if one means none.
    """
    if not names:
        return found
    kept: set[str] = set()
    for name in names:
        files = {PurePath(each).name for each in _files(name, (usage.file for usage in found.values()))}
        meant = {each for each, usage in found.items() if each == name or usage.file in files}
        if not meant:
            _unknown("relation", name, (*found, *(usage.file for usage in found.values())))
        kept |= meant
    return {name: usage for name, usage in found.items() if name in kept}


def _files(name: str, known: Iterable[str]) -> Collection[str]:
    """The rule files of a name: by the path, or the last part of it."""
    if not name.endswith(".dl"):
        return ()
    return {file for file in known if PurePath(file).name == PurePath(name).name}


def becomes(name: str) -> str:
    """The help for a name that programs write and rules do not know; "" for any other."""
    from kina.frontend.form_modules import library
    from kina.frontend.forms import FORMS

    written = name in FORMS or name in library()
    return f"`{name}` becomes ops of other names, which `docs/language.md` lists" if written else ""


def _unknown(what: str, name: str, known: Iterable[str]) -> None:
    help_ = becomes(name) or near_it(name, dict.fromkeys(known))
    raise SetupError(f"there is no {what} and no rule file `{name}`", help_)
