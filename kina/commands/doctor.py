"""`kina doctor`."""

from __future__ import annotations

import click

from kina.output import write_stderr, write_stdout


@click.command()
def doctor() -> int:
    """Say which engines are found, their versions, what is missing and how to get it."""
    from kina.doctor import examine, report

    findings = examine()
    healthy = all(finding.ok for finding in findings if finding.required)
    (write_stdout if healthy else write_stderr)(report(findings))
    return 0 if healthy else 2
