"""Ops that the program declares: what a call becomes, and the ops of its body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from kina.diagnostics.finding import Label, ProgramError, error
from kina.frontend.ast import Apply, Expr, Function, OpForm
from kina.frontend.body import Declarations
from kina.frontend.builder import Arg, Builder, Literal
from kina.frontend.form_annotations import Annotations
from kina.frontend.form_call import called_here, match_arguments
from kina.frontend.form_check import recursion
from kina.frontend.form_expr import body, evaluate
from kina.frontend.former import Declared, Definition, Former, Frame, Globals
from kina.frontend.ir import Attribute, Mesh, Op, TensorType
from kina.frontend.names import Scope
from kina.frontend.op_types import Env, as_attribute, bind_sizes, literals, op_spec
from kina.source import Span


def declare(form: OpForm, visible: Globals) -> Declared:
    """The declared op; `visible` is what its types can name. ProgramError where its names clash."""

    def value(env: Env, expr: Expr) -> Literal:
        return literal_at(visible, env, expr)

    function = Function(form.name, (), (), form.body, form.span)
    return Declared(form, op_spec(form, value), Definition(function, False), value)


def literal_at(visible: Globals, env: Env, expr: Expr) -> Literal:
    former = Former(Builder(), Annotations(Mesh(())), visible, visible, Frame(env, Scope("", ""), visible))
    arg = evaluate(former, expr)
    if arg.literal is None:
        raise ProgramError(error("K021", "this is known at compile time, and it is a tensor", expr.span))
    return arg.literal


def call(
    former: Former, declared: Declared, expr: Apply, args: Sequence[Arg], keywords: Mapping[str, Arg]
) -> Arg:
    """The results of one op of the declared kind; in the body of another one, of the ops of its own body."""
    form = declared.form
    required = {
        each.name.name: declared.spec.by_name[each.name.name].default is None
        for each in form.params
        if each.name.name in declared.spec.by_name
    }
    names = {each.name.name: required.get(each.name.name, True) for each in form.params}
    given = match_arguments(former, form.name.name, names, form.name.span, expr, args, keywords)
    operands = [_operand(former, form, name.name, given[name.name]) for name, _ in form.operands]
    attributes = {
        name.name: _attribute(former, declared, name.name, given[name.name])
        for name, _ in form.attributes
        if name.name in given
    }
    kind, builder = form.name.name, former.builder
    try:
        if former.inside:
            full, _ = builder.resolved(kind, operands, attributes, expr.span)
            return Arg(expr.span, expand(former, declared, operands, dict(full), {}, expr.span))
        results = builder.emit(kind, operands, attributes, expr.span)
        op = builder.ops[-1]
        types = tuple([builder.type_of(operand) for operand in operands])
        assert former.declarations is not None
        former.declarations.body(kind, types, op.attributes)
    except ProgramError as fault:
        raise called_here(fault, expr.span, former.outermost) from None
    return Arg(expr.span, results)


def _operand(former: Former, form: OpForm, name: str, given: Arg) -> int:
    what = f"`{name}` of `{form.name.name}`"
    if given.literal is not None:
        message = f"{what} is a tensor, and this is the compile-time value `{given.literal}`"
        raise ProgramError(error("K028", message, former.span_for(given.span)))
    if len(given.values) != 1:
        message = f"{what} is one tensor, and this gives {len(given.values)}"
        raise ProgramError(error("K026", message, former.span_for(given.span)))
    return given.values[0]


def _attribute(former: Former, declared: Declared, name: str, given: Arg) -> Attribute:
    what, spec = f"`{name}` of `{declared.form.name.name}`", declared.spec.by_name[name]
    if given.literal is None:
        message = f"{what} is known at compile time, and this is a tensor"
        raise ProgramError(error("K021", message, former.span_for(given.span)))
    made = as_attribute(spec.type, given.literal)
    if made is None:
        message = f"{what} is a {spec.type}, and this is `{given.literal}`"
        raise ProgramError(error("K120", message, former.span_for(given.span)))
    return made


def expand(
    former: Former,
    declared: Declared,
    operands: Sequence[int],
    attributes: Mapping[str, Attribute],
    positions: Mapping[str, int],
    place: Span,
) -> tuple[int, ...]:
    """The results of the body of a declared op, whose ops are made here and now.

    `positions` are scalars that attributes of this kind stand for, constants where there is none.
    ProgramError K126 if the body does not give what the declaration says, K015 if it calls itself.
    """
    for index, active in enumerate(former.calls):
        if active is declared.definition:
            raise ProgramError(recursion(former.calls[index:], _call_of(declared, place)))
    types = [former.builder.type_of(operand) for operand in operands]
    env = _environment(former, declared, operands, types, attributes, positions, place)
    caller, inside = former.frame, former.inside
    path = former.path_for(declared.form.name.name)
    former.frame = Frame(env, caller.scope.inside(path), former.user)
    former.enter(place)
    former.calls.append(declared.definition)
    former.callees.append(id(declared.definition))
    former.inside = declared.form.name.name
    result = body(former, declared.form.body, declared.form.span)
    former.frame, former.inside = caller, inside
    former.calls.pop()
    former.depth -= 1
    _check_results(former, declared, result, types, attributes)
    return result.values


def _call_of(declared: Declared, place: Span) -> Apply:
    return Apply(declared.form.name.name, (), (), place, place)


def _environment(
    former: Former,
    declared: Declared,
    operands: Sequence[int],
    types: Sequence[TensorType],
    attributes: Mapping[str, Attribute],
    positions: Mapping[str, int],
    place: Span,
) -> Env:
    """What the names of a body stand for: sizes, operands and attributes."""
    form = declared.form
    env = bind_sizes(form, types, lambda inner, expr: literal_at(former.user, inner, expr))
    env |= literals(form, attributes)
    for (name, _), value in zip(form.operands, operands, strict=True):
        env[name.name] = Arg(name.span, (value,))
    for name, each in form.attributes:
        if each.kind.name != "position":
            continue
        value = positions.get(name.name, -1)
        if value < 0:
            number = str(attributes[name.name])
            parts: dict[str, Attribute] = {"value": number, "dtype": "i32", "shape": ()}
            (value,) = former.builder.emit("constant", (), parts, place)
        env[name.name] = Arg(name.span, (value,))
    return env


def _check_results(
    former: Former,
    declared: Declared,
    result: Arg,
    types: Sequence[TensorType],
    attributes: Mapping[str, Attribute],
) -> None:
    form = declared.form
    wanted = declared.spec.infer(form.name.name, types, attributes)
    if result.literal is not None:
        message = f"the body of `{form.name.name}` gives the compile-time value `{result.literal}`, no tensor"
        raise ProgramError(error("K126", message, form.body[-1].span))
    found = tuple([former.builder.type_of(value) for value in result.values])
    if found == wanted:
        return
    gives, says = (", ".join(map(str, each)) or "nothing" for each in (found, wanted))
    message = f"the body of `{form.name.name}` gives {gives}, and its declaration says {says}"
    labels = tuple([Label(each.span, "declared here") for each in form.results[:4]])
    raise ProgramError(error("K126", message, form.body[-1].span, labels=labels))


def attach(former: Former, declarations: Declarations) -> None:
    """Let a former and its builder know the ops that a program declares."""
    former.declarations = declarations
    former.builder.table = declarations.table

    def expanded(op: Op) -> tuple[int, ...]:
        builder, start = former.builder, len(former.builder.values)
        span_for, builder.span_for = builder.span_for, lambda _: op.span
        results = expand(former, former.user.ops[op.kind], op.operands, dict(op.attributes), {}, op.span)
        builder.span_for = span_for
        for value in builder.values[start:]:
            # They are named by what they are made for.
            former.names.release(value.name)
        return results

    former.builder.expand = expanded


def with_declared(globals_: Globals, forms: Sequence[OpForm]) -> Globals:
    """The globals with the ops that the forms declare; ProgramError where the names of a form clash."""
    ops = {form.name.name: declare(form, globals_) for form in forms}
    words = frozenset(
        [choice.name for form in forms for _, each in form.attributes for choice in each.choices]
    )
    return replace(globals_, ops=ops, words=words)
