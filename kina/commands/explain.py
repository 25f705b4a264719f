"""`kina explain`."""

from __future__ import annotations

import click

from kina.commands.completion import topic_completion
from kina.commands.options import rules_option
from kina.diagnostics.finding import SetupError
from kina.diagnostics.pages import codes, page
from kina.output import write_stdout

_EPILOG = """\b
Examples:
  kina explain K201
  kina explain elementwise.same-place
  kina explain rotary.heads --rules rotary.dl
"""


@click.command(epilog=_EPILOG)
@click.argument("topic", metavar="CODE|RULE", shell_complete=topic_completion)
@rules_option
def explain(topic: str, rules: tuple[str, ...]) -> int:
    """Print the page of an error code or of a rule."""
    write_stdout(_page(topic, rules))
    return 0


def _page(topic: str, rules: tuple[str, ...]) -> str:
    """The text about a code or a rule. Raises SetupError, naming what is near, if there is none."""
    known = codes()
    if topic.upper() in known:
        return page(topic.upper()).text
    from kina.additions import additions
    from kina.frontend.suggest import near_it
    from kina.report.rule_page import rule_names, rule_page

    added = tuple(file.source for file in additions("", rules).rules)
    found = rule_page(topic, added=added)
    if found is not None:
        return found
    help_ = near_it(topic, (*known, *rule_names(added)))
    help_ = help_ or f"`kina rules show {topic}` prints what is known of an op or a relation of that name"
    raise SetupError(f"there is no error code and no rule `{topic}`", help_)
