"""Nested syntax to expressions: what each bracketed list inside a function says.

Every function takes nodes of `reader` and gives nodes of `ast`; ProgramError where a form is malformed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from kina.diagnostics.finding import Help, ProgramError, error
from kina.frontend.ast import (
    Annotated,
    AnnotationForm,
    Apply,
    Binding,
    Expr,
    If,
    Instance,
    Keyword,
    Let,
    Listing,
    Number,
    Param,
    Ref,
    Repeat,
    Text,
    TypeForm,
    Values,
)
from kina.frontend.reader import Atom, Group, Node
from kina.source import Span

_WRITTEN = {
    "mesh": "(mesh (axis size) …)",
    "import": '(import "file.kina")',
    "define": "(define name value)",
    "defn": "(defn name (param …) body)",
    "defop": "(defop name (param …) (tensor dtype [size …]) body)",
    "let": "(let ((name value) …) body)",
    "values": "(values a b …)",
    "if": "(if condition then otherwise)",
    "@": "(@ value @annotation …)",
    "tensor": "(tensor dtype [size …])",
    "repeat": "(repeat (name index count) ((state init) …) :params (param …) body)",
    "param": "(name (tensor dtype [size …]) @annotation …), or (name default), or name",
    "operand": "(name (tensor dtype [size …]))",
    "attribute": "(name (kind :default value :least n :most n))",
}
#: Heads of the forms that stand at the top level of a file.
TOP_LEVEL = ("mesh", "import", "define", "defn", "defop")


def malformed(what: str, span: Span, said: str) -> NoReturn:
    """Raises K008: the form `what` is not written as it must be."""
    raise ProgramError(error("K008", said, span, helps=(Help(f"it is written `{_WRITTEN[what]}`"),)))


def parameters(node: Node, of: str) -> tuple[Param, ...]:
    """The parameters in a bracketed list."""
    if not isinstance(node, Group) or node.bracket != "(":
        malformed(of, node.span, "this is no list of parameters")
    return tuple([_parameter(item) for item in node.items])


def _parameter(node: Node) -> Param:
    if isinstance(node, Atom):
        return Param(name_of(node, "param"), None, None, (), node.span)
    if not isinstance(node, Group) or not node.items:
        malformed("param", node.span, "this is no parameter")
    name = name_of(node.items[0], "param")
    rest = node.items[1:]
    if rest and not isinstance(rest[0], AnnotationForm):
        first, rest = rest[0], rest[1:]
    else:
        first = None
    annotations = tuple([item for item in rest if isinstance(item, AnnotationForm)])
    for item in rest:
        if not isinstance(item, AnnotationForm):
            malformed("param", item.span, f"this is no annotation of the parameter `{name.name}`")
    if first is None:
        return Param(name, None, None, annotations, node.span)
    head = head_of(first)
    if head is not None and head.value == "tensor":
        return Param(name, tensor_type(first), None, annotations, node.span)
    return Param(name, None, expression(first), annotations, node.span)


def tensor_type(node: Node) -> TypeForm:
    """The type `(tensor dtype [size…])`."""
    if not isinstance(node, Group) or len(node.items) != 3:
        malformed("tensor", node.span, "`tensor` takes a dtype and a list of sizes")
    sizes = node.items[2]
    if not isinstance(sizes, Group) or sizes.bracket != "[":
        malformed("tensor", sizes.span, "the sizes of a tensor stand in square brackets")
    return TypeForm(name_of(node.items[1], "tensor"), expressions(sizes.items), sizes.span, node.span)


def split_annotations(nodes: Sequence[Node]) -> tuple[tuple[AnnotationForm, ...], Sequence[Node]]:
    """The annotations that `nodes` begin with, and the rest."""
    count = 0
    while count < len(nodes) and isinstance(nodes[count], AnnotationForm):
        count += 1
    return tuple([node for node in nodes[:count] if isinstance(node, AnnotationForm)]), nodes[count:]


def head_of(node: Node) -> Atom | None:
    """The name that a bracketed form begins with, None if it begins with something else."""
    if not isinstance(node, Group) or node.bracket != "(" or not node.items:
        return None
    first = node.items[0]
    return first if isinstance(first, Atom) and first.kind == "name" else None


def name_of(node: Node, of: str) -> Ref:
    """The name that a node is."""
    if not isinstance(node, Atom) or node.kind != "name":
        malformed(of, node.span, "this is no name")
    return Ref(str(node.value), node.span)


def expressions(nodes: Sequence[Node]) -> tuple[Expr, ...]:
    """The expressions that the nodes are."""
    made: list[Expr] = []
    for node in nodes:  # a loop and not a comprehension: one frame less for each level of nesting
        made.append(expression(node))
    return tuple(made)


def expression(node: Node) -> Expr:
    """The expression that a node is."""
    if isinstance(node, AnnotationForm):
        help_ = Help("an expression is annotated by `(@ expression @annotation)`")
        message = "an annotation stands where a value is expected"
        raise ProgramError(error("K008", message, node.span, helps=(help_,)))
    if isinstance(node, Atom):
        return _atom(node)
    if node.bracket == "[":
        return Listing(expressions(node.items), node.span)
    head = head_of(node)
    if head is None:
        if not node.items:
            raise ProgramError(error("K008", "this form is empty", node.span))
        message = "a form begins with the name of an op or a function"
        raise ProgramError(error("K008", message, node.items[0].span))
    special = _SPECIAL.get(str(head.value))
    return special(node) if special is not None else _apply(node, head)


def _atom(node: Atom) -> Expr:
    match node.value:
        case int() | float():
            return Number(node.value, node.span)
        case _ if node.kind == "text":
            return Text(node.value, node.span)
        case _ if node.kind == "keyword":
            raise ProgramError(error("K008", f"`:{node.value}` stands where a value is expected", node.span))
    return Ref(node.value, node.span)


def _apply(node: Group, head: Atom) -> Expr:
    args: list[Expr] = []
    keywords: list[Keyword] = []
    items = node.items
    i = 1
    while i < len(items):
        item = items[i]
        if not isinstance(item, Atom) or item.kind != "keyword":
            args.append(expression(item))
            i += 1
            continue
        name = str(item.value)
        if i + 1 == len(items):
            raise ProgramError(error("K008", f"`:{name}` has no value", item.span))
        if any(name == other.name for other in keywords):
            raise ProgramError(error("K014", f"`:{name}` is given twice", item.span))
        value = expression(items[i + 1])
        keywords.append(Keyword(name, value, item.span.to(value.span)))
        i += 2
    return Apply(str(head.value), tuple(args), tuple(keywords), head.span, node.span)


def _let(node: Group) -> Expr:
    if len(node.items) < 3:
        malformed("let", node.span, "`let` takes a list of bindings and a body")
    return Let(bindings(node.items[1], "let"), expressions(node.items[2:]), node.span)


def bindings(node: Node, of: str) -> tuple[Binding, ...]:
    """The bindings `((name value) …)` in a bracketed list."""
    if not isinstance(node, Group) or node.bracket != "(":
        malformed(of, node.span, "this is no list of bindings")
    return tuple([_binding(item, of) for item in node.items])


def _binding(node: Node, of: str) -> Binding:
    if not isinstance(node, Group) or len(node.items) != 2:
        malformed(of, node.span, "a binding is a name and a value")
    target = node.items[0]
    value = expression(node.items[1])
    if isinstance(target, Group):
        return Binding(tuple([name_of(item, of) for item in target.items]), True, value, node.span)
    return Binding((name_of(target, of),), False, value, node.span)


def _values(node: Group) -> Expr:
    if len(node.items) < 2:
        malformed("values", node.span, "`values` is given no value")
    return Values(expressions(node.items[1:]), node.span)


def _if(node: Group) -> Expr:
    if len(node.items) != 4:
        malformed("if", node.span, "`if` takes a condition and two alternatives")
    condition, then, otherwise = expressions(node.items[1:])
    return If(condition, then, otherwise, node.span)


def _annotated(node: Group) -> Expr:
    annotations = tuple([item for item in node.items[1:] if isinstance(item, AnnotationForm)])
    rest = [item for item in node.items[1:] if not isinstance(item, AnnotationForm)]
    if len(rest) != 1:
        malformed("@", node.span, "`@` takes one expression and its annotations")
    if not annotations:
        malformed("@", node.span, "`@` is given no annotation")
    return Annotated(expression(rest[0]), annotations, node.span)


def _out_of_place(node: Group) -> Expr:
    name = str(node.items[0].value) if isinstance(node.items[0], Atom) else ""
    where = "in the list of parameters" if name == "tensor" else "at the top level of a file"
    raise ProgramError(error("K008", f"`{name}` stands {where} only", node.span))


def _repeat(node: Group) -> Expr:
    if len(node.items) < 4:
        malformed("repeat", node.span, "`repeat` takes a header, carried values and a body")
    header = node.items[1]
    if not isinstance(header, Group) or len(header.items) != 3:
        malformed("repeat", header.span, "the header of `repeat` is a name, an index and a count")
    name, index = name_of(header.items[0], "repeat"), name_of(header.items[1], "repeat")
    count = expression(header.items[2])
    carried = bindings(node.items[2], "repeat")
    for binding in carried:
        if binding.destructures:
            malformed("repeat", binding.span, "a carried value has one name")
    params: tuple[Param, ...] = ()
    instances: tuple[Instance, ...] = ()
    rest = node.items[3:]
    while rest and isinstance(rest[0], Atom) and rest[0].kind == "keyword":
        option, rest = rest[0], rest[1:]
        if not rest:
            malformed("repeat", option.span, f"`:{option.value}` has no value")
        match option.value:
            case "params":
                params = parameters(rest[0], "repeat")
            case "at":
                instances = _instances(rest[0])
            case _:
                message = f"`repeat` has no option `:{option.value}`; it has `:params` and `:at`"
                raise ProgramError(error("K013", message, option.span))
        rest = rest[1:]
    if not rest:
        malformed("repeat", node.span, "`repeat` has no body")
    return Repeat(name, index, count, carried, params, instances, expressions(rest), node.span)


def _instances(node: Node) -> tuple[Instance, ...]:
    if not isinstance(node, Group) or node.bracket != "(":
        malformed("repeat", node.span, "`:at` takes a list `((index (param @annotation …) …) …)`")
    return tuple([_instance(item) for item in node.items])


def _instance(node: Node) -> Instance:
    if not isinstance(node, Group) or len(node.items) < 2:
        malformed("repeat", node.span, "this is no index with annotated parameters")
    params: list[tuple[Ref, tuple[AnnotationForm, ...]]] = []
    for item in node.items[1:]:
        if not isinstance(item, Group) or len(item.items) < 2:
            malformed("repeat", item.span, "this is no parameter with annotations")
        annotations = tuple([part for part in item.items[1:] if isinstance(part, AnnotationForm)])
        if len(annotations) != len(item.items) - 1:
            malformed("repeat", item.span, "after the parameter stand annotations only")
        params.append((name_of(item.items[0], "repeat"), annotations))
    return Instance(expression(node.items[0]), tuple(params), node.span)


_SPECIAL: dict[str, Callable[[Group], Expr]] = {
    "let": _let,
    "values": _values,
    "if": _if,
    "@": _annotated,
    "repeat": _repeat,
    "tensor": _out_of_place,
    **dict.fromkeys(TOP_LEVEL, _out_of_place),
}
#: Names that no function can take.
RESERVED = frozenset(_SPECIAL)
