"""The result of a check as HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from kina.diagnostics.style import Style
from kina.diagnostics.text import render_text, summary
from kina.report.tables import collective_rows, layout_rows, size_text

if TYPE_CHECKING:
    from kina.pipeline import Result

#: Rows that a table shows, so that a large model does not fill a notebook.
_ROWS = 200
_LEFT = "text-align: left"


def html(result: Result) -> str:
    """Mesh, layouts, collectives and totals as tables, and findings as they are printed; all is escaped."""
    out = []
    program, decisions = result.program, result.decisions
    if program is not None and decisions is not None and result.ok:
        mesh = escape(program.mesh.text)
        out.append(f"<p><code>{escape(program.entry)}</code> of {escape(result.file)} on mesh {mesh}</p>")
        rows, hidden = layout_rows(program, decisions, every=False)
        out.append(_table(("tensor", "type", "", ""), rows))
        if hidden:
            out.append(f"<p>{hidden:,} inside forms and library calls not shown</p>")
        moves = collective_rows(program, decisions)
        heads = ("", "collective", "bytes", "tensor", "at", "because")
        out.append(_table(heads, moves) if moves else "<p>no collectives</p>")
        totals = f"bytes moved per device {size_text(decisions.cost_bytes)}, "
        out.append(f"<p>{totals}peak memory per device {size_text(decisions.peak_bytes)}</p>")
    if result.findings:
        text = render_text(result.findings, Style()) + summary(result.findings)
        out.append(f"<pre>{escape(text)}</pre>")
    return "\n".join(out) + "\n"


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [_row("th", heads), *(_row("td", row) for row in rows[:_ROWS])]
    if len(rows) > _ROWS:
        lines.append(_row("td", (f"and {len(rows) - _ROWS:,} more", *[""] * (len(heads) - 1))))
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def _row(cell: str, texts: Sequence[str]) -> str:
    cells = "".join(f'<{cell} style="{_LEFT}">{escape(text)}</{cell}>' for text in texts)
    return f"<tr>{cells}</tr>"
