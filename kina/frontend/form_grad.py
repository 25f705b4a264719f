"""`grad`, `value_and_grad` and `gradients`: where reverse-mode differentiation joins formation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from kina.diagnostics.finding import Help, ProgramError, error
from kina.frontend.ast import Apply, Expr, Keyword, Listing, Ref
from kina.frontend.autodiff.reverse import differentiate, influential
from kina.frontend.builder import Arg
from kina.frontend.form_call import inline
from kina.frontend.form_expr import evaluate, refuse_inside
from kina.frontend.former import Definition, Former
from kina.frontend.forms import FORMS
from kina.frontend.ops.core import FLOATS
from kina.frontend.suggest import did_you_mean
from kina.source import Span

#: What is said of a scalar that no parameter can change a little.
NO_SLOPE = "depends on no parameter of floating-point numbers by ops that have a slope"


def form_grad(former: Former, expr: Apply) -> Arg:
    """The values of a form that differentiates or trains, whose arguments are not evaluated yet.

    ProgramError where the form is wrong: K033 if what is differentiated is no scalar of floats, K035
    if a value asked for has no gradient, K124 at an op without a derivative.
    """
    former.gradients += 1
    if former.inside and expr.head not in ("grad", "value_and_grad"):
        refuse_inside(former, expr.head_span, f"`{expr.head}`", "it speaks of the parameters of a program")
    match expr.head:
        case "gradients":
            return _gradients(former, expr)
        case "train_step":
            from kina.frontend.form_train import train_step

            return train_step(former, expr)
        case "carry":
            from kina.frontend.form_train import carry

            return carry(former, expr)
    return _grad(former, expr)


def function_argument(former: Former, expr: Apply, position: int) -> Definition:
    """The function that an argument names; ProgramError if it names none."""
    if len(expr.args) <= position:
        message = f"`{expr.head}` takes a function, and none is given"
        raise ProgramError(error("K012", message, former.span_for(expr.span)))
    named = expr.args[position]
    span = former.span_for(named.span)
    functions = former.frame.visible.functions
    if not isinstance(named, Ref):
        raise ProgramError(error("K011", f"`{expr.head}` takes the name of a function here", span))
    definition = functions.get(named.name)
    if definition is not None:
        return definition
    if named.name in FORMS or named.name in former.frame.visible.ops:
        help_ = (Help("define a function that does it, and name that"),)
        raise ProgramError(error("K011", f"`{named.name}` is an op and no function", span, helps=help_))
    helps = did_you_mean(named.name, functions)
    raise ProgramError(error("K011", f"`{named.name}` is no function", span, helps=helps))


def options(former: Former, expr: Apply, own: Sequence[str]) -> tuple[dict[str, Expr], tuple[Keyword, ...]]:
    """The options of a form that are its `own`, by name, and the others."""
    mine = {keyword.name: keyword.value for keyword in expr.keywords if keyword.name in own}
    return mine, tuple([keyword for keyword in expr.keywords if keyword.name not in own])


def refuse_options(former: Former, expr: Apply, others: Sequence[Keyword], own: Sequence[str]) -> None:
    """ProgramError K013 if there are options that a form does not have."""
    for keyword in others:
        message = f"`{expr.head}` has no option `{keyword.name}`"
        helps = did_you_mean(keyword.name, own)
        raise ProgramError(error("K013", message, former.span_for(keyword.span), helps=helps))


def items(expr: Expr) -> tuple[Expr, ...]:
    """The entries of a list; anything else is a list of one."""
    return expr.items if isinstance(expr, Listing) else (expr,)


def tensor(former: Former, expr: Expr, what: str) -> int:
    """The one tensor that an expression gives; ProgramError K028 or K026 if it gives none or several."""
    arg = evaluate(former, expr)
    span = former.span_for(expr.span)
    if arg.literal is not None:
        raise ProgramError(error("K028", f"{what} is a tensor, and this is a compile-time value", span))
    if len(arg.values) != 1:
        raise ProgramError(error("K026", f"{what} is one tensor, and this gives {len(arg.values)}", span))
    return arg.values[0]


def _grad(former: Former, expr: Apply) -> Arg:
    definition = function_argument(former, expr, 0)
    own, others = options(former, expr, ("wrt",))
    mark = len(former.builder.values)
    args: list[Arg] = []
    for item in expr.args[1:]:
        args.append(evaluate(former, item))
    keywords: dict[str, Arg] = {}
    for keyword in others:
        keywords[keyword.name] = evaluate(former, keyword.value)
    params = [param.name.name for param in definition.function.params]
    names = [*params[: len(args)], *keywords]
    distinct = _distinct(former, names, [*args, *keywords.values()], expr.span)
    args, keywords = distinct[: len(args)], dict(zip(keywords, distinct[len(args) :], strict=True))
    given = dict(zip(names, distinct, strict=False))
    start = len(former.builder.ops)
    name = definition.function.name.name
    call = Apply(name, expr.args[1:], others, expr.args[0].span, expr.span)
    result = inline(former, definition, call, args, keywords, mark)
    loss = scalar(former, result, f"the result of `{name}`", expr.span)
    wrt = _asked(former, own.get("wrt"), given, params, name)
    _check_some(former, wrt, expr, f"`{name}` is given no tensor of floating-point numbers")
    gradient = differentiate(former.builder, loss, wrt, start, former.span_for(expr.span), former.names.fresh)
    former.cotangents.extend(gradient.pairs)
    return Arg(expr.span, (loss, *gradient.values) if expr.head == "value_and_grad" else gradient.values)


def _distinct(former: Former, names: Sequence[str], args: Sequence[Arg], span: Span) -> list[Arg]:
    """The arguments, a tensor that is given twice once as a copy: each parameter has its own gradient."""
    seen: set[int] = set()
    made: list[Arg] = []
    for index, arg in enumerate(args):
        if len(arg.values) == 1 and arg.values[0] in seen:
            base = names[index] if index < len(names) else "reshard"
            arg = Arg(arg.span, former.builder.emit("reshard", arg.values, {}, span, (base,)))
        seen.update(arg.values)
        made.append(arg)
    return made


def scalar(former: Former, arg: Arg, what: str, span: Span) -> int:
    """The value of a scalar of floats; ProgramError K033 if it is none."""
    place = former.span_for(span)
    if arg.literal is not None:
        found = f"the compile-time value `{arg.literal}`"
    elif len(arg.values) != 1:
        found = f"{len(arg.values)} values"
    else:
        type_ = former.builder.type_of(arg.values[0])
        if type_.rank == 0 and type_.dtype in FLOATS:
            return arg.values[0]
        found = str(type_)
    message = f"only a scalar of floating-point numbers has a gradient, and {what} is {found}"
    helps = (Help("take the `sum` or the `mean` first"),) if "[" in found and "[]" not in found else ()
    raise ProgramError(error("K033", message, place, helps=helps))


def _asked(
    former: Former, wrt: Expr | None, given: Mapping[str, Arg], params: Sequence[str], function: str
) -> list[int]:
    """The arguments that the gradient is asked for; all tensors of floats, if nothing is said."""
    builder = former.builder
    if wrt is None:
        ordered = [given[name] for name in params if name in given]
        tensors = [arg.values[0] for arg in ordered if len(arg.values) == 1]
        return [value for value in tensors if builder.type_of(value).dtype in FLOATS]
    asked: list[int] = []
    for item in items(wrt):
        span = former.span_for(item.span)
        if not isinstance(item, Ref) or item.name not in params:
            said = item.name if isinstance(item, Ref) else item.span.text
            helps = did_you_mean(said, params)
            message = f"`{function}` has no parameter `{said}` to take the gradient for"
            raise ProgramError(error("K035", message, span, helps=helps))
        if item.name not in given or len(given[item.name].values) != 1:
            message = f"`{item.name}` is a compile-time value here, and has no gradient"
            raise ProgramError(error("K035", message, span))
        value = given[item.name].values[0]
        if value in asked:
            raise ProgramError(error("K014", f"`{item.name}` is asked for twice", span))
        check_float(former, value, item.name, span)
        asked.append(value)
    return asked


def check_float(former: Former, value: int, name: str, span: Span) -> None:
    """ProgramError K035 if a value holds no floats."""
    type_ = former.builder.type_of(value)
    if type_.dtype not in FLOATS:
        _no_gradient(f"`{name}` is {type_}, and only floating-point numbers have a gradient", span)


def _check_some(former: Former, values: Sequence[int], expr: Apply, why: str) -> None:
    """ProgramError K035 if a form asks for the gradients of nothing; `why` says so where it has no `:wrt`."""
    if not values:
        named = any(keyword.name == "wrt" for keyword in expr.keywords)
        reason = "`:wrt` names no tensor" if named else why
        _no_gradient(f"there is no gradient: {reason}", former.span_for(expr.span))


def _no_gradient(message: str, span: Span) -> NoReturn:
    raise ProgramError(error("K035", message, span))


def _gradients(former: Former, expr: Apply) -> Arg:
    own, others = options(former, expr, ("wrt",))
    refuse_options(former, expr, others, ("wrt",))
    if len(expr.args) != 1:
        message = f"`gradients` takes one scalar and is given {len(expr.args)} arguments"
        raise ProgramError(error("K012", message, former.span_for(expr.span)))
    loss = scalar(former, evaluate(former, expr.args[0]), "this", expr.args[0].span)
    values = chosen(former, own["wrt"]) if "wrt" in own else trainable(former, loss)
    _check_some(former, values, expr, f"the scalar {NO_SLOPE}")
    return Arg(expr.span, of_program(former, loss, values, expr.span))


def chosen(former: Former, wrt: Expr) -> list[int]:
    """The tensors of a list, each of floats and named once; ProgramError K035 or K014 if not."""
    values: list[int] = []
    for item in items(wrt):
        value = tensor(former, item, "what the gradient is asked for")
        span = former.span_for(item.span)
        check_float(former, value, former.local_name(value), span)
        if value in values:
            raise ProgramError(error("K014", f"`{item.span.text}` is asked for twice", span))
        values.append(value)
    return values


def trainable(former: Former, loss: int) -> list[int]:
    """The parameters of the program, of floats, that the loss depends on."""
    builder = former.builder
    floats = [value for value in former.parameters if builder.type_of(value).dtype in FLOATS]
    return influential(builder, loss, floats)


def of_program(former: Former, loss: int, values: Sequence[int], span: Span) -> tuple[int, ...]:
    """The gradients of a value of the program with respect to others."""
    place = former.span_for(span)
    gradient = differentiate(former.builder, loss, values, 0, place, former.names.fresh)
    former.cotangents.extend(gradient.pairs)
    return gradient.values
