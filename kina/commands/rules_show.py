"""`kina rules show`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kina.commands.completion import names_completion
from kina.commands.options import rules_option
from kina.commands.rules_options import (
    base_of,
    base_option,
    known_names,
    quick_solver_option,
)
from kina.output import write_stdout

if TYPE_CHECKING:
    from kina.rulebook.base import RuleBase

_EPILOG = """\b
Examples:
  kina rules show dot_general
  kina rules show contraction.bilinear
  kina rules show factor --format json
"""


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="OP|RULE|RELATION", shell_complete=names_completion)
@quick_solver_option
@base_option
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def show(name: str, solver: str, base: str | None, rules: tuple[str, ...], form: str) -> int:
    """What the rules say of an op, or all that is known of a rule or a relation."""
    chosen = base_of(base, rules)
    pages = _json(chosen, name, solver) if form == "json" else _text(chosen, name, solver)
    if not pages:
        raise _unknown(name, chosen)
    write_stdout(pages)
    return 0


def _text(base: RuleBase, name: str, solver: str) -> str:
    """The pages of all that is called `name`, empty if nothing is."""
    from kina.report.rule_page import rule_page
    from kina.rulebook.catalogue import catalogue
    from kina.rulebook.pages import op_page, relation_page, rule_uses
    from kina.rulebook.usage import usages

    pages = []
    text = rule_page(name, base.files)
    if text is not None:
        pages.append(f"{text}\n{rule_uses(name, catalogue(base, solver), base.rulebook)}")
    else:
        entry = catalogue(base, solver).entries.get(name)
        usage = usages(base.rulebook).get(name)
        pages += [op_page(entry, base.rulebook)] if entry else []
        pages += [relation_page(usage)] if usage else []
    return "\n".join(pages)


def _json(base: RuleBase, name: str, solver: str) -> str:
    from kina.rulebook.as_json import op_json, relation_json, render, rule_json
    from kina.rulebook.catalogue import catalogue
    from kina.rulebook.usage import distinct, usages

    rules = [rule for rule in distinct(base.rulebook) if rule.name == name]
    usage = usages(base.rulebook).get(name)
    entry = None if rules else catalogue(base, solver).entries.get(name)
    if not (rules or usage or entry):
        return ""
    return render(
        op=op_json(entry, base.rulebook) if entry else None,
        rules=[rule_json(rule, base.rulebook) for rule in rules],
        relation=relation_json(usage) if usage else None,
    )


def _unknown(name: str, base: RuleBase) -> Exception:
    from kina.diagnostics.finding import SetupError
    from kina.frontend.suggest import near_it
    from kina.rulebook.narrow import becomes

    help_ = becomes(name) or near_it(name, known_names(base)) or "`--rules FILE` adds a file of your own"
    return SetupError(f"there is no op, no rule and no relation `{name}`", help_)
