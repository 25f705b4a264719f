"""`kina rules path`."""

from __future__ import annotations

import click

from kina.output import write_stdout
from kina.paths import rules_path


@click.command(epilog='\b\nExample:\n  souffle -I "$(kina rules path)" -F facts -D out facts/main.dl\n')
def path() -> int:
    """Print the folder of the rule base."""
    write_stdout(f"{rules_path()}\n")
    return 0
