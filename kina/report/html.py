"""A check, and a run, as HTML for notebooks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from kina.diagnostics.style import Style
from kina.diagnostics.text import summary, titles_and_bodies
from kina.report.tables import collective_rows, layout_rows, size_text

if TYPE_CHECKING:
    from kina.diagnostics.finding import Finding
    from kina.frontend.ir import Program
    from kina.pipeline import Result
    from kina.plan.decisions import Decisions
    from kina.run.report import Account

#: Rows that a table shows, so that a large model does not fill a notebook.
_ROWS = 200
_LEFT = "text-align: left"
_QUOTED = re.compile("`([^`]*)`")


def html(result: Result) -> str:
    """Mesh, layouts, collectives and totals as tables, and findings; all is escaped.

    A check that is not ok begins with its findings; what layouts there are stand below them.
    """
    out = []
    program, decisions = result.program, result.decisions
    if program is not None and decisions is not None:
        mesh = escape(program.mesh.text)
        out.append(f"<p><code>{escape(program.entry)}</code> of {escape(result.file)} on mesh {mesh}</p>")
        out += _layouts(program, decisions)
        out += _moves(program, decisions) if result.ok else []
    found = _findings(result.findings)
    if not result.ok and out:
        found.append("<p>Layouts as far as they are decided; nothing is compiled or run of them.</p>")
    return "\n".join([*out, *found] if result.ok else [*found, *out]) + "\n"


def run_html(account: Account, findings: Sequence[Finding]) -> str:
    """Steps, results and collectives of a run, how it compares with one device, and findings."""
    out = [_pre(account.head.rstrip("\n"), *account.steps)]
    out += [_rows_table(account.results)] if account.results else []
    out += [f"<p>{_text(line)}</p>" for line in (*account.kept(), *account.compared)]
    if account.collectives:
        out.append(_rows_table(account.collectives))
    elif account.collectives is not None:
        out.append("<p>no collectives</p>")
    return "\n".join([*out, *_findings(findings)]) + "\n"


def _layouts(program: Program, decisions: Decisions) -> list[str]:
    """The table of layouts; results stand in bold."""
    rows, hidden = layout_rows(program, decisions, every=False)
    strong = [place for place, row in enumerate(rows) if row[2] == "result"]
    out = [_table(("tensor", "type", "", ""), rows, strong)]
    if hidden:
        out.append(f"<p>{hidden:,} inside forms and library calls not shown</p>")
    return out


def _moves(program: Program, decisions: Decisions) -> list[str]:
    moves = collective_rows(program, decisions)
    heads = ("", "collective", "bytes", "tensor", "at", "because")
    totals = f"bytes moved per device {size_text(decisions.cost_bytes)}, "
    return [
        _table(heads, moves) if moves else "<p>no collectives</p>",
        f"<p>{totals}peak memory per device {size_text(decisions.peak_bytes)}</p>",
    ]


def _findings(findings: Sequence[Finding]) -> list[str]:
    """Each as a paragraph, and below it as it is printed, where columns have their meaning."""
    out = []
    for title, body in titles_and_bodies(findings, Style()):
        out.append(f"<p><strong>{_text(title)}</strong></p>")
        out += [_pre(body)] if body else []
    return [*out, f"<p>{_text(summary(findings).rstrip())}</p>"] if findings else []


def _pre(*lines: str) -> str:
    return f"<pre>{escape(chr(10).join(lines))}</pre>"


def _text(text: str) -> str:
    """A text with what stands in backticks as code."""
    return _QUOTED.sub(r"<code>\1</code>", escape(text))


def _rows_table(rows: Sequence[Sequence[str]]) -> str:
    return _table(rows[0], rows[1:])


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], strong: Sequence[int] = ()) -> str:
    """Columns under their heads; the rows whose places are in `strong` stand out."""
    bold = set(strong)
    lines = [_row("th", heads), *(_row("td", row, at in bold) for at, row in enumerate(rows[:_ROWS]))]
    if len(rows) > _ROWS:
        lines.append(_row("td", (f"and {len(rows) - _ROWS:,} more", *[""] * (len(heads) - 1))))
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _row(cell: str, texts: Sequence[str], strong: bool = False) -> str:
    style = f"{_LEFT}; font-weight: bold" if strong else _LEFT
    cells = "".join(f'<{cell} style="{style}">{_text(text)}</{cell}>' for text in texts)
    return f"<tr>{cells}</tr>"
