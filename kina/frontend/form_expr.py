"""Evaluates expressions: tensor code becomes ops, compile-time code becomes literals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from kina.diagnostics.finding import Help, ProgramError, error
from kina.frontend.ast import (
    Annotated,
    AnnotationForm,
    Apply,
    Binding,
    Expr,
    If,
    Let,
    Listing,
    Number,
    Ref,
    Repeat,
    Text,
    Values,
)
from kina.frontend.autodiff import GRADIENT_FORMS
from kina.frontend.builder import Arg, Call, Literal
from kina.frontend.form_annotations import refuse
from kina.frontend.form_static import STATIC, static
from kina.frontend.former import Former
from kina.frontend.forms import FORMS, WORDS
from kina.frontend.forms import apply as build
from kina.frontend.suggest import did_you_mean
from kina.source import Span

_FLAGS = {"true": True, "false": False}
#: What helps where a list is given tensors.
_ONE_BY_ONE = (
    Help("a list holds numbers and words; several tensors are given one by one, without brackets"),
)


def evaluate(former: Former, expr: Expr) -> Arg:
    """What an expression stands for; ProgramError where it stands for nothing."""
    match expr:
        case Ref():
            return _variable(former, expr)
        case Number() | Text():
            return Arg(expr.span, (), expr.value)
    former.enter(expr.span)
    match expr:
        case Apply():
            result = _apply(former, expr)
        case Let():
            result = _let(former, expr)
        case Listing():
            result = Arg(expr.span, (), _listing(former, expr))
        case Annotated():
            result = _annotated(former, expr)
        case Values():
            result = body(former, expr.items, expr.span)
        case If():
            result = _if(former, expr)
        case Repeat():
            from kina.frontend.form_repeat import repeat

            result = repeat(former, expr)
    former.depth -= 1
    return result


def literal(former: Former, expr: Expr, what: str, helps: tuple[Help, ...] = ()) -> Literal:
    """The compile-time value of an expression; ProgramError, with the `helps`, if it is a tensor."""
    arg = evaluate(former, expr)
    if arg.literal is None:
        message = f"{what} is known at compile time, and this is a tensor"
        raise ProgramError(error("K021", message, arg.span, helps=helps))
    return arg.literal


def whole(former: Former, expr: Expr, what: str) -> int:
    """The whole number that an expression is at compile time."""
    value = literal(former, expr, what)
    if isinstance(value, bool) or not isinstance(value, int):
        raise ProgramError(error("K021", f"{what} is a whole number, and this is `{value}`", expr.span))
    return value


def body(former: Former, items: Sequence[Expr], span: Span) -> Arg:
    """The results of a body: what its one expression gives, or one result of each of several."""
    if len(items) == 1:
        return evaluate(former, items[0])
    values: list[int] = []
    literals: list[Literal] = []
    for item in items:
        arg = evaluate(former, item)
        if arg.literal is not None:
            literals.append(arg.literal)
        elif len(arg.values) == 1:
            values.append(arg.values[0])
        else:
            message = f"one of several results gives {len(arg.values)} results itself"
            raise ProgramError(error("K026", message, arg.span))
    if values and literals:
        raise ProgramError(
            error("K028", "tensors and compile-time values stand side by side as results", span)
        )
    return Arg(span, (), tuple(literals)) if literals else Arg(span, tuple(values))


def bind(former: Former, binding: Binding, arg: Arg, mark: int) -> list[tuple[str, Arg]]:
    """The variables of a binding; tensors made since `mark` take their names."""
    names = binding.names
    if not binding.destructures:
        if arg.literal is None and len(arg.values) != 1:
            message = f"`{names[0].name}` is one name for {len(arg.values)} results"
            raise ProgramError(error("K026", message, names[0].span))
        if arg.values and former.is_fresh(arg.values[0], mark):
            former.rename(arg.values[0], names[0].name)
        return [(names[0].name, arg)]
    given = len(arg.literal) if isinstance(arg.literal, tuple) else len(arg.values)
    if given != len(names):
        message = f"{len(names)} names stand for {given} results"
        raise ProgramError(error("K026", message, binding.span))
    if isinstance(arg.literal, tuple):
        return [(name.name, Arg(arg.span, (), part)) for name, part in zip(names, arg.literal, strict=True)]
    bound: list[tuple[str, Arg]] = []
    renamed: set[int] = set()
    for name, value in zip(names, arg.values, strict=True):
        if former.is_fresh(value, mark) and value not in renamed:
            former.rename(value, name.name)
            renamed.add(value)
        bound.append((name.name, Arg(arg.span, (value,))))
    return bound


def annotate(former: Former, arg: Arg, forms: Sequence[AnnotationForm], mark: int, base: str) -> Arg:
    """Puts annotations on a tensor that an op made since `mark`, else on a resharded copy of it."""
    if not forms:
        return arg
    if former.inside:
        refuse_inside(former, forms[0].span, "an annotation", "the rules of the op decide how it is laid out")
    if arg.literal is not None:
        refuse(forms[0].span, "a compile-time value")
    if len(arg.values) != 1:
        refuse(forms[0].span, f"{len(arg.values)} results")
    value = arg.values[0]
    if not former.is_fresh(value, mark):
        (copy,) = former.builder.emit("reshard", (value,), {}, arg.span, (base,))
        former.annotations.sizes[copy] = former.annotations.sizes.get(value, ())
        value = copy
    former.annotations.add(value, former.local_name(value), former.builder.type_of(value), forms)
    return Arg(arg.span, (value,))


def refuse_inside(former: Former, span: Span, what: str, reason: str) -> NoReturn:
    """ProgramError K040: something stands in the body of a declared op that has no meaning there."""
    message = f"{what} stands in the body of the op `{former.inside}`"
    raise ProgramError(error("K040", message, span, reason))


def _variable(former: Former, ref: Ref) -> Arg:
    frame = former.frame
    name = ref.name
    bound = frame.env.get(name) or frame.visible.constants.get(name)
    if bound is not None:
        return Arg(ref.span, bound.values, bound.literal)
    if name in _FLAGS:
        return Arg(ref.span, (), _FLAGS[name])
    if name in WORDS or name in frame.visible.words:
        return Arg(ref.span, (), name)
    if name in frame.visible.functions or name in FORMS or name in frame.visible.ops:
        message = f"`{name}` is a function and stands where a value is expected"
        raise ProgramError(error("K010", message, former.span_for(ref.span)))
    helps = did_you_mean(name, [*frame.env, *frame.visible.constants])
    raise ProgramError(error("K010", f"`{name}` is not defined here", former.span_for(ref.span), helps=helps))


def _apply(former: Former, expr: Apply) -> Arg:
    head = expr.head
    mark = len(former.builder.values)
    declared = former.frame.visible.ops.get(head)
    definition = former.frame.visible.functions.get(head) if declared is None else None
    if definition is None and declared is None and head not in FORMS and head not in STATIC:
        return _other(former, expr)
    args: list[Arg] = []
    for item in expr.args:
        args.append(evaluate(former, item))
    keywords: dict[str, Arg] = {}
    for keyword in expr.keywords:
        keywords[keyword.name] = evaluate(former, keyword.value)
    if declared is not None:
        from kina.frontend.form_op import call

        result = call(former, declared, expr, args, keywords)
    elif definition is not None:
        from kina.frontend.form_call import inline

        result = inline(former, definition, expr, args, keywords, mark)
    elif head in FORMS:
        result = Arg(expr.span, build(former.builder, Call(head, tuple(args), keywords, expr.span)))
    else:
        return Arg(expr.span, (), static(former.builder, expr, args))
    former.record(expr.span, result, mark, False)
    return result


def _other(former: Former, expr: Apply) -> Arg:
    """`grad` and its like, or a head that is nothing at all."""
    if expr.head in GRADIENT_FORMS:
        from kina.frontend.form_grad import form_grad

        return form_grad(former, expr)
    if expr.head in former.frame.env or expr.head in former.frame.visible.constants:
        message = f"`{expr.head}` is a value and stands where a function is expected"
        raise ProgramError(error("K011", message, expr.head_span))
    visible = former.frame.visible
    known = [*visible.functions, *visible.ops, *FORMS, *STATIC, *GRADIENT_FORMS]
    helps = did_you_mean(expr.head, known)
    raise ProgramError(error("K011", f"`{expr.head}` is no op and no function", expr.head_span, helps=helps))


def _let(former: Former, expr: Let) -> Arg:
    env = former.frame.env
    builder = former.builder
    shadowed: list[tuple[str, Arg | None]] = []
    for binding in expr.bindings:
        mark = len(builder.values)
        arg = evaluate(former, binding.value)
        for name, bound in bind(former, binding, arg, mark):
            shadowed.append((name, env.get(name)))
            env[name] = bound
    result = body(former, expr.body, expr.span)
    for name, old in reversed(shadowed):
        if old is None:
            env.pop(name, None)
        else:
            env[name] = old
    return result


def _listing(former: Former, expr: Listing) -> Literal:
    items: list[Literal] = []
    for item in expr.items:
        items.append(literal(former, item, "an entry of a list", _ONE_BY_ONE))
    return tuple(items)


def _annotated(former: Former, expr: Annotated) -> Arg:
    mark = len(former.builder.values)
    arg = evaluate(former, expr.value)
    base = expr.value.name if isinstance(expr.value, Ref) else "reshard"
    result = annotate(former, arg, expr.annotations, mark, base)
    former.record(expr.span, result, mark, True)
    return result


def _if(former: Former, expr: If) -> Arg:
    condition = literal(former, expr.condition, "the condition of `if`")
    if not isinstance(condition, bool):
        message = f"the condition of `if` is `true` or `false`, and this is `{condition}`"
        raise ProgramError(error("K021", message, expr.condition.span))
    return evaluate(former, expr.then if condition else expr.otherwise)
