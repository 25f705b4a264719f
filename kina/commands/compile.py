"""`kina compile`."""

from __future__ import annotations

from typing import Any

import click

from kina.commands.options import conflict_option, options_from, program_options, solver_option
from kina.commands.show import show_findings
from kina.output import result_path, write_stdout, write_text
from kina.pipeline import check_file
from kina.progress import progress

_EPILOG = """\b
Example:
  kina compile model.kina -o model.mlir
  kina run model.mlir
"""


@click.command(epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    required=True,
    type=click.Path(allow_dash=True),
    help="The file to write.",
)
@solver_option
@program_options
@conflict_option
@click.option("--strict", is_flag=True, help="Warnings are errors.")
def compile(file: str, output: str, **values: Any) -> int:  # noqa: A001
    """Write the program of each device as one StableHLO module with collectives."""
    with progress() as say:
        result = check_file(file, options_from(values), lambda stage: say(f"{file}: {stage}"))
        if not result.ok:
            show_findings(result.findings)
            return 1
        assert result.program is not None
        assert result.decisions is not None
        from kina.mlir.emit import emit

        say(f"{file}: emit")
        text = emit(result.program, result.decisions)
    if output == "-":
        write_stdout(text)
    else:
        write_text(result_path(output), text)
    if result.findings:
        show_findings(result.findings)
    return 0
