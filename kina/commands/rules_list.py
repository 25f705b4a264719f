"""`kina rules list`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kina.commands.completion import names_completion
from kina.commands.options import rules_option
from kina.commands.rules_options import (
    base_of,
    base_option,
    named_files,
    quick_solver_option,
)
from kina.diagnostics.finding import SetupError

if TYPE_CHECKING:
    from kina.diagnostics.style import Style
    from kina.rulebook.base import RuleBase
    from kina.rulebook.catalogue import OpEntry

_EPILOG = """\b
Examples:
  kina rules list                       every op with its rule, as an einsum
  kina rules list dot_general slice     some of them
  kina rules list ours/rotary.dl        those that a rule file of your own is about; also by --rules
  kina rules list attributes slice      what each attribute of an op does to layouts
  kina rules list rules contraction.dl  the rules of a file
  kina rules list relations             who makes and who reads each relation
  kina rules list ops --format json
"""

#: What can be listed; ops where it is not said.
_WHAT = ("ops", "attributes", "rules", "relations")


@click.command("list", epilog=_EPILOG)
@click.argument(
    "names", nargs=-1, metavar="[ops|attributes|rules|relations] [NAME…]", shell_complete=names_completion
)
@quick_solver_option
@base_option
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--width", type=click.IntRange(40, 1000), help="Columns of text; the terminal's by default.")
def list_(
    names: tuple[str, ...],
    solver: str,
    base: str | None,
    rules: tuple[str, ...],
    form: str,
    width: int | None,
) -> int:
    """What the rules say of every op; or every attribute, rule or relation.

    Nothing here is kept by hand: the rules are asked about instances of every op. NAME is an op, a rule or a
    relation, of which it tells alone, or a rule file, of all that it is about.
    """
    from kina.commands.show import style_for
    from kina.output import write_stdout

    what, names = (names[0], names[1:]) if names[:1] and names[0] in _WHAT else ("ops", names)
    chosen = base_of(base, (*rules, *named_files(names, base_of(base))))
    if form == "json":
        write_stdout(_json(chosen, what, names, solver))
    else:
        write_stdout(_text(chosen, what, names, solver, style_for(sys.stdout, width=width)))
    return 0


def _text(base: RuleBase, what: str, names: Sequence[str], solver: str, style: Style) -> str:
    from kina.rulebook import listing, narrow
    from kina.rulebook.usage import usages

    match what:
        case "ops":
            return listing.list_ops(_entries(base, names, solver), style)
        case "attributes":
            return listing.list_attributes(_entries(base, names, solver), style)
        case "rules":
            return listing.list_rules(narrow.narrowed_rules(base.rulebook, names), base.rulebook, style)
        case _:
            return listing.list_relations(narrow.narrowed_relations(usages(base.rulebook), names), style)


def _entries(base: RuleBase, names: Sequence[str], solver: str) -> tuple[OpEntry, ...]:
    """The ops that are meant; those of which no instance could be made are left out if all are."""
    from kina.rulebook.catalogue import catalogue
    from kina.rulebook.narrow import narrowed_ops

    kinds = narrowed_ops(base, names)
    entries = catalogue(base, solver).entries
    for name in names:
        if name in kinds and name not in entries:
            raise SetupError(f"no instance of `{name}` could be made, so the rules cannot be asked about it")
    return tuple(entry for kind, entry in entries.items() if kind in kinds)


def _json(base: RuleBase, what: str, names: Sequence[str], solver: str) -> str:
    from kina.rulebook.as_json import op_json, relation_json, render, rule_json
    from kina.rulebook.narrow import narrowed_relations, narrowed_rules
    from kina.rulebook.usage import usages

    rulebook = base.rulebook
    match what:
        case "rules":
            return render(rules=[rule_json(rule, rulebook) for rule in narrowed_rules(rulebook, names)])
        case "relations":
            found = narrowed_relations(usages(rulebook), names)
            return render(relations=[relation_json(usage) for usage in found.values()])
        case _:
            return render(ops=[op_json(entry, rulebook) for entry in _entries(base, names, solver)])
