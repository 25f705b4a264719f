"""`kina rules diff`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kina.commands.options import rules_option
from kina.commands.rules_options import quick_solver_option
from kina.output import write_stdout

if TYPE_CHECKING:
    from kina.rulebook.diff import Conditions, Diff, Say
    from kina.rulebook.sides import Side

_EPILOG = """\b
Examples:
  kina rules diff main                          what the working tree changes
  kina rules diff v1.2 HEAD --format markdown   as a comment for a pull request
  kina rules diff main --fail-on incorrect,missing,bytes+5%
  kina rules diff old/rules new/rules --programs models/
  kina rules diff main --rules ops/rotary.dl    a rule file of your own, as it was and as it is
  kina rules diff old/rotary.dl new/rotary.dl   added to kina's rules

\b
BASE and HEAD are git revisions of this repository, folders with a `base.dl`, or rule files and folders of
such files that are added to kina's own rules. Nothing of them is run: the rules are read as data by this
kina, and its programs are those of the working tree. --rules adds files to both, as a revision has them.
--fail-on takes incorrect and missing (new ones, by the audit of the ops that changed), lost (a placement),
errors (in a program that had fewer), and bytes+N% (moved by a device, in any program).
"""

#: Programs are looked for here unless they are named.
_FOLDERS = ("examples", "tests/cases")
#: More ops than this take longer than a person waits.
_MOST_OPS = 1500


@click.command(epilog=_EPILOG)
@click.argument("base")
@click.argument("head", required=False)
@click.option(
    "--programs",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="A program or a folder of them, in place of examples/ and tests/cases/; may be repeated.",
)
@click.option("--all", "every", is_flag=True, help=f"Plan programs of more than {_MOST_OPS:,} ops too.")
@click.option("--audit", is_flag=True, help="Audit the ops that changed under both.")
@click.option("--fail-on", "conditions", metavar="CONDITION,…", default="", help="Exit 1 if one is met.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the audit.")
@click.option("--jobs", type=click.IntRange(1), help="Processes of the audit; one for each core by default.")
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "markdown"]), default="text", show_default=True
)
@rules_option
@quick_solver_option
@click.option("--width", type=click.IntRange(40, 1000), help="Columns of text; the terminal's by default.")
def diff(base: str, head: str | None, conditions: str, **values: Any) -> int:
    """Say what a change of rules does: placements of each op, and layouts, bytes and findings of programs."""
    from kina.paths import rules_path
    from kina.progress import progress
    from kina.rulebook.diff import failures
    from kina.rulebook.sides import sides

    asked = _conditions(conditions)
    with progress() as say, sides(base, head, rules_path(), values["rules"]) as pair:
        found = _found(pair, asked, values, say)
    failed = failures(found, asked)
    write_stdout(_shown(found, failed, values["form"], values["width"]))
    return 1 if failed else 0


def _conditions(text: str) -> Conditions:
    from kina.rulebook.diff import conditions

    try:
        return conditions(text)
    except ValueError as problem:
        raise click.BadParameter(
            f"`{problem}` is none of incorrect, missing, lost, errors and bytes+N%", param_hint="--fail-on"
        ) from None


def _found(pair: tuple[Side, Side], asked: Conditions, values: dict[str, Any], say: Say) -> Diff:
    from kina.rulebook.diff import diff as compare
    from kina.rulebook.diff import with_audit
    from kina.rulebook.diff_programs import programs_in

    folders = values["programs"] or [each for each in _FOLDERS if Path(each).is_dir()]
    most = None if values["every"] else _MOST_OPS
    found = compare(*pair, programs_in(folders), most, values["solver"], say)
    if not (asked.audit or values["audit"]):
        return found
    jobs = values["jobs"] or len(os.sched_getaffinity(0))
    return with_audit(found, *pair, values["seed"], values["solver"], jobs, say)


def _shown(found: Diff, failed: tuple[str, ...], form: str, width: int | None) -> str:
    match form:
        case "json":
            from kina.rulebook.diff_text import diff_json

            return diff_json(found, failed)
        case "markdown":
            from kina.rulebook.diff_markdown import diff_markdown

            return diff_markdown(found, failed)
        case _:
            from kina.commands.show import style_for
            from kina.rulebook.diff_text import diff_text

            return diff_text(found, failed, style_for(sys.stdout, width=width))
