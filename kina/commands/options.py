"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from kina.pipeline import Options

Command = TypeVar("Command", bound=Callable[..., Any])

#: Sizes are columns of facts, which are 32-bit numbers.
_LARGEST = 2**31 - 1


def _mesh(_: click.Context, __: click.Parameter, value: str | None) -> tuple[tuple[str, int], ...]:
    """`data=4,model=8` as pairs of a name and a size."""
    pairs: dict[str, int] = {}
    for part in value.split(",") if value is not None else ():
        axis, _sign, size = (piece.strip() for piece in part.rpartition("="))
        if not axis or not size.isdecimal():
            raise click.BadParameter(f"`{part}` is not of the form axis=size")
        if axis in pairs:
            raise click.BadParameter(f"mesh axis `{axis}` is given twice")
        if not 1 <= int(size[:20]) <= _LARGEST:
            raise click.BadParameter(
                f"mesh axis `{axis}` has size {size[:20]}, which is not from 1 to {_LARGEST}"
            )
        pairs[axis] = int(size)
    return tuple(pairs.items())


#: The option of every command that reads rules beside those of Kina.
rules_option = click.option(
    "--rules",
    multiple=True,
    metavar="FILE.dl",
    type=click.Path(),
    help="A rule file, or a folder of them, that is added to the rule base. Can be repeated.",
)


def program_options(command: Command) -> Command:
    """Options that choose how a program is checked; `options_from` collects them."""
    for option in reversed(
        (
            click.option(
                "--mesh", metavar="AXIS=N,…", callback=_mesh, help="Sizes in place of those in the file."
            ),
            click.option("--entry", metavar="NAME", help="The function to check; the last one by default."),
            rules_option,
        )
    ):
        command = option(command)
    return command


def solver_option(command: Command) -> Command:
    """`--solver`, the Datalog engine."""
    return click.option(
        "--solver",
        type=click.Choice(["auto", "souffle", "clingo"]),
        default="auto",
        show_default=True,
        help="The Datalog engine; auto takes Soufflé if it is there.",
    )(command)


def conflict_option(command: Command) -> Command:
    """`--on-conflict`, what becomes of a conflict."""
    return click.option(
        "--on-conflict",
        type=click.Choice(["error", "cost"]),
        default="error",
        show_default=True,
        help="What a conflict is: an error, or settled by the cheaper plan and reported.",
    )(command)


def format_option(help_: str) -> Callable[[Command], Command]:
    """`--format`, how findings are written; the value is called `form`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "concise", "json", "sarif", "github"]),
        default="text",
        show_default=True,
        help=help_,
    )


def options_from(values: dict[str, Any]) -> Options:
    """The pipeline's options out of a command's parameters."""
    names = ("solver", "mesh", "entry", "on_conflict", "strict", "rules")
    return Options(**{name: values[name] for name in names if name in values})
