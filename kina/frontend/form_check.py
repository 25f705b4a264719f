"""Checks functions that the entry never calls: their names exist, and they do not call themselves.

Called functions are checked by forming them; shapes of the others are known only at a call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kina.diagnostics.finding import Finding, Label, error
from kina.frontend.ast import (
    Annotated,
    Apply,
    Binding,
    Expr,
    Function,
    If,
    Let,
    Listing,
    OpForm,
    Param,
    Ref,
    Repeat,
    Values,
)
from kina.frontend.autodiff import GRADIENT_FORMS
from kina.frontend.form_static import STATIC
from kina.frontend.former import Declared, Definition, Globals
from kina.frontend.forms import FORMS, WORDS
from kina.frontend.ir import DTYPE_BYTES
from kina.frontend.op_types import size_names
from kina.frontend.suggest import did_you_mean

#: Findings about uncalled functions after which no more of these are looked at.
_FINDINGS = 50
_LITERALS = frozenset({"true", "false"}) | WORDS


@dataclass(slots=True)
class _Walk:
    """One function being walked: the variables in sight, what it calls, and what is wrong."""

    visible: Globals
    bound: dict[str, int] = field(default_factory=dict)
    calls: dict[str, Apply] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)


def check_uncalled(visible: Globals, uncalled: Iterable[Definition | Declared]) -> list[Finding]:
    """What is wrong with functions and ops that were not formed, in the order of the files."""
    findings: list[Finding] = []
    calls: dict[str, Mapping[str, Apply]] = {}
    for each in uncalled:
        walk = _Walk(visible)
        if isinstance(each, Declared):
            _op(walk, each.form)
        else:
            _function(walk, each.function)
        definition = each.definition if isinstance(each, Declared) else each
        findings.extend(walk.findings)
        if len(findings) >= _FINDINGS:
            return findings
        calls[definition.function.name.name] = walk.calls
    findings.extend(_cycles(calls, visible))
    return findings


def _function(walk: _Walk, function: Function) -> None:
    for param in function.params:
        _param(walk, param)
        _bind(walk, [param.name.name])
    _all(walk, function.body)


def _op(walk: _Walk, form: OpForm) -> None:
    _bind(walk, [name.name for name in size_names(form)])
    for _, type_ in form.operands:
        _all(walk, type_.shape)
    for _, attribute in form.attributes:
        bounds = (attribute.default, attribute.least, attribute.most)
        _all(walk, [each for each in bounds if each is not None])
    _bind(walk, [param.name.name for param in form.params])
    for type_ in form.results:
        _all(walk, type_.shape)
        if type_.dtype.name not in DTYPE_BYTES:
            _ref(walk, type_.dtype)
    _all(walk, form.body)


def _param(walk: _Walk, param: Param) -> None:
    if param.type is not None:
        _all(walk, param.type.shape)
    if param.default is not None:
        _expr(walk, param.default)


def _all(walk: _Walk, items: Iterable[Expr]) -> None:
    for item in items:
        _expr(walk, item)


def _expr(walk: _Walk, expr: Expr) -> None:
    match expr:
        case Ref():
            _ref(walk, expr)
        case Apply():
            _apply(walk, expr)
        case Let():
            names = _bindings(walk, expr.bindings)
            _all(walk, expr.body)
            _unbind(walk, names)
        case Listing() | Values():
            _all(walk, expr.items)
        case Annotated():
            _expr(walk, expr.value)
        case If():
            _all(walk, (expr.condition, expr.then, expr.otherwise))
        case Repeat():
            _repeat(walk, expr)


def _repeat(walk: _Walk, expr: Repeat) -> None:
    _expr(walk, expr.count)
    for binding in expr.carried:
        _expr(walk, binding.value)
    _all(walk, [instance.index for instance in expr.instances])
    names = [expr.index.name, *[binding.names[0].name for binding in expr.carried]]
    _bind(walk, names)
    for param in expr.params:
        _param(walk, param)
        _bind(walk, [param.name.name])
        names.append(param.name.name)
    _all(walk, expr.body)
    _unbind(walk, names)


def _bindings(walk: _Walk, bindings: Iterable[Binding]) -> list[str]:
    names: list[str] = []
    for binding in bindings:
        _expr(walk, binding.value)
        new = [name.name for name in binding.names]
        _bind(walk, new)
        names.extend(new)
    return names


def _bind(walk: _Walk, names: Iterable[str]) -> None:
    for name in names:
        walk.bound[name] = walk.bound.get(name, 0) + 1


def _unbind(walk: _Walk, names: Iterable[str]) -> None:
    for name in names:
        walk.bound[name] -= 1
        if not walk.bound[name]:
            del walk.bound[name]


def _ref(walk: _Walk, ref: Ref) -> None:
    known = (walk.bound, walk.visible.constants, walk.visible.words, _LITERALS)
    if any(ref.name in names for names in known):
        return
    helps = did_you_mean(ref.name, [*walk.bound, *walk.visible.constants])
    walk.findings.append(error("K010", f"`{ref.name}` is not defined here", ref.span, helps=helps))


def _apply(walk: _Walk, expr: Apply) -> None:
    functions = walk.visible.functions
    if expr.head in functions or expr.head in walk.visible.ops:
        walk.calls.setdefault(expr.head, expr)
    elif expr.head in GRADIENT_FORMS:
        _gradient_form(walk, expr)
        return
    elif expr.head not in FORMS and expr.head not in STATIC:
        helps = did_you_mean(expr.head, [*functions, *walk.visible.ops, *FORMS, *STATIC])
        message = f"`{expr.head}` is no op and no function"
        walk.findings.append(error("K011", message, expr.head_span, helps=helps))
    _all(walk, expr.args)
    _all(walk, [keyword.value for keyword in expr.keywords])


def _gradient_form(walk: _Walk, expr: Apply) -> None:
    """A form that differentiates: one of its arguments may name a function, and `:wrt` names parameters."""
    place = GRADIENT_FORMS[expr.head]
    for position, arg in enumerate(expr.args):
        if position != place:
            _expr(walk, arg)
        elif isinstance(arg, Ref) and arg.name in walk.visible.functions:
            walk.calls.setdefault(arg.name, expr)
        else:
            known = walk.visible.functions
            helps = did_you_mean(arg.name, known) if isinstance(arg, Ref) else ()
            walk.findings.append(error("K011", f"`{arg.span.text}` is no function", arg.span, helps=helps))
    of_function = place == 0
    _all(walk, [each.value for each in expr.keywords if not (of_function and each.name == "wrt")])


def _cycles(calls: Mapping[str, Mapping[str, Apply]], visible: Globals) -> list[Finding]:
    """A finding for each group of functions, none of them called, that call each other."""
    done: set[str] = set()
    findings: list[Finding] = []
    for start in calls:
        if start in done:
            continue
        path = {start: None}
        stack = [(start, iter(calls[start].items()))]
        while stack:
            name, remaining = stack[-1]
            callee, call = next(remaining, (None, None))
            if callee is None or call is None:
                done.add(name)
                path.pop(name, None)
                stack.pop()
            elif callee in path:
                findings.append(_recursion(list(path), callee, call, visible))
            elif callee in calls and callee not in done:
                path[callee] = None
                stack.append((callee, iter(calls[callee].items())))
    return findings


def _recursion(path: list[str], callee: str, call: Apply, visible: Globals) -> Finding:
    known = {**visible.functions, **{name: each.definition for name, each in visible.ops.items()}}
    return recursion([known[name] for name in path[path.index(callee) :]], call)


def recursion(cycle: Collection[Definition], call: Apply) -> Finding:
    """The finding that functions call each other, the last of them by `call`."""
    names = [definition.function.name for definition in cycle]
    path = " → ".join([f"`{name.name}`" for name in [*names, names[0]]])
    labels = tuple([Label(name.span, f"`{name.name}` is part of the cycle") for name in names[:4]])
    return error("K015", f"functions call themselves: {path}", call.span, labels=labels)
