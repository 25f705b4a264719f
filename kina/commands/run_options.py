"""Options of `kina run` that say where XLA runs a module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from kina.run.xla import XlaOptions

Command = TypeVar("Command", bound=Callable[..., Any])

#: Options that only `--engine xla` has, by the name of their value.
_NAMES = {
    "platform": "--platform",
    "coordinator": "--coordinator",
    "processes": "--processes",
    "process": "--process",
}


def place_options(command: Command) -> Command:
    """`--platform`, and the three options by which several processes share a mesh."""
    for option in reversed(
        (
            click.option(
                "--platform",
                type=click.Choice(["auto", "cpu", "gpu", "tpu"]),
                help="The devices of --engine xla; auto, the default, is what jax takes by itself.",
            ),
            click.option(
                "--coordinator",
                metavar="HOST:PORT",
                help="Where the processes that share a mesh meet: an address of process 0, or auto.",
            ),
            click.option(
                "--processes", type=click.IntRange(1), metavar="P", help="How many processes share the mesh."
            ),
            click.option(
                "--process", type=click.IntRange(0), metavar="I", help="The number of this process, from 0."
            ),
        )
    ):
        command = option(command)
    return command


def xla_options(values: dict[str, Any]) -> XlaOptions | None:
    """What the options say of XLA, None for the simulator. UsageError if they contradict each other."""
    given = [option for name, option in _NAMES.items() if values[name] is not None]
    if values["engine"] == "sim":
        if given:
            raise click.UsageError(f"{given[0]} needs --engine xla")
        return None
    if values["kernels"]:
        raise click.UsageError("--kernels is about the simulated mesh, not about --engine xla")
    if values["trace"]:
        raise click.UsageError("--trace is about the simulated mesh, not about --engine xla")
    coordinator, processes, process = (values[name] for name in ("coordinator", "processes", "process"))
    if coordinator is None and (processes is not None or process is not None):
        raise click.UsageError("--processes and --process need --coordinator")
    if coordinator is not None and coordinator != "auto":
        _check_place(coordinator, processes, process)
    from kina.run.xla import XlaOptions

    return XlaOptions(
        values["platform"] or "auto", coordinator, processes, process, alike=tuple(_alike(values))
    )


def _alike(values: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """The options that must be the same in every process that shares the mesh, and how a process has them."""
    for name in ("platform", "steps", "seed"):
        shown = values[name] if values[name] is not None else "auto"
        yield name, "was given", f"`--{name} {shown}`"
    # what a file is called is for each process to say
    for name in ("inputs", "verify"):
        yield name, "was given", f"`--{name}`" if values[name] else f"no `--{name}`"


def _check_place(coordinator: str, processes: int | None, process: int | None) -> None:
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port[:6]) < 65536:
        raise click.UsageError(f"--coordinator `{coordinator}` is neither HOST:PORT nor auto")
    if processes is None or process is None:
        raise click.UsageError("--coordinator HOST:PORT needs --processes and --process")
    if process >= processes:
        raise click.UsageError(f"--process {process} is not below --processes {processes}")
