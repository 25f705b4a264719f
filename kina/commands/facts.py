"""`kina facts`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from kina.commands.options import options_from, program_options
from kina.output import write_folder, write_stdout
from kina.pipeline import fact_files, open_source

_EPILOG = """\b
Example:
  kina facts model.kina -o facts
  souffle -I "$(kina rules path)" -F facts -D out facts/main.dl
"""


@click.command(epilog=_EPILOG)
@click.argument("file", metavar="FILE", type=click.Path(allow_dash=True))
@click.option(
    "-o", "--output", metavar="DIR", required=True, type=click.Path(), help="The folder to write into."
)
@program_options
def facts(file: str, output: str, **values: Any) -> int:
    """Write the facts of a program, the entry file main.dl and added rules, as Soufflé reads them."""
    files = fact_files(open_source(file), options_from(values))
    write_folder(Path(output), files)
    write_stdout(f"wrote {len(files)} files into {output}\n")
    return 0
