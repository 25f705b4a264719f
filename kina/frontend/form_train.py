"""`carry` and `train_step`: what the next training step begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kina.diagnostics.finding import Help, Label, ProgramError, error
from kina.frontend.ast import Apply, Expr, Keyword, Number
from kina.frontend.builder import Arg, Call
from kina.frontend.form_call import inline
from kina.frontend.form_expr import evaluate, literal
from kina.frontend.form_grad import (
    NO_SLOPE,
    chosen,
    function_argument,
    items,
    of_program,
    options,
    refuse_options,
    scalar,
    tensor,
    trainable,
)
from kina.frontend.former import Carried, Definition, Former, Frame
from kina.frontend.forms import apply as build
from kina.frontend.names import Scope
from kina.frontend.ops import OpError
from kina.frontend.ops.core import counted
from kina.frontend.ops.creation import element_text
from kina.frontend.suggest import did_you_mean
from kina.source import Span

_OWN = ("wrt", "frozen", "also", "norm", "clip")


def carry(former: Former, expr: Apply) -> Arg:
    """`(carry w value)`: the value, which is `w` in the next training step and lies as `w` does.

    ProgramError K036 if `w` is no parameter of the program, K037 if the types differ, K038 if `w` has
    a next value already.
    """
    own, others = options(former, expr, ("first",))
    refuse_options(former, expr, others, ("first",))
    if len(expr.args) != 2:
        message = f"`carry` takes a parameter and its next value and is given {len(expr.args)} arguments"
        raise ProgramError(error("K012", message, former.span_for(expr.span)))
    parameter = _parameter(former, expr.args[0])
    mark = len(former.builder.values)
    arg = evaluate(former, expr.args[1])
    value = _next_value(former, parameter, arg, expr.args[1].span)
    if "first" in own:
        _first(former, parameter, own["first"])
    return Arg(expr.span, (carried(former, parameter, value, mark, expr.span),))


def _parameter(former: Former, expr: Expr) -> int:
    arg = evaluate(former, expr)
    if len(arg.values) == 1 and arg.values[0] in former.parameter_set:
        return arg.values[0]
    span = former.span_for(expr.span)
    helps = (Help("a parameter of the entry, or one that a `repeat` declares, is carried"),)
    raise ProgramError(error("K036", f"`{expr.span.text}` is no parameter of the program", span, helps=helps))


def _next_value(former: Former, parameter: int, arg: Arg, span: Span) -> int:
    name = former.builder.values[parameter].name
    declared = former.builder.type_of(parameter)
    place = former.span_for(span)
    labels = (Label(former.builder.values[parameter].span, f"`{name}` is {declared}"),)
    if arg.literal is not None or len(arg.values) != 1:
        found = "a compile-time value" if arg.literal is not None else f"{len(arg.values)} values"
        message = f"the next `{name}` is one tensor, and this is {found}"
        raise ProgramError(error("K037", message, place, labels=labels))
    actual = former.builder.type_of(arg.values[0])
    if actual != declared:
        message = f"the next `{name}` is {declared} as it is now, and this is {actual}"
        raise ProgramError(error("K037", message, place, labels=labels))
    return arg.values[0]


def _first(former: Former, parameter: int, expr: Expr) -> None:
    value = literal(former, expr, "the first value of a parameter")
    span = former.span_for(expr.span)
    if isinstance(value, str | tuple):
        message = f"the first value of a parameter is one number, and this is `{expr.span.text}`"
        raise ProgramError(error("K021", message, span))
    try:
        former.initial[parameter] = element_text(value, former.builder.type_of(parameter).dtype)
    except OpError as fault:
        raise former.builder.located(fault, expr.span) from None


def carried(former: Former, parameter: int, value: int, mark: int, span: Span) -> int:
    """Makes a value that an op made since `mark`, else a copy of it, the next value of a parameter.

    It gets the parameter's annotations. ProgramError K038 if the parameter has a next value already.
    """
    builder = former.builder
    name = builder.values[parameter].name
    place = former.span_for(span)
    known = former.carried.get(parameter)
    if known is not None:
        labels = (Label(known.span, "the first is here"),)
        raise ProgramError(error("K038", f"`{name}` is given two next values", place, labels=labels))
    if not former.is_fresh(value, mark) or value in former.next_values:
        (value,) = builder.emit("reshard", (value,), {}, span)
    former.names.release(builder.values[value].name)
    builder.rename(value, former.names.fresh(f"{name}.next"))
    former.annotations.follow(value, builder.values[value].name, parameter)
    former.carried[parameter] = Carried(value, place)
    former.next_values.add(value)
    return value


@dataclass(frozen=True, slots=True)
class _Optimizer:
    """A function from a parameter, its gradient and its states to their next values; `options` go to every
    call as they are."""

    definition: Definition
    states: tuple[str, ...]
    options: Mapping[str, Arg]
    place: Span


def train_step(former: Former, expr: Apply) -> Arg:
    """`(train_step loss optimizer …)`: the loss, and the next value of every parameter that it depends on.

    The optimizer is called for each; what it takes besides parameter, gradient and options is state,
    which are parameters of the program of their own, zero at first and carried too.
    """
    own, others = options(former, expr, _OWN)
    if len(expr.args) != 2:
        message = f"`train_step` takes a loss and an optimizer and is given {len(expr.args)} arguments"
        raise ProgramError(error("K012", message, former.span_for(expr.span)))
    optimizer = _optimizer(former, expr, others)
    loss = scalar(former, evaluate(former, expr.args[0]), "this", expr.args[0].span)
    also = [tensor(former, item, "a result") for item in items(own["also"])] if "also" in own else []
    parameters = _trained(former, expr, own, loss)
    gradients = of_program(former, loss, parameters, expr.span)
    norm, gradients = _clipped(former, own, gradients, expr.span)
    next_values: list[int] = []
    next_states: list[int] = []
    for parameter, gradient in zip(parameters, gradients, strict=True):
        value, *states = _updated(former, optimizer, parameter, gradient, expr.span)
        next_values.append(value)
        next_states.extend(states)
    return Arg(expr.span, (loss, *norm, *also, *next_values, *next_states))


def _optimizer(former: Former, expr: Apply, others: Sequence[Keyword]) -> _Optimizer:
    definition = function_argument(former, expr, 1)
    params = definition.function.params
    name, place = definition.function.name.name, expr.args[1].span
    given = {keyword.name: evaluate(former, keyword.value) for keyword in others}
    if len(params) < 2:
        message = f"`{name}` is no optimizer: it takes {len(params)} arguments"
        helps = (Help("an optimizer takes a parameter, its gradient, states and options"),)
        raise ProgramError(error("K039", message, former.span_for(place), helps=helps))
    known = [param.name.name for param in params[2:]]
    for keyword in others:
        if keyword.name not in known:
            message = f"neither `train_step` nor `{name}` has an option `{keyword.name}`"
            guess = did_you_mean(keyword.name, [*known, *_OWN])
            raise ProgramError(error("K013", message, former.span_for(keyword.span), helps=guess))
    states = tuple(
        [param.name.name for param in params[2:] if param.default is None and param.name.name not in given]
    )
    return _Optimizer(definition, states, given, place)


def _trained(former: Former, expr: Apply, own: Mapping[str, Expr], loss: int) -> list[int]:
    """The parameters that are trained: those of `:wrt`, else all that the loss depends on, but the frozen."""
    if "wrt" in own:
        values = chosen(former, own["wrt"])
        for value, item in zip(values, items(own["wrt"]), strict=True):
            if value not in former.parameter_set:
                message = f"`{item.span.text}` is no parameter of the program"
                raise ProgramError(error("K036", message, former.span_for(item.span)))
    else:
        values = trainable(former, loss)
    frozen = {_parameter(former, item) for item in items(own["frozen"])} if "frozen" in own else set()
    trained = [value for value in values if value not in frozen]
    if not trained:
        why = "`:wrt` names no tensor" if "wrt" in own else f"the loss {NO_SLOPE}"
        why = "all that would be trained is frozen" if values else why
        raise ProgramError(error("K035", f"there is nothing to train: {why}", former.span_for(expr.span)))
    return trained


def _clipped(
    former: Former, own: Mapping[str, Expr], gradients: tuple[int, ...], span: Span
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The norm of all gradients together, if it is asked for, and the gradients, scaled if it is limited."""
    wanted = "norm" in own and literal(former, own["norm"], "`:norm`") is True
    if not wanted and "clip" not in own:
        return (), gradients
    dtype = "f64" if any(former.builder.type_of(each).dtype == "f64" for each in gradients) else "f32"
    squares = [_square_sum(former, gradient, dtype, span) for gradient in gradients]
    total = squares[0]
    for square in squares[1:]:
        total = _op(former, "add", span, total, square)
    norm = _op(former, "sqrt", span, total)
    former.rename(norm, "gradient_norm")
    if "clip" in own:
        inverse = _op(
            former, "divide", span, evaluate(former, own["clip"]), _op(former, "add", span, norm, 1e-6)
        )
        factor = _op(former, "minimum", span, inverse, 1.0)
        gradients = tuple([_scaled(former, gradient, factor, span) for gradient in gradients])
    return ((norm,) if wanted else ()), gradients


def _square_sum(former: Former, value: int, dtype: str, span: Span) -> int:
    wide = _op(former, "convert", span, value, Arg(span, (), dtype))
    return _op(former, "sum", span, _op(former, "multiply", span, wide, wide))


def _scaled(former: Former, value: int, factor: int, span: Span) -> int:
    dtype = Arg(span, (), former.builder.type_of(value).dtype)
    return _op(former, "multiply", span, value, _op(former, "convert", span, factor, dtype))


def _op(former: Former, name: str, span: Span, *args: int | float | Arg) -> int:
    """The result of a surface form of values, numbers and evaluated arguments."""
    given = tuple([_as_arg(each, span) for each in args])
    return build(former.builder, Call(name, given, {}, span))[0]


def _as_arg(given: int | float | Arg, span: Span) -> Arg:
    match given:
        case Arg():
            return given
        case float():
            return Arg(span, (), given)
    return Arg(span, (given,))


def _updated(former: Former, optimizer: _Optimizer, parameter: int, gradient: int, span: Span) -> list[int]:
    """The next values of a parameter and of its states, carried."""
    name = former.builder.values[parameter].name
    function = optimizer.definition.function
    states = [_state(former, parameter, state, optimizer.place) for state in optimizer.states]
    names = [function.params[0].name.name, function.params[1].name.name, *optimizer.states]
    values = [parameter, gradient, *states]
    args = {each: Arg(span, (value,)) for each, value in zip(names, values, strict=True)}
    args |= optimizer.options
    keywords = tuple([Keyword(each, Number(0, span), span) for each in args])
    call = Apply(function.name.name, (), keywords, optimizer.place, span)
    mark = len(former.builder.values)
    outer = former.frame
    # What is computed for a parameter is named after it: `layer[3].wq.sgd.multiply`.
    former.frame = Frame(outer.env, Scope(f"{name}.", f"{name}."), outer.visible)
    result = inline(former, optimizer.definition, call, [], args, mark)
    former.frame = outer
    _check_results(former, optimizer, parameter, result, span)
    targets = [parameter, *states]
    return [
        carried(former, target, value, mark, span)
        for target, value in zip(targets, result.values, strict=True)
    ]


def _state(former: Former, parameter: int, name: str, span: Span) -> int:
    """A new parameter of the program, zero at first, that accompanies another and lies as it does."""
    builder = former.builder
    owner = builder.values[parameter]
    value = builder.parameter(former.names.fresh(f"{owner.name}.{name}"), owner.type, span)
    former.add_parameter(value)
    former.annotations.follow(value, builder.values[value].name, parameter)
    former.initial[value] = "0"
    return value


def _check_results(former: Former, optimizer: _Optimizer, parameter: int, result: Arg, span: Span) -> None:
    """ProgramError K039 if an optimizer does not give the next value of the parameter and of each state."""
    name = optimizer.definition.function.name.name
    wanted = 1 + len(optimizer.states)
    listed = "".join([f" and `{state}`" for state in optimizer.states])
    place = former.span_for(optimizer.place)
    if len(result.values) != wanted:
        message = (
            f"`{name}` gives {counted(len(result.values), 'result')}, "
            f"and the next parameter{listed} are {wanted}"
        )
        helps = (Help("what is no state is an option: give it as `:name value`, or a default"),)
        raise ProgramError(error("K039", message, place, helps=helps))
    type_ = former.builder.type_of(parameter)
    for value in result.values:
        actual = former.builder.type_of(value)
        if actual != type_:
            said = former.builder.values[parameter].name
            message = f"`{name}` gives {actual} where the next `{said}` and its states are {type_}"
            raise ProgramError(error("K039", message, place))
