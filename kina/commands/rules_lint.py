"""`kina rules lint`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kina.commands.completion import file_completion
from kina.commands.options import format_option
from kina.commands.rules_options import base_of, base_option, outside, quick_solver_option
from kina.output import write_stdout

if TYPE_CHECKING:
    from kina.datalog.syntax import RuleFile
    from kina.diagnostics.finding import Finding
    from kina.rulebook.base import RuleBase
    from kina.source import Source

_EPILOG = """\b
Examples:
  kina rules lint                       the rule base, with the tests beside it
  kina rules lint layout.dl --no-tests  one of its files, without its tests
  kina rules lint ours/rotary.dl        a file of your own, with the ops of ours/rotary.kina
  kina rules lint --format github       for the log of a workflow
"""


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, metavar="[FILE…]", shell_complete=file_completion)
@quick_solver_option
@base_option
@click.option("--tests/--no-tests", default=True, show_default=True, help="Run the tests beside the files.")
@format_option("Text goes to stderr; the others to stdout.")
@click.option("--width", type=click.IntRange(40, 1000), help="Columns of text; the terminal's by default.")
def lint(
    files: tuple[str, ...], solver: str, base: str | None, tests: bool, form: str, width: int | None
) -> int:
    """Say what is wrong with rule files beside what keeps them from running. Exit 1 if anything is."""
    from kina.diagnostics.finding import ProgramError
    from kina.progress import progress

    rules = base_of(base)
    with progress() as say:
        say("looking at rules")
        try:
            names, findings = _findings(rules, files, solver, tests)
        except ProgramError as problem:
            names, findings = [*files], problem.findings
    _show(names, findings, form, width)
    return 1 if any(finding.severity != "note" for finding in findings) else 0


def _findings(
    base: RuleBase, files: Sequence[str], solver: str, tests: bool
) -> tuple[list[str], Sequence[Finding]]:
    """The names of the files that were looked at, and what is wrong with them."""
    from kina.rulebook.lint import lint as find

    added = outside(files, base)
    if added:
        from kina.rulebook.declared import with_added

        base = with_added(base, added)
    chosen = _chosen(base, files, added) if files else None
    names = [file.source.name for file in (chosen or base.files)]
    return names, find(base, chosen, solver, _beside(base) if tests else None)


def _chosen(base: RuleBase, files: Sequence[str], added: Sequence[str]) -> list[RuleFile]:
    """The files that are named, in the order of the rule base, and all that were added with them."""
    names = {Path(name).name for name in files if name not in added}
    beside = {file.source.name for file in base.added}
    return [
        file
        for file in base.files
        if file.source.name in beside or file.source.name.rpartition("/")[2] in names
    ]


def _beside(base: RuleBase) -> Callable[[str], Source | None]:
    """Gives the text of the tests beside a rule file of the base, or beside an added one."""
    from kina.source import Source

    added = {file.source.name: Path(file.real) for file in base.added}

    def beside(name: str) -> Source | None:
        path = added.get(name, base.folder / Path(name).name).with_suffix(".test.md")
        test = name.removesuffix(".dl") + ".test.md"
        return Source(test, path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None

    return beside


def _show(names: Sequence[str], findings: Sequence[Finding], form: str, width: int | None) -> None:
    match form:
        case "text":
            from kina.commands.show import show_findings

            if findings:
                show_findings(findings, width=width)
            else:
                files = "1 rule file" if len(names) == 1 else f"{len(names)} rule files"
                write_stdout(f"{files}, nothing to say\n")
        case "json":
            from kina.report.as_json import findings_json
            from kina.rulebook.as_json import render

            write_stdout(render(ok=not findings, files=[*names], findings=findings_json(findings)))
        case "sarif":
            from kina.diagnostics.sarif import render_sarif

            write_stdout(render_sarif(findings))
        case "github":
            from kina.diagnostics.github import render_github

            write_stdout(render_github(findings))
        case _:
            from kina.diagnostics.concise import render_concise

            write_stdout(render_concise(findings))
