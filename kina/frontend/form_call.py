"""Calls of functions: each is inlined where it stands, so each is specialised to its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kina.diagnostics.finding import Finding, Label, ProgramError, error
from kina.frontend.ast import Apply, Param
from kina.frontend.builder import Arg
from kina.frontend.form_again import again, begin, remember
from kina.frontend.form_check import recursion
from kina.frontend.form_expr import annotate, body, evaluate
from kina.frontend.form_types import tensor_type
from kina.frontend.former import Definition, Former, Frame
from kina.frontend.ir import TensorType
from kina.frontend.suggest import did_you_mean
from kina.source import Span

#: Labels of a finding that calls still add theirs to.
_LABELS = 4


def inline(
    former: Former,
    callee: Definition,
    call: Apply,
    args: Sequence[Arg],
    keywords: Mapping[str, Arg],
    mark: int,
) -> Arg:
    """The results of a call, whose ops are made here and now under a scope of their own.

    `mark` is the number of values there were before the arguments.
    """
    for position, active in enumerate(former.calls):
        if active is callee:
            raise ProgramError(recursion(former.calls[position:], call))
    function = callee.function
    caller, outermost = former.frame, former.outermost
    names = {param.name.name: param.default is None for param in function.params}
    defined = None if callee.library else function.name.span
    given = match_arguments(former, function.name.name, names, defined, call, args, keywords)
    path = former.path_for(function.name.name)
    visible = former.library if callee.library else former.user
    former.frame = Frame({}, caller.scope.inside(path), visible)
    former.enter(call.span)
    inside_of = call.span if callee.library and outermost is None else outermost
    former.callees.append(id(callee))
    begun = begin(former, callee, given, path, inside_of)
    former.calls.append(callee)
    former.formed.add(function.name.name)
    former.outermost = inside_of
    try:
        result = again(former, begun)
        if result is None:
            result = _formed(former, callee, call, given, mark)
            remember(former, begun, result)
    except ProgramError as fault:
        raise called_here(fault, call.span, inside_of) from None
    former.frame, former.outermost = caller, outermost
    former.calls.pop()
    former.depth -= 1
    if len(result.values) == 1 and former.is_fresh(result.values[0], mark):
        former.rename(result.values[0], function.name.name)
    return Arg(call.span, result.values, result.literal)


def _formed(former: Former, callee: Definition, call: Apply, given: Mapping[str, Arg], mark: int) -> Arg:
    """The results of the body of a call that was entered."""
    function = callee.function
    for param in function.params:
        former.frame.env[param.name.name] = _bound(former, param, given.get(param.name.name), call, mark)
    inside = len(former.builder.values)
    result = body(former, function.body, function.span)
    return annotate(former, result, function.annotations, inside, function.name.name)


def match_arguments(
    former: Former,
    name: str,
    params: Mapping[str, bool],
    defined: Span | None,
    call: Apply,
    args: Sequence[Arg],
    keywords: Mapping[str, Arg],
) -> dict[str, Arg]:
    """Which parameter of `name` each argument is for; `params` says of each whether it must be given.

    ProgramError K012, K013 or K014 where they do not fit; `defined` is where the user defines it.
    """
    names = list(params)
    given = dict(zip(names, args, strict=False))
    for keyword in call.keywords:
        span = former.span_for(keyword.span)
        if keyword.name not in names:
            message = f"`{name}` has no parameter `{keyword.name}`"
            helps = did_you_mean(keyword.name, names)
            raise ProgramError(error("K013", message, span, notes=_named(names), helps=helps))
        if keyword.name in given:
            raise ProgramError(error("K014", f"`{keyword.name}` is given twice", span))
        given[keyword.name] = keywords[keyword.name]
    missing = [each for each, needed in params.items() if needed and each not in given]
    if len(args) <= len(params) and not missing:
        return given
    needed = sum(params.values())
    takes = f"{needed}" if needed == len(params) else f"{needed} to {len(params)}"
    labels = () if defined is None else (Label(defined, "is defined here"),)
    message = f"`{name}` takes {takes} arguments and is given {len(args) + len(keywords)}"
    at = f"`{missing[0]}` is missing" if missing else ""
    place, notes = former.span_for(call.span), _named(names)
    raise ProgramError(error("K012", message, place, at, labels=labels, notes=notes))


def _named(names: Sequence[str]) -> tuple[str, ...]:
    """The note that lists parameters, if there are any."""
    return (f"its parameters are {', '.join([f'`{each}`' for each in names])}",) if names else ()


def _bound(former: Former, param: Param, given: Arg | None, call: Apply, mark: int) -> Arg:
    """What a parameter stands for inside the call, its declared type checked."""
    name = param.name.name
    if given is None:
        given = evaluate(former, param.default or param.name)
    if given.literal is None and len(given.values) != 1:
        message = f"the argument `{name}` is {len(given.values)} results"
        raise ProgramError(error("K026", message, former.span_for(given.span)))
    if param.type is not None:
        _check_type(former, param, tensor_type(former, param.type), given)
    return annotate(former, given, param.annotations, mark, name)


def _check_type(former: Former, param: Param, declared: TensorType, given: Arg) -> None:
    label = (Label(param.span, f"`{param.name.name}` is declared {declared}"),)
    if given.literal is not None:
        message = f"`{param.name.name}` is a tensor, and `{given.literal}` is a compile-time value"
        raise ProgramError(error("K028", message, given.span, labels=label))
    actual = former.builder.type_of(given.values[0])
    if actual != declared:
        message = f"`{param.name.name}` is declared {declared} and is given {actual}"
        raise ProgramError(error("K023", message, given.span, labels=label))


def called_here(fault: ProgramError, call: Span, outermost: Span | None) -> ProgramError:
    """The fault as the caller sees it: of library code at the user's call, else with a label on the call."""
    return ProgramError(*[_seen_from(finding, call, outermost) for finding in fault.findings])


def _seen_from(finding: Finding, call: Span, outermost: Span | None) -> Finding:
    primary = finding.primary
    if outermost is not None and primary is not None and is_library(primary):
        notes = (*finding.notes, f"inside library code at {primary}")
        return replace(finding, primary=outermost, notes=notes, labels=_outside(finding.labels))
    if outermost is not None or len(finding.labels) >= _LABELS or finding.code == "K015":
        return finding
    if any(label.span == call for label in finding.labels):
        return finding
    return replace(finding, labels=(*finding.labels, Label(call, "called here")))


def _outside(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    return tuple([label for label in labels if not is_library(label.span)])


def is_library(span: Span) -> bool:
    """Whether a place is in Kina's own library."""
    return span.source.name.startswith("library:")
