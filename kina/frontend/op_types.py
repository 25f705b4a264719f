"""What a declaration says of types: sizes are bound by operands, attributes checked, results computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from kina.diagnostics.finding import Label, ProgramError, error
from kina.frontend.ast import AttributeForm, Expr, OpForm, Ref, TypeForm
from kina.frontend.builder import Arg, Literal
from kina.frontend.ir import DTYPE_BYTES, Attribute, TensorType
from kina.frontend.ops.core import Attributes, AttributeSpec, Default, OpError, OpSpec, Results, Types
from kina.source import Span

#: Numbers of attributes become facts, which have 32 bits.
LARGEST = 2**31 - 1

Env = dict[str, Arg]
#: The compile-time value of an expression in which the names of an environment stand for literals.
Evaluate = Callable[[Env, Expr], Literal]


def op_spec(form: OpForm, evaluate: Evaluate) -> OpSpec:
    """The row of the op table of a declared op; ProgramError where the declaration names something twice."""
    _check_names(form)
    reader = _Reader(form, evaluate)
    names = tuple([name.name for name, _ in form.operands])
    return OpSpec(
        kind=form.name.name,
        least=len(names),
        most=len(names),
        infer=reader.infer,
        doc="declared by the program",
        attributes=tuple([reader.attribute(name, each) for name, each in form.attributes]),
        section="declared",
        operand_names=names,
    )


def _check_names(form: OpForm) -> None:
    seen: dict[str, Span] = {}
    for param in form.params:
        name = param.name
        if name.name in seen:
            message = f"`{form.name.name}` has two parameters `{name.name}`"
            raise ProgramError(
                error("K014", message, name.span, labels=(Label(seen[name.name], "first here"),))
            )
        seen[name.name] = name.span
    for ref in size_names(form):
        if ref.name in seen:
            message = f"`{ref.name}` is a parameter of `{form.name.name}` and a size in its types"
            labels = (Label(seen[ref.name], "the parameter"),)
            raise ProgramError(error("K014", message, ref.span, labels=labels))


def size_names(form: OpForm) -> tuple[Ref, ...]:
    """The names that the types of operands bind: sizes, and dtypes that are no dtype's name."""
    found: list[Ref] = []
    for _, type_ in form.operands:
        found += [type_.dtype] if type_.dtype.name not in DTYPE_BYTES else []
        found += [size for size in type_.shape if isinstance(size, Ref)]
    return tuple(found)


def bind_sizes(form: OpForm, types: Types, evaluate: Evaluate) -> Env:
    """What each name in the types of the operands stands for; OpError K125 if an operand does not fit."""
    env: Env = {}
    for (name, declared), type_ in zip(form.operands, types, strict=True):
        _bind(form, name, declared, type_, env)
    for (name, declared), type_ in zip(form.operands, types, strict=True):
        for dim, (size, expr) in enumerate(zip(type_.shape, declared.shape, strict=True)):
            if isinstance(expr, Ref):
                continue
            wanted = evaluate(env, expr)
            if wanted != size:
                of = f"`{expr.span.text}`, which is {wanted}" if str(wanted) != expr.span.text else wanted
                _misfit(f"dim {dim} of `{name.name}` of `{form.name.name}` is declared {of}", size, expr.span)
    return env


def _bind(form: OpForm, name: Ref, declared: TypeForm, type_: TensorType, env: Env) -> None:
    what = f"`{name.name}` of `{form.name.name}`"
    if len(declared.shape) != type_.rank:
        _misfit(f"{what} is declared with {len(declared.shape)} dims", type_, declared.span)
    dtype = declared.dtype
    if dtype.name in DTYPE_BYTES:
        if dtype.name != type_.dtype:
            _misfit(f"{what} is declared {dtype.name}", type_, dtype.span)
    else:
        bound = env.setdefault(dtype.name, Arg(name.span, (), type_.dtype))
        if bound.literal != type_.dtype:
            first = f"the dtype `{dtype.name}`, which is {bound.literal} by `{bound.span.text}`"
            _misfit(f"{what} is declared with {first}", type_, dtype.span)
    for dim, (size, expr) in enumerate(zip(type_.shape, declared.shape, strict=True)):
        if not isinstance(expr, Ref):
            continue
        bound = env.setdefault(expr.name, Arg(name.span, (), size))
        if bound.literal != size:
            first = f"`{expr.name}`, which is {bound.literal} by `{bound.span.text}`"
            _misfit(f"dim {dim} of {what} is declared {first}", size, expr.span)


def _misfit(declared: str, given: object, span: Span) -> None:
    raise OpError("K125", f"{declared}, and is given {given}", labels=(Label(span, "declared here"),))


@dataclass(frozen=True, slots=True)
class _Reader:
    """The parts of a declaration as the op table wants them."""

    form: OpForm
    evaluate: Evaluate

    def attribute(self, name: Ref, form: AttributeForm) -> AttributeSpec:
        choices = tuple([choice.name for choice in form.choices])
        default: Default = None
        if form.default is not None:
            default = self._default(name, form, form.default)
        return AttributeSpec(name.name, form.kind.name, f"a {form.kind.name}", default, choices)

    def _default(self, name: Ref, form: AttributeForm, expr: Expr) -> Default:
        def value(types: Types, _: Attributes) -> Attribute:
            found = self.evaluate(bind_sizes(self.form, types, self.evaluate), expr)
            made = as_attribute(form.kind.name, found)
            words = [choice.name for choice in form.choices]
            if made is None or (words and made not in words):
                message = f"the default of `{name.name}` is no {form.kind.name} that it can be: `{found}`"
                raise ProgramError(error("K120", message, expr.span))
            return made

        return value

    def infer(self, kind: str, types: Types, attributes: Attributes) -> Results:
        env = bind_sizes(self.form, types, self.evaluate)
        for name, form in self.form.attributes:
            self._check(kind, name, form, attributes[name.name], env)
        env |= literals(self.form, attributes)
        return types_of(self.form.results, env, self.evaluate)

    def _check(self, kind: str, name: Ref, form: AttributeForm, value: Attribute, env: Env) -> None:
        what = f"`{name.name}` of `{kind}`"
        entries: Sequence[object] = value if isinstance(value, tuple) else (value,)
        for each in entries:
            if isinstance(each, int) and abs(each) > LARGEST:
                raise OpError("K120", f"{what} is {each}, and {LARGEST} is the most that a rule can read")
        for bound, below in ((form.least, True), (form.most, False)):
            if bound is None or not isinstance(value, int):
                continue
            limit = self.evaluate(env, bound)
            if isinstance(limit, bool) or not isinstance(limit, int):
                message = f"a bound of `{name.name}` is a whole number, and this is `{limit}`"
                raise ProgramError(error("K021", message, bound.span))
            if value < limit if below else value > limit:
                word = "least" if below else "most"
                labels = (Label(bound.span, "declared here"),)
                raise OpError("K120", f"{what} is {value}, and {limit} is the {word}", labels=labels)


def literals(form: OpForm, attributes: Mapping[str, Attribute]) -> Env:
    """The attributes as compile-time values by name; a position is none."""
    return {
        name.name: Arg(name.span, (), attributes[name.name])
        for name, each in form.attributes
        if each.kind.name != "position"
    }


def types_of(forms: Sequence[TypeForm], env: Env, evaluate: Evaluate) -> tuple[TensorType, ...]:
    """The types that forms declare, all their names being bound; ProgramError where a size is none."""
    return tuple([_type_of(declared, env, evaluate) for declared in forms])


def _type_of(declared: TypeForm, env: Env, evaluate: Evaluate) -> TensorType:
    dtype = declared.dtype.name
    if dtype not in DTYPE_BYTES:
        dtype = str(evaluate(env, declared.dtype))
    if dtype not in DTYPE_BYTES:
        raise ProgramError(error("K016", f"`{dtype}` is no dtype", declared.dtype.span))
    shape: list[int] = []
    for dim, expr in enumerate(declared.shape):
        size = evaluate(env, expr)
        if isinstance(size, bool) or not isinstance(size, int):
            message = f"the size of dim {dim} is a whole number, and this is `{size}`"
            raise ProgramError(error("K021", message, expr.span))
        shape.append(size)
    return TensorType(dtype, tuple(shape))


def as_attribute(kind: str, value: Literal) -> Attribute | None:
    """A compile-time value as an attribute of a kind; None if it is none."""
    match kind, value:
        case "flag", bool():
            return value
        case (("number" | "position"), int()) if not isinstance(value, bool):
            return value
        case "real", int() | float() if not isinstance(value, bool):
            return float(value)
        case (("word" | "dtype"), str()):
            return value
        case "numbers", tuple() if all(type(each) is int for each in value):
            return tuple([each for each in value if isinstance(each, int)])
        case _:
            return None
