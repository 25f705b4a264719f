"""`kina rules list`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kina.commands.options import rules_option
from kina.commands.rules_options import base_of, base_option, quick_solver_option

if TYPE_CHECKING:
    from kina.diagnostics.style import Style
    from kina.rulebook.base import RuleBase

_EPILOG = """\b
Examples:
  kina rules list                       every op with its rule, as an einsum
  kina rules list attributes            what each attribute of each op does to layouts
  kina rules list relations             who makes and who reads each relation
  kina rules list ops --format json
"""


@click.command("list", epilog=_EPILOG)
@click.argument("what", type=click.Choice(["ops", "attributes", "rules", "relations"]), default="ops")
@quick_solver_option
@base_option
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--width", type=click.IntRange(40, 1000), help="Columns of text; the terminal's by default.")
def list_(
    what: str, solver: str, base: str | None, rules: tuple[str, ...], form: str, width: int | None
) -> int:
    """What the rules say of every op; or every attribute, rule or relation.

    Nothing here is kept by hand: the rules are asked about instances of every op.
    """
    from kina.commands.show import style_for
    from kina.output import write_stdout

    chosen = base_of(base, rules)
    style = style_for(sys.stdout, width=width)
    text = _json(chosen, what, solver) if form == "json" else _text(chosen, what, solver, style)
    write_stdout(text)
    return 0


def _text(base: RuleBase, what: str, solver: str, style: Style) -> str:
    from kina.rulebook import listing
    from kina.rulebook.catalogue import catalogue
    from kina.rulebook.usage import usages

    match what:
        case "ops":
            return listing.list_ops(catalogue(base, solver), style)
        case "attributes":
            return listing.list_attributes(catalogue(base, solver), style)
        case "rules":
            return listing.list_rules(base.rulebook, style)
        case _:
            return listing.list_relations(usages(base.rulebook), style)


def _json(base: RuleBase, what: str, solver: str) -> str:
    from kina.rulebook.as_json import op_json, relation_json, render, rule_json
    from kina.rulebook.catalogue import catalogue
    from kina.rulebook.usage import distinct, usages

    rulebook = base.rulebook
    match what:
        case "rules":
            return render(rules=[rule_json(rule, rulebook) for rule in distinct(rulebook) if rule.name])
        case "relations":
            return render(relations=[relation_json(usage) for usage in usages(rulebook).values()])
        case _:
            entries = catalogue(base, solver).entries.values()
            return render(ops=[op_json(entry, rulebook) for entry in entries])
