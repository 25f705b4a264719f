"""`kina why`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from kina.commands.completion import tensor_completion
from kina.commands.options import options_from, program_options, solver_option
from kina.commands.show import style_for
from kina.output import write_stderr, write_stdout
from kina.pipeline import Clock, build, open_source
from kina.progress import progress

if TYPE_CHECKING:
    from kina.explain.answer import Answer
    from kina.explain.inquiry import Inquiry

_EPILOG = """\b
Examples:
  kina why model.kina layer[3].wo.0@model          the proof that dim 0 of it is on the axis
  kina why model.kina wo                           the proofs for all its dims
  kina why model.kina wo.1@model --not             the reason why it is not
  kina why model.kina --collective 2               the second line of the collectives of kina check

\b
Exit codes: 0 the question is answered; 1 its premise does not hold (what is asked about is not so, or
with --not is so), or the program is at fault; 2 there is no such tensor, dim, axis or collective.
"""


@click.command(epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.argument("tensor", metavar="TENSOR[.DIM][@AXIS]", required=False, shell_complete=tensor_completion)
@click.option("--not", "negated", is_flag=True, help="Why the axis is not there.")
@click.option("--collective", metavar="N", type=click.IntRange(1), help="Why data moves there.")
@solver_option
@program_options
@click.option("--proof", type=click.Choice(["short", "full"]), default="short", show_default=True)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--timings", is_flag=True, help="Say how long each stage took.")
@click.option("--width", type=click.IntRange(40, 1000), help="Columns of text; the terminal's by default.")
def why(file: str, tensor: str | None, negated: bool, collective: int | None, **values: Any) -> int:
    """Why a tensor is laid out as it is, why it is not laid out otherwise, or why data moves."""
    if (tensor is None) == (collective is None):
        raise click.UsageError("give either TENSOR[.DIM][@AXIS] or --collective N")
    if collective is not None and negated:
        raise click.UsageError("--not is a question about a TENSOR")
    from kina.explain.ask import ask

    with progress() as say:
        clock = Clock(lambda stage: say(f"{file}: {stage}"))
        options = options_from(values)
        program = build(open_source(file), options, clock)
        inquiry, answers = ask(program, options.solver, tensor, negated, collective, clock.stage)
    _show(file, inquiry, answers, values)
    if values["timings"]:
        spent = ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in clock.spent)
        write_stderr(f"{file}: {spent}\n")
    return 0 if all(answer.holds for answer in answers) else 1


def _show(file: str, inquiry: Inquiry, answers: tuple[Answer, ...], values: dict[str, Any]) -> None:
    from kina.explain.render import answers_json, render_answers

    if values["form"] == "json":
        write_stdout(answers_json(file, answers, inquiry.solver))
        return
    write_stdout(render_answers(answers, style_for(sys.stdout, values["proof"], values["width"])))
