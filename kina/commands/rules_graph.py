"""`kina rules graph`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kina.commands.completion import relation_completion
from kina.commands.options import rules_option
from kina.commands.rules_options import base_of, base_option, named_files
from kina.output import write_stdout

if TYPE_CHECKING:
    from kina.datalog.rules import Rulebook

_EPILOG = """\b
Examples:
  kina rules graph -o rules.html             every relation, and below it what each says
  kina rules graph layout.dl -o layout.svg   the relations of a file, and those that touch them
  kina rules graph factor --depth 1 > factor.svg
  kina rules graph ours/rotary.dl -o ours.svg  a file of your own; also by --rules
"""


@click.command(epilog=_EPILOG)
@click.argument("about", metavar="[FILE|RELATION]", default="", shell_complete=relation_completion)
@click.option(
    "-o", "--output", metavar="FILE.svg|.html", type=click.Path(dir_okay=False), help="Where to write."
)
@click.option(
    "--depth",
    type=click.IntRange(0, 100),
    default=2,
    show_default=True,
    help="Steps from a RELATION, each way.",
)
@click.option("--link", default="", metavar="URL", help="What to put before the places in an SVG.")
@base_option
@rules_option
def graph(
    about: str, output: str | None, depth: int, link: str, base: str | None, rules: tuple[str, ...]
) -> int:
    """Draw which relation rests on which, grouped by files, as SVG or as an HTML page."""
    from kina.output import write_text

    if output is not None and Path(output).suffix.lower() not in (".svg", ".html"):
        raise click.UsageError("--output is a file whose name ends in .svg or .html")
    html = output is not None and output.lower().endswith(".html")
    chosen = base_of(base, (*rules, *named_files([about], base_of(base))))
    text = _drawn(chosen.rulebook, about, depth, html, link)
    if output is None:
        write_stdout(text)
    else:
        write_text(Path(output), text)
    return 0


def _drawn(rulebook: Rulebook, about: str, depth: int, html: bool, address: str) -> str:
    from kina.diagnostics.finding import SetupError
    from kina.frontend.suggest import near_it
    from kina.rulebook.graph import graph_of
    from kina.rulebook.svg import html_text, svg_text
    from kina.rulebook.usage import usages

    found = usages(rulebook)
    try:
        drawn = graph_of(rulebook, found, about, depth)
    except KeyError:
        known = (*found, *(usage.file for usage in found.values()))
        raise SetupError(f"there is no rule file and no relation `{about}`", near_it(about, known)) from None
    if html:
        return html_text(drawn, f"Kina's rules: {about}" if about else "Kina's rules")
    return svg_text(drawn, lambda usage: address + usage.relation.place.replace(":", "#L"))
