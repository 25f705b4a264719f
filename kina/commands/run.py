"""`kina run`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kina.commands.options import conflict_option, program_options, solver_option
from kina.commands.run_options import place_options, xla_options
from kina.commands.run_prepare import Prepared, prepare
from kina.commands.show import show_findings
from kina.diagnostics.finding import Finding, ProgramError, SetupError
from kina.output import resolved, result_path, write_stdout

if TYPE_CHECKING:
    from kina.run.session import Session, StepReport

_EPILOG = """\b
Examples:
  kina run model.kina --verify
  kina run train.kina --steps 3 --seed 1
  kina run model.mlir --inputs in.npz --outputs out.npz
  kina run model.kina --trace trace.json        for chrome://tracing or Perfetto
  kina run model.kina --rules ops.dl --kernels --verify     functions of packages, compared with bodies
  kina run model.kina --engine xla              on the devices that jax sees
  kina run model.kina --engine xla --coordinator host0:9000 --processes 2 --process 0
"""


@click.command(epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "--devices", type=click.IntRange(1), metavar="N", help="How many devices; the mesh says it too."
)
@click.option("--steps", type=click.IntRange(1), default=1, show_default=True, help="How many steps.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of drawn inputs.")
@click.option("--inputs", metavar="F.npz", type=click.Path(), help="Inputs by name, in place of drawn ones.")
@click.option("--outputs", metavar="F.npz", type=click.Path(), help="Where the last step's results go.")
@click.option("--per-device", is_flag=True, help="Write each device's part as NAME@DEVICE, not assembled.")
@click.option("--verify", is_flag=True, help="Compare with the same program on one device.")
@click.option(
    "--engine",
    type=click.Choice(["sim", "xla"]),
    default="sim",
    show_default=True,
    help="What executes the module.",
)
@place_options
@click.option("--kernels", is_flag=True, help="Compute declared ops by the functions of installed packages.")
@click.option("--trace", metavar="F.json", type=click.Path(), help="Write Chrome trace events.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@solver_option
@program_options
@conflict_option
def run(file: str, **values: Any) -> int:
    """Run a program, or a module that was compiled before, on a simulated mesh or on the devices of XLA."""
    xla_options(values)
    _check_places(values["outputs"], values["trace"])
    with ExitStack() as stack:
        try:
            prepared = prepare(file, values, stack)
            return _carried_out(file, prepared, values)
        except ProgramError as problem:
            return _failed(file, problem.findings, values["form"])


def _check_places(*paths: str | None) -> None:
    """Refuse files that cannot be written before anything is run or printed."""
    for path in paths:
        if path is None:
            continue
        folder = resolved(result_path(path)).parent
        if not os.access(folder, os.W_OK) or Path(path).is_dir():
            raise SetupError(
                f"cannot write `{path}`: it is a folder, or `{folder}` is not one that can be written"
            )


def _carried_out(file: str, prepared: Prepared, values: dict[str, Any]) -> int:
    """Run, write and report; the exit code."""
    from kina.run import report

    session, with_text = prepared.session, values["form"] == "text"
    if with_text:
        write_stdout(report.head(file, session, prepared.estimate))
    _run(session, with_text)
    wrong = [finding for each in session.reports for finding in each.findings]
    found = (*prepared.findings, *wrong)
    _write(session, values)
    if with_text:
        write_stdout(report.account(file, session, prepared.estimate).tail())
        if found:
            show_findings(found)
    else:
        write_stdout(report.as_json(file, session, prepared.estimate, found))
    return 1 if wrong else 0


def _failed(file: str, findings: Sequence[Finding], form: str) -> int:
    """Print findings of a program that was not run to its end."""
    if form == "text":
        show_findings(findings)
        return 1
    import json

    from kina.report.as_json import findings_json

    write_stdout(
        json.dumps({"version": 1, "ok": False, "file": file, "findings": findings_json(findings)}) + "\n"
    )
    return 1


def _run(session: Session, with_text: bool) -> None:
    """All steps; a bar on a terminal, a line for each step that has something to say."""
    from kina.run.report import step_line

    def line(report: StepReport) -> str:
        return step_line(report, session.steps) + "\n"

    if not (session.steps > 1 and sys.stderr.isatty()):
        session.run(lambda report: write_stdout(line(report)) if with_text else None)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("steps"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=session.steps)

        def said(report: StepReport) -> None:
            numbers = "  ".join(f"{name} {value:.6g}" for name, value in report.numbers)
            bar.update(task, advance=1, description=numbers.replace("[", "\\["))
            if with_text:
                write_stdout(line(report))

        session.run(said)


def _write(session: Session, values: dict[str, Any]) -> None:
    """The results of the last step and the trace, where they are asked for."""
    if values["outputs"]:
        from kina.run.outputs import write_outputs

        write_outputs(values["outputs"], session, values["per_device"])
    if values["trace"]:
        import json

        from kina.output import write_text
        from kina.sim.trace import chrome_trace

        write_text(Path(values["trace"]), json.dumps(chrome_trace(session.events)) + "\n")
