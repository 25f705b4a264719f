"""A graph of relations as SVG, and as an HTML page with what each relation says."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from html import escape

from kina.rulebook.graph import Edge, Graph
from kina.rulebook.layout import CHARACTER, HEIGHT, MARGIN, TITLE, Box, Placed, place
from kina.rulebook.usage import Usage

#: Gives the address that a relation links to.
Link = Callable[[Usage], str]

_STYLE = """
text { font: 11.5px ui-monospace, Menlo, Consolas, monospace; fill: #1f2328; }
.file { fill: #f6f8fa; stroke: #d0d7de; }
.name { font-weight: 600; fill: #57606a; }
.relation rect { fill: #ffffff; stroke: #8c959f; }
.input rect { fill: #ddf4ff; stroke: #54aeff; }
.output rect { fill: #dafbe1; stroke: #4ac26b; }
.near rect { stroke: #d0d7de; }
.near text { fill: #8c959f; }
.edge { fill: none; stroke: #57606a; stroke-width: 1; opacity: 0.28; }
.given { opacity: 0.1; }
.against { stroke: #cf222e; stroke-dasharray: 4 3; }
a:hover rect { stroke-width: 2.5; }
"""


def svg_text(graph: Graph, link: Link) -> str:
    """The picture of a graph. Each relation links to its place, and shows what it says when pointed at."""
    placed = place(graph)
    size = f'width="{placed.width}" height="{placed.height}" viewBox="0 0 {placed.width} {placed.height}"'
    numbers = {usage.name: number for number, usage in enumerate(graph.nodes)}
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">']
    out += ["<title>relations of the rules, and what each rests on</title>", f"<style>{_STYLE}"]
    out += [
        f"svg:has(#r{number}:hover) .e{number} {{ opacity: 1; stroke-width: 1.6; }}"
        for number in numbers.values()
    ]
    out.append("</style>")
    out += [line for file, box in placed.files.items() for line in _file(file, box)]
    inputs = {usage.name for usage in graph.nodes if usage.relation.is_input}
    out += [_edge(edge, placed, numbers, inputs) for edge in graph.edges]
    out += [_relation(usage, graph, placed, numbers[usage.name], link) for usage in graph.nodes]
    return "\n".join([*out, "</svg>"]) + "\n"


def _file(name: str, box: Box) -> Iterator[str]:
    yield f'<rect class="file" rx="6" {_frame(box)}/>'
    yield f'<text class="name" x="{box.x + MARGIN}" y="{box.y + TITLE - 4}">{escape(name)}</text>'


def _frame(box: Box) -> str:
    return f'x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'


def _relation(usage: Usage, graph: Graph, placed: Placed, number: int, link: Link) -> str:
    box = placed.relations[usage.name]
    kind = "input" if usage.relation.is_input else "output" if usage.relation.is_output else "plain"
    near = "" if usage.name in graph.inner else " near"
    says = f"{usage.name}, level {usage.level}, {usage.relation.place}\n{usage.relation.doc.strip()}"
    x = box.x + (box.width - len(usage.name) * CHARACTER) // 2
    return (
        f'<a id="r{number}" class="relation {kind}{near}" href="{escape(link(usage))}">'
        f'<title>{escape(says)}</title><rect rx="4" {_frame(box)}/>'
        f'<text x="{x}" y="{box.y + HEIGHT - 7}" textLength="{len(usage.name) * CHARACTER}">'
        f"{escape(usage.name)}</text></a>"
    )


def _edge(edge: Edge, placed: Placed, numbers: Mapping[str, int], inputs: Collection[str]) -> str:
    """A curve to the right within a row of boxes, downwards between rows."""
    start, end = placed.relations[edge.below], placed.relations[edge.above]
    if start.y + start.height + 2 * MARGIN < end.y:
        x0, y0 = start.x + start.width // 2, start.y + start.height
        x1, y1 = end.x + end.width // 2, end.y
        bend = max(20, (y1 - y0) // 2)
        path = f"M{x0},{y0} C{x0},{y0 + bend} {x1},{y1 - bend} {x1},{y1}"
    else:
        x0, y0 = start.x + start.width, start.y + start.height // 2
        x1, y1 = end.x, end.y + end.height // 2
        bend = max(20, (x1 - x0) // 2) if x1 > x0 else 2 * MARGIN
        path = f"M{x0},{y0} C{x0 + bend},{y0} {x1 - bend},{y1} {x1},{y1}"
    kind = " against" if edge.against else " given" if edge.below in inputs else ""
    return f'<path class="edge{kind} e{numbers[edge.below]} e{numbers[edge.above]}" d="{path}"/>'


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; color: #1f2328; margin: 1.5rem; }}
.graph {{ overflow: auto; border: 1px solid #d0d7de; }}
section {{ max-width: 60rem; border-top: 1px solid #d0d7de; }}
pre {{ background: #f6f8fa; padding: .6rem; overflow: auto; font-size: 13px; }}
.place {{ color: #57606a; font-size: 13px; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>Blue relations are facts of a program, green ones are read by Kina. A dashed line is a negation or an
aggregate. Point at a relation to see its lines, and follow it to what it says.</p>
<div class="graph">
{picture}</div>
{sections}
</body>
</html>
"""


def html_text(graph: Graph, title: str) -> str:
    """A page with the picture, and below it what each relation says and the clauses that make it."""
    picture = svg_text(graph, lambda usage: f"#{usage.name}")
    sections = "\n".join(_section(usage) for usage in graph.nodes)
    return _PAGE.format(title=escape(title), picture=picture, sections=sections)


def _section(usage: Usage) -> str:
    relation = usage.relation
    columns = ", ".join(f"{column.name}: {column.type}" for column in relation.columns)
    out = [f'<section id="{escape(usage.name)}">', f"<h2>{escape(usage.name)}({escape(columns)})</h2>"]
    out.append(f'<p class="place">{escape(relation.place)}, level {usage.level}</p>')
    out.append(f"<p>{escape(relation.doc.strip() or 'not documented')}</p>")
    for rule in usage.makers:
        if rule.name:
            out.append(f"<p><b>{escape(rule.name)}</b> {escape(' '.join(rule.doc.split()))}</p>")
            out.append(f"<pre>{escape(rule.clause.span.text)}</pre>")
    facts = [rule.clause.span.text for rule in usage.makers if not rule.name]
    out += [f"<pre>{escape(chr(10).join(facts))}</pre>"] if facts else []
    readers = ", ".join(dict.fromkeys(use.rule.name or "a fact" for use in usage.readers))
    out.append(f"<p>Read by: {escape(readers or 'no rule')}</p></section>")
    return "\n".join(out)
