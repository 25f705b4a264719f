"""`kina check`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from kina.commands.options import format_option, options_from, program_options, solver_option
from kina.commands.show import show_findings, style_for
from kina.diagnostics.finding import Finding, SetupError
from kina.output import reason, result_path, write_stderr, write_stdout, write_text
from kina.pipeline import Options, Result, check_file
from kina.progress import progress

_EPILOG = """\b
Examples:
  kina check model.kina
  kina check model.kina --mesh data=4,model=8 --format json
  kina check model.kina --expect model.lock            fails if a layout changed
  kina check model.kina --expect model.lock --accept   writes the lock file
  kina check model.kina --fix 1                        makes the edits of help 1, and checks again
  kina check model.kina --rules rotary.dl              with rules of your own, and the ops of rotary.kina
  kina check - < model.kina
"""


@click.command(epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE…", type=click.Path(allow_dash=True))
@solver_option
@program_options
@click.option(
    "--on-conflict",
    type=click.Choice(["error", "cost"]),
    default="error",
    show_default=True,
    help="What a conflict is: an error, or settled by the cheaper plan and reported.",
)
@format_option("Text puts results on stdout and findings on stderr; the others write all to stdout.")
@click.option(
    "--expect", metavar="LOCK", type=click.Path(), help="Compare with a lock file; fail on a difference."
)
@click.option("--accept", is_flag=True, help="Write the lock file of --expect instead of comparing.")
@click.option(
    "--annotated", metavar="OUT", type=click.Path(), help="Write the program with all layouts annotated."
)
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@click.option("--fix", "help_number", metavar="N", type=click.IntRange(1), help="Make the edits of help N.")
@click.option("--all", "every", is_flag=True, help="Show the values inside forms and library calls too.")
@click.option("--timings", is_flag=True, help="Say how long each stage took.")
@click.option("--proof", type=click.Choice(["short", "full"]), default="short", show_default=True)
@click.option("--width", type=click.IntRange(40, 1000), help="Columns of text; the terminal's by default.")
def check(files: tuple[str, ...], **values: Any) -> int:
    """Deduce the layout of every tensor and every collective, or say what is wrong and why."""
    if len(files) > 1 and (values["expect"] or values["annotated"]):
        raise click.UsageError("--expect and --annotated take one FILE")
    if values["accept"] and not values["expect"]:
        raise click.UsageError("--accept needs --expect LOCK")
    if values["help_number"] and (len(files) > 1 or files[0] == "-"):
        raise click.UsageError("--fix takes one FILE, and not the standard input")
    options = options_from(values)
    results = _check_all(files, options)
    if values["help_number"]:
        from kina.commands.fix import fix

        fix(results[0].findings, values["help_number"], values["width"])
        results = _check_all(files, options)
    if values["expect"] and results[0].ok:
        results[0] = _locked(results[0], values["expect"], values["accept"])
    if values["annotated"] and results[0].ok:
        _annotate(results[0], values["annotated"], values["rules"])
    _show(results, values)
    return 0 if all(result.ok for result in results) else 1


def _check_all(files: Sequence[str], options: Options) -> list[Result]:
    def check_one(name: str) -> Result:
        return check_file(name, options, lambda stage: say(f"{name}: {stage}"))

    with progress() as say:
        return [check_one(name) for name in files]


def _locked(result: Result, lock: str, accept: bool) -> Result:
    """Write the lock file, or add the finding that the check differs from it."""
    from kina.report.lock import compare, lock_text

    assert result.program is not None
    assert result.decisions is not None
    if accept:
        write_text(result_path(lock), lock_text(result.program, result.decisions))
        return result
    try:
        text = Path(lock).read_text(encoding="utf-8")
    except OSError as problem:
        raise SetupError(f"`{lock}` cannot be read: {reason(problem)}", "`--accept` writes it") from problem
    except UnicodeDecodeError as problem:
        raise SetupError(f"`{lock}` is not a lock file", "`--accept` writes one") from problem
    finding = compare(result.program, result.decisions, text, lock)
    return result if finding is None else replace(result, findings=(*result.findings, finding))


def _annotate(result: Result, out: str, rules: Sequence[str]) -> None:
    from kina.additions import additions
    from kina.frontend.form_annotated import annotate

    assert result.source is not None
    assert result.program is not None
    assert result.decisions is not None
    layouts = dict(enumerate(result.decisions.layouts))
    beside = additions(result.source.name, rules).sources
    text = annotate(result.source, result.program, layouts, result.decisions.priorities, beside)
    write_text(Path(out), text)


def _show(results: Sequence[Result], values: dict[str, Any]) -> None:
    findings = [finding for result in results for finding in result.findings]
    form = values["form"]
    if form == "text":
        _show_text(results, findings, values)
        return
    write_stdout(_whole(form, results, findings, values["timings"]))
    if values["timings"] and form != "json":
        write_stderr(_timings(results))


def _whole(form: str, results: Sequence[Result], findings: Sequence[Finding], timings: bool) -> str:
    """All of a report in a format for programs."""
    match form:
        case "json":
            from kina.report.as_json import render_json

            return "".join(render_json(result, timings) for result in results)
        case "sarif":
            from kina.diagnostics.sarif import render_sarif

            return render_sarif(findings)
        case "github":
            from kina.diagnostics.github import render_github

            return render_github(findings)
        case _:
            from kina.diagnostics.concise import render_concise

            return render_concise(findings)


def _show_text(results: Sequence[Result], findings: Sequence[Finding], values: dict[str, Any]) -> None:
    from kina.report.tables import tables

    style = style_for(sys.stdout, width=values["width"])
    done = (tables(result, style, values["every"]) for result in results if result.ok)
    write_stdout("\n".join(table for table in done if table))
    if findings:
        show_findings(findings, values["proof"], values["width"])
    if values["timings"]:
        write_stderr(_timings(results))


def _timings(results: Sequence[Result]) -> str:
    lines = []
    for result in results:
        spent = ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in result.timings)
        lines.append(f"{result.file}: {spent or 'nothing was run'}\n")
    return "".join(lines)
