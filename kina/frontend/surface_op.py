"""Nested syntax to the declaration of an op, `(defop name (param …) result body …)`."""

from __future__ import annotations

from collections.abc import Sequence

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ast import AttributeForm, Expr, OpForm, OpParam, Ref, TypeForm
from kina.frontend.reader import Atom, Group, Node
from kina.frontend.suggest import did_you_mean
from kina.frontend.surface_expr import expression, expressions, head_of, malformed, name_of, tensor_type

#: kind of attribute -> the options that it has
ATTRIBUTE_KINDS = {
    "number": ("default", "least", "most"),
    "real": ("default",),
    "flag": ("default",),
    "word": ("default",),
    "dtype": ("default",),
    "numbers": ("default",),
    "position": ("default",),
}


def declared_op(node: Group) -> OpForm:
    """The op that a form declares; ProgramError where the form is malformed."""
    if len(node.items) < 5:
        malformed("defop", node.span, "`defop` takes a name, a list of parameters, a result type and a body")
    name = name_of(node.items[1], "defop")
    listed = node.items[2]
    if not isinstance(listed, Group) or listed.bracket != "(":
        malformed("defop", listed.span, "this is no list of parameters")
    params = tuple([_parameter(item) for item in listed.items])
    return OpForm(name, params, _results(node.items[3]), expressions(node.items[4:]), node.span)


def _results(node: Node) -> tuple[TypeForm, ...]:
    """`(tensor …)`, or several in `(values …)`."""
    head = head_of(node)
    if isinstance(node, Group) and head is not None and head.value == "values" and len(node.items) > 1:
        return tuple([_result(item) for item in node.items[1:]])
    return (_result(node),)


def _result(node: Node) -> TypeForm:
    head = head_of(node)
    if head is None or head.value != "tensor":
        malformed("defop", node.span, "behind the parameters of an op stands the type of its result")
    return tensor_type(node)


def _parameter(node: Node) -> OpParam:
    if not isinstance(node, Group) or len(node.items) < 2:
        malformed("operand", node.span, "an op says of each parameter what it is")
    name = name_of(node.items[0], "operand")
    if len(node.items) > 2:
        message = f"this is no part of the parameter `{name.name}`; the rules of the op decide its layouts"
        malformed("operand", node.items[2].span, message)
    head = head_of(node.items[1])
    if head is None:
        malformed("operand", node.items[1].span, f"this does not say what `{name.name}` is")
    if head.value == "tensor":
        return OpParam(name, tensor_type(node.items[1]), node.span)
    assert isinstance(node.items[1], Group)
    return OpParam(name, _attribute(node.items[1], Ref(str(head.value), head.span)), node.span)


def _attribute(node: Group, kind: Ref) -> AttributeForm:
    if kind.name not in ATTRIBUTE_KINDS:
        listed = ", ".join([f"`{each}`" for each in ATTRIBUTE_KINDS])
        message = f"`{kind.name}` is no kind of attribute; those are {listed}, and an operand is a `tensor`"
        helps = did_you_mean(kind.name, (*ATTRIBUTE_KINDS, "tensor"))
        raise ProgramError(error("K013", message, kind.span, helps=helps))
    choices: list[Ref] = []
    rest: Sequence[Node] = node.items[1:]
    while rest and not (isinstance(rest[0], Atom) and rest[0].kind == "keyword"):
        if kind.name != "word":
            malformed("attribute", rest[0].span, f"a `{kind.name}` has options only")
        choices.append(name_of(rest[0], "attribute"))
        rest = rest[1:]
    if kind.name == "word" and not choices:
        malformed("attribute", node.span, "a `word` lists the words that it may be: `(word left right)`")
    options = _options(kind, rest)
    return AttributeForm(
        kind, tuple(choices), options.get("default"), options.get("least"), options.get("most"), node.span
    )


def _options(kind: Ref, nodes: Sequence[Node]) -> dict[str, Expr]:
    found: dict[str, Expr] = {}
    for place in range(0, len(nodes), 2):
        option = nodes[place]
        if not isinstance(option, Atom) or option.kind != "keyword":
            malformed("attribute", option.span, "an option is a name with a colon and a value")
        name = str(option.value)
        if name not in ATTRIBUTE_KINDS[kind.name]:
            helps = did_you_mean(name, ATTRIBUTE_KINDS[kind.name])
            message = f"a `{kind.name}` has no option `{name}`"
            raise ProgramError(error("K013", message, option.span, helps=helps))
        if name in found:
            raise ProgramError(error("K014", f"`:{name}` is given twice", option.span))
        if place + 1 == len(nodes):
            raise ProgramError(error("K008", f"`:{name}` has no value", option.span))
        found[name] = expression(nodes[place + 1])
    return found
