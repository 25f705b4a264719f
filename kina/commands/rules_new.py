"""`kina rules new`."""

from __future__ import annotations

from pathlib import Path

import click

from kina.diagnostics.finding import SetupError
from kina.output import write_stdout, write_text

_EPILOG = """\b
Examples:
  kina rules new scores "(b,s,h,e),(b,t,h,e)->(b,h,s,t)"
  kina rules new row_sums "(i,j)->(i)" -o rules

\b
It writes three files: OP.kina declares the op and says by `einsum` what it computes, OP.dl has its rules, and
OP.test.md tests of these. Change them into what your op is, then ask `kina rules lint OP.dl`,
`kina rules audit OP.dl` and `kina check PROGRAM --rules OP.dl`.
"""


@click.command(epilog=_EPILOG)
@click.argument("op", metavar="OP")
@click.argument("spec", metavar="SPEC")
@click.option(
    "-o", "--output", metavar="DIR", default=".", type=click.Path(), help="The folder to write into."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
def new(op: str, spec: str, output: str, force: bool) -> int:
    """Write a first version of an op, of its rules and of their tests, from its dims."""
    from kina.rulebook.new_rule import new_rule, read_spec

    files = new_rule(op, read_spec(spec))
    if not output:
        raise SetupError("`--output` is empty", "it names the folder to write into; `.` is this one")
    folder = Path(output)
    try:
        there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
        if there and not force:
            listed = ", ".join(f"`{folder / name}`" for name in there)
            raise SetupError(f"{listed} would be written over", "`--force` writes over it")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        said = (fault.strerror or str(fault)).lower()
        raise SetupError(f"`{op}` cannot be written into the folder `{folder}`: {said}") from None
    for name, text in files.items():
        write_text(folder / name, text)
    write_stdout("".join(f"wrote {folder / name}\n" for name in files))
    return 0
