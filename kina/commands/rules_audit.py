"""`kina rules audit`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from kina.commands.completion import names_completion
from kina.commands.options import rules_option, solver_option
from kina.commands.rules_options import base_of, base_option, outside
from kina.commands.show import show_findings, style_for
from kina.output import write_stdout
from kina.progress import progress

if TYPE_CHECKING:
    from kina.audit.outcome import OpReport
    from kina.diagnostics.finding import Finding
    from kina.rulebook.base import RuleBase

_EPILOG = """\b
Examples:
  kina rules audit all
  kina rules audit dot_general
  kina rules audit layout.slice-pass
  kina rules audit rules/contraction.dl --seed 3
  kina rules audit rotary.dl                       rules of your own, for the ops of rotary.kina
  kina rules audit all --base ../branch/rules      another rule base than kina's own
  kina rules audit all --quick                     a third of the instances, in a third of the time

\b
Exit codes: 0 nothing is wrong with what the rules allow, plan and claim; 1 something is, or a rule file is at
fault; 2 there is nothing of that name, or nothing to audit in it.
"""


@click.command(epilog=_EPILOG)
@click.argument("names", metavar="[RULE|FILE|OP|all]...", nargs=-1, shell_complete=names_completion)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of what is drawn.")
@click.option("--quick", is_flag=True, help="Look at fewer instances.")
@click.option("--jobs", type=click.IntRange(1), help="How many processes; one for each core by default.")
@base_option
@rules_option
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@solver_option
def audit(
    names: tuple[str, ...],
    seed: int,
    quick: bool,
    jobs: int | None,
    base: str | None,
    rules: tuple[str, ...],
    form: str,
    solver: str,
) -> int:
    """Hold rules against what the ops compute: wrong placements and plans, and missing placements."""
    from kina.audit.findings import findings
    from kina.audit.usage import never_fired

    files = outside([name for name in names if name.endswith(".dl")], base_of(base))
    chosen = base_of(base, tuple(dict.fromkeys([*rules, *files])))
    reports = _reports(names, chosen, seed, solver, jobs or len(os.sched_getaffinity(0)), quick)
    found = findings(reports, chosen)
    _show(reports, found, never_fired(reports, chosen), seed, form)
    return 1 if any(finding.severity == "error" for finding in found) else 0


def _reports(
    names: Sequence[str], rules: RuleBase, seed: int, solver: str, jobs: int, quick: bool
) -> tuple[OpReport, ...]:
    """Audit the ops that the names are about, with progress."""
    from kina.audit.choose import chosen_ops
    from kina.audit.workers import audit_ops

    with progress() as say:
        say("which ops the rules speak of")
        kinds = chosen_ops(names, rules, solver)
        done: list[str] = []

        def watch(kind: str) -> None:
            done.append(kind)
            say(f"{len(done)} of {len(kinds)} ops audited, the last {kind}")

        say(f"0 of {len(kinds)} ops audited")
        return audit_ops(kinds, rules, seed, solver, jobs, watch, quick)


def _show(
    reports: Sequence[OpReport], found: Sequence[Finding], unfired: Sequence[str], seed: int, form: str
) -> None:
    if form == "json":
        from kina.audit.outcome import to_json
        from kina.report.as_json import findings_json

        ok = not any(finding.severity == "error" for finding in found)
        whole = {"version": 1, "ok": ok, "seed": seed, "ops": [to_json(report) for report in reports]}
        rest = {"never_fired": list(unfired), "findings": findings_json(found)}
        write_stdout(json.dumps({**whole, **rest}, ensure_ascii=False) + "\n")
        return
    from kina.audit.report_text import audit_text

    write_stdout(audit_text(reports, unfired, seed, style_for(sys.stdout)))
    show_findings(found)
