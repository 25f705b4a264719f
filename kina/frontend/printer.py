"""Surface tree to text: what is printed reads back as the same tree."""

from __future__ import annotations

from collections.abc import Sequence

from kina.frontend.ast import (
    Annotated,
    AnnotationForm,
    Apply,
    AxisList,
    AxisName,
    Binding,
    Define,
    Expr,
    Function,
    If,
    Import,
    Instance,
    Let,
    Listing,
    MeshForm,
    Module,
    Number,
    OpForm,
    OpParam,
    Param,
    Ref,
    Repeat,
    Text,
    TypeForm,
    Values,
)
from kina.frontend.form_annotated import annotate
from kina.frontend.tokens import quote_axis, quote_name, quote_text

__all__ = ["annotate", "print_annotation", "print_expr", "print_module"]


def print_module(module: Module) -> str:
    """The text of a file: one top-level form after another, parts of a function on lines of their own."""
    return "".join([f"{_top_level(form)}\n" for form in module.forms])


def print_expr(expr: Expr) -> str:
    """The text of an expression, on one line."""
    match expr:
        case Ref():
            return quote_name(expr.name)
        case Number():
            return print_number(expr.value)
        case Text():
            return quote_text(expr.value)
        case Listing():
            return f"[{_row(expr.items)}]"
        case Apply():
            parts = [quote_name(expr.head)]
            for arg in expr.args:
                parts.append(print_expr(arg))
            for keyword in expr.keywords:
                parts.append(f":{keyword.name} {print_expr(keyword.value)}")
            return f"({' '.join(parts)})"
        case Let():
            return f"(let ({_bindings(expr.bindings)}) {_row(expr.body)})"
        case Values():
            return f"(values {_row(expr.items)})"
        case If():
            return f"(if {_row((expr.condition, expr.then, expr.otherwise))})"
        case Annotated():
            return f"(@ {print_expr(expr.value)}{_annotations(expr.annotations)})"
        case Repeat():
            return _repeat(expr)


def print_annotation(form: AnnotationForm) -> str:
    """The text of an annotation, `@sharded(axis=0, mesh=data)`."""
    if not form.items:
        return f"@{form.name}"
    items = [f"{quote_axis(item.key)}={_annotation_value(item.value)}" for item in form.items]
    return f"@{form.name}({', '.join(items)})"


def print_number(value: int | float) -> str:
    """A number that reads back with the same value and the same kind."""
    return repr(value)


def _top_level(form: MeshForm | Import | Define | Function | OpForm) -> str:
    match form:
        case MeshForm():
            axes = [f"({quote_name(name.name)} {print_expr(size)})" for name, size in form.axes]
            return f"({' '.join(['mesh', *axes])})"
        case Import():
            return f"(import {quote_text(form.path)})"
        case Define():
            return f"(define {quote_name(form.name.name)} {print_expr(form.value)})"
        case Function():
            return _function(form)
        case OpForm():
            return _op(form)


def _function(form: Function) -> str:
    params = "\n    ".join([_param(param) for param in form.params])
    body = "".join([f"\n  {print_expr(expr)}" for expr in form.body])
    return f"(defn {quote_name(form.name.name)} ({params}){_annotations(form.annotations)}{body})"


def _op(form: OpForm) -> str:
    params = "\n    ".join([_op_param(param) for param in form.params])
    results = " ".join([_type(each) for each in form.results])
    if len(form.results) > 1:
        results = f"(values {results})"
    body = "".join([f"\n  {print_expr(expr)}" for expr in form.body])
    return f"(defop {quote_name(form.name.name)} ({params})\n  {results}{body})"


def _op_param(param: OpParam) -> str:
    if isinstance(param.type, TypeForm):
        return f"({quote_name(param.name.name)} {_type(param.type)})"
    form = param.type
    parts = [quote_name(form.kind.name), *[quote_name(choice.name) for choice in form.choices]]
    for option, value in (("default", form.default), ("least", form.least), ("most", form.most)):
        if value is not None:
            parts.append(f":{option} {print_expr(value)}")
    return f"({quote_name(param.name.name)} ({' '.join(parts)}))"


def _param(param: Param) -> str:
    name = quote_name(param.name.name)
    if param.type is None and param.default is None and not param.annotations:
        return name
    parts = [name]
    if param.type is not None:
        parts.append(_type(param.type))
    if param.default is not None:
        parts.append(print_expr(param.default))
    return f"({' '.join(parts)}{_annotations(param.annotations)})"


def _type(form: TypeForm) -> str:
    return f"(tensor {quote_name(form.dtype.name)} [{_row(form.shape)}])"


def _repeat(expr: Repeat) -> str:
    names = f"{quote_name(expr.name.name)} {quote_name(expr.index.name)}"
    parts = [f"(repeat ({names} {print_expr(expr.count)}) ({_bindings(expr.carried)})"]
    if expr.params:
        parts.append(f":params ({' '.join([_param(param) for param in expr.params])})")
    if expr.instances:
        parts.append(f":at ({' '.join([_instance(instance) for instance in expr.instances])})")
    return f"{' '.join(parts)} {_row(expr.body)})"


def _instance(instance: Instance) -> str:
    params = [f"({quote_name(name.name)}{_annotations(forms)})" for name, forms in instance.params]
    return f"({print_expr(instance.index)} {' '.join(params)})"


def _bindings(bindings: Sequence[Binding]) -> str:
    printed: list[str] = []
    for binding in bindings:
        names = " ".join([quote_name(name.name) for name in binding.names])
        target = f"({names})" if binding.destructures else names
        printed.append(f"({target} {print_expr(binding.value)})")
    return " ".join(printed)


def _annotations(forms: Sequence[AnnotationForm]) -> str:
    return "".join([f" {print_annotation(form)}" for form in forms])


def _annotation_value(value: Number | AxisName | AxisList) -> str:
    match value:
        case Number():
            return print_number(value.value)
        case AxisName():
            return quote_axis(value.name)
        case AxisList():
            return f"({','.join([quote_axis(name.name) for name in value.names])})"


def _row(items: Sequence[Expr]) -> str:
    printed: list[str] = []
    for item in items:
        printed.append(print_expr(item))
    return " ".join(printed)
