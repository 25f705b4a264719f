"""`repeat`: a layer unrolled at compile time, with parameters of its own for each repetition."""

from __future__ import annotations

from kina.diagnostics.finding import ProgramError, error
from kina.frontend.ast import AnnotationForm, Expr, Param, Ref, Repeat
from kina.frontend.builder import Arg
from kina.frontend.form_annotations import SizePlace
from kina.frontend.form_expr import body, evaluate, refuse_inside, whole
from kina.frontend.form_types import tensor_type
from kina.frontend.former import Former, Frame
from kina.frontend.suggest import did_you_mean

#: Repetitions of one form, at most.
COUNT_LIMIT = 100_000

_Extra = dict[tuple[int, str], tuple[AnnotationForm, ...]]


def repeat(former: Former, expr: Repeat) -> Arg:
    """The carried values after the last repetition; each makes the parameters that it declares."""
    count = whole(former, expr.count, "the count of `repeat`")
    if not 0 <= count <= COUNT_LIMIT:
        message = f"`{expr.name.name}` is repeated {count} times; 0 to {COUNT_LIMIT:,} are possible"
        raise ProgramError(error("K032", message, expr.count.span))
    _check_names(expr)
    states: list[Arg] = []
    for binding in expr.carried:
        states.append(evaluate(former, binding.value))
    extra = _instances(former, expr, count)
    outer = former.frame
    base = former.path_for(expr.name.name)
    for index in range(count):
        scope = outer.scope.inside(f"{base}[{index}]")
        former.frame = Frame(dict(outer.env), scope, outer.visible)
        env = former.frame.env
        env[expr.index.name] = Arg(expr.index.span, (), index)
        for binding, state in zip(expr.carried, states, strict=True):
            env[binding.names[0].name] = state
        for param in expr.params:
            env[param.name.name] = parameter(former, param, extra.get((index, param.name.name), ()))
        former.enter(expr.span)
        states = _split(expr, body(former, expr.body, expr.span))
        former.depth -= 1
    former.frame = outer
    return _joined(expr, states)


def parameter(former: Former, param: Param, extra: tuple[AnnotationForm, ...] = ()) -> Arg:
    """A new parameter of the program, declared by `param` in the present scope."""
    name = param.name.name
    if former.inside:
        refuse_inside(
            former, param.span, f"the parameter `{name}`", "an op has the operands that it declares"
        )
    if param.default is not None:
        return evaluate(former, param.default)
    if param.type is None:
        message = f"`{name}` is a parameter of the program and has no type"
        raise ProgramError(error("K027", message, param.span))
    type_ = tensor_type(former, param.type)
    value = former.builder.parameter(former.name_for(name), type_, param.span)
    former.add_parameter(value)
    former.annotations.sizes[value] = [_size_place(former, size) for size in param.type.shape]
    former.annotations.add(value, name, type_, (*param.annotations, *extra))
    arg = Arg(param.name.span, (value,))
    former.record(param.span, arg, value, True)
    return arg


def _size_place(former: Former, size: Expr) -> SizePlace:
    """Where a size stands, and its number: there, or in the constant that it names."""
    number = size.span
    constants = former.frame.visible.constants
    if isinstance(size, Ref) and size.name not in former.frame.env and size.name in constants:
        number = constants[size.name].span
    return SizePlace(size.span, number if number.text.isdecimal() else None)


def _check_names(expr: Repeat) -> None:
    seen = {expr.index.name}
    for name in [*[binding.names[0] for binding in expr.carried], *[param.name for param in expr.params]]:
        if name.name in seen:
            raise ProgramError(error("K014", f"`{name.name}` is named twice in one `repeat`", name.span))
        seen.add(name.name)


def _instances(former: Former, expr: Repeat, count: int) -> _Extra:
    names = [param.name.name for param in expr.params]
    extra: _Extra = {}
    for instance in expr.instances:
        index = whole(former, instance.index, "the index of a repetition")
        if not 0 <= index < count:
            message = f"`{expr.name.name}` has no repetition {index}; it has {count}, counted from 0"
            raise ProgramError(error("K021", message, instance.index.span))
        for name, forms in instance.params:
            if name.name not in names:
                message = f"`{expr.name.name}` has no parameter `{name.name}`"
                raise ProgramError(error("K010", message, name.span, helps=did_you_mean(name.name, names)))
            key = (index, name.name)
            extra[key] = (*extra.get(key, ()), *forms)
    return extra


def _split(expr: Repeat, results: Arg) -> list[Arg]:
    if isinstance(results.literal, tuple) and len(expr.carried) != 1:
        states = [Arg(results.span, (), part) for part in results.literal]
    elif results.literal is not None:
        states = [results]
    else:
        states = [Arg(results.span, (value,)) for value in results.values]
    if len(states) != len(expr.carried):
        message = f"`{expr.name.name}` carries {len(expr.carried)} values and its body gives {len(states)}"
        raise ProgramError(error("K026", message, expr.body[-1].span))
    return states


def _joined(expr: Repeat, states: list[Arg]) -> Arg:
    if len(states) == 1:
        return Arg(expr.span, states[0].values, states[0].literal)
    if any(state.literal is not None for state in states):
        literals = tuple([state.literal for state in states if state.literal is not None])
        if len(literals) != len(states):
            message = "tensors and compile-time values stand side by side as results"
            raise ProgramError(error("K028", message, expr.span))
        return Arg(expr.span, (), literals)
    return Arg(expr.span, tuple([value for state in states for value in state.values]))
