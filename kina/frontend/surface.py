"""Nested syntax to the forms of a file: `mesh`, `import`, `define`, `defn`, `defop`."""

from __future__ import annotations

from collections.abc import Sequence

from kina.diagnostics.finding import Help, ProgramError, error
from kina.frontend.ast import Define, Expr, Function, Import, MeshForm, Module, OpForm, Ref
from kina.frontend.reader import Atom, Group, Node
from kina.frontend.suggest import nearest
from kina.frontend.surface_expr import (
    TOP_LEVEL,
    expression,
    expressions,
    head_of,
    malformed,
    name_of,
    parameters,
    split_annotations,
)
from kina.frontend.surface_op import declared_op
from kina.source import Source, Span


def module(source: Source, nodes: Sequence[Node]) -> Module:
    """The forms of a file."""
    if not nodes:
        end = len(source.text)
        raise ProgramError(error("K006", f"`{source.name}` holds no form", Span(source, end, end)))
    return Module(tuple([_top_level(node) for node in nodes]), source)


def _top_level(node: Node) -> MeshForm | Import | Define | Function | OpForm:
    head = head_of(node)
    if not isinstance(node, Group) or head is None:
        raise ProgramError(error("K008", "a file holds bracketed forms only", node.span))
    match head.value:
        case "mesh":
            return _mesh(node)
        case "import":
            return _import(node)
        case "define":
            return _define(node)
        case "defn":
            return _function(node)
        case "defop":
            return declared_op(node)
    name = str(head.value)
    guess = nearest(name, TOP_LEVEL)
    message = f"`{name}` is no top-level form; those are `mesh`, `import`, `define`, `defn` and `defop`"
    helps = (Help(f"write `{guess}`"),) if guess else ()
    raise ProgramError(error("K013", message, head.span, helps=helps))


def _mesh(node: Group) -> MeshForm:
    axes: list[tuple[Ref, Expr]] = []
    for item in node.items[1:]:
        if not isinstance(item, Group) or len(item.items) != 2:
            malformed("mesh", item.span, "this is no mesh axis with its size")
        axes.append((name_of(item.items[0], "mesh"), expression(item.items[1])))
    return MeshForm(tuple(axes), node.span)


def _import(node: Group) -> Import:
    if len(node.items) != 2 or not isinstance(node.items[1], Atom) or node.items[1].kind != "text":
        malformed("import", node.span, "`import` takes one path in quotes")
    return Import(str(node.items[1].value), node.span)


def _define(node: Group) -> Define:
    if len(node.items) != 3:
        malformed("define", node.span, "`define` takes a name and a value")
    return Define(name_of(node.items[1], "define"), expression(node.items[2]), node.span)


def _function(node: Group) -> Function:
    if len(node.items) < 4:
        malformed("defn", node.span, "`defn` takes a name, a list of parameters and a body")
    name = name_of(node.items[1], "defn")
    params = parameters(node.items[2], "defn")
    annotations, rest = split_annotations(node.items[3:])
    if not rest:
        malformed("defn", node.span, f"`{name.name}` has no body")
    return Function(name, params, annotations, expressions(rest), node.span)
