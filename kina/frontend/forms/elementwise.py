"""Elementwise forms: shapes are broadcast as NumPy does, numbers take the dtype of the tensor they meet."""

from __future__ import annotations

from collections.abc import Sequence

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.literals import literal_dtype
from kina.frontend.forms.parameters import dtype, integers, tensor, words
from kina.frontend.ir import TensorType
from kina.frontend.ops import OPS, OpError

#: kind -> short names
SHORT = {
    "negate": ("neg",),
    "exponential": ("exp",),
    "exponential_minus_one": ("expm1",),
    "log_plus_one": ("log1p",),
    "logistic": ("sigmoid",),
    "sine": ("sin",),
    "cosine": ("cos",),
    "round_nearest_even": ("round",),
    "subtract": ("sub",),
    "multiply": ("mul",),
    "divide": ("div",),
    "maximum": ("max",),
    "minimum": ("min",),
    "power": ("pow",),
    "remainder": ("rem",),
}
_COMPARISONS = {
    "equal": "EQ",
    "not_equal": "NE",
    "less": "LT",
    "less_equal": "LE",
    "greater": "GT",
    "greater_equal": "GE",
}
_DIRECTIONS = tuple(_COMPARISONS.values())


def broadcast_shape(types: Sequence[TensorType], name: str) -> tuple[int, ...]:
    """The shape that NumPy gives tensors of these types together; OpError K101 if there is none."""
    rank = max([each.rank for each in types], default=0)
    shape = [1] * rank
    source: list[TensorType | None] = [None] * rank
    for each in types:
        for dim, size in enumerate(each.shape, rank - each.rank):
            if size == 1 or shape[dim] == size:
                continue
            if shape[dim] != 1:
                raise _no_broadcast(name, source[dim], each, dim, rank)
            shape[dim], source[dim] = size, each
    return tuple(shape)


def _no_broadcast(name: str, left: TensorType | None, right: TensorType, dim: int, rank: int) -> OpError:
    assert left is not None
    ranks = (left.rank, right.rank)
    if ranks[0] == ranks[1]:
        where = f"differ at dim {dim}"
    else:
        first, second = (dim - rank + each for each in ranks)
        where = f"differ at dims {first} and {second}, which meet as both count from the last"
    return OpError(
        "K101",
        f"`{name}` takes tensors of one shape: {left} and {right} {where}",
        "sizes are equal, or one of them is 1 and is repeated",
    )


def common_shape(bound: Bound, types: Sequence[TensorType]) -> tuple[int, ...]:
    """The shape that NumPy gives tensors of these types together; ProgramError K101 if there is none."""
    try:
        return broadcast_shape(types, bound.call.name)
    except OpError as fault:
        bound.refuse(fault.code, fault.message, help_=fault.help)


def stretch(bound: Bound, value: int, shape: tuple[int, ...]) -> int:
    """The value repeated to `shape`, its dims meeting the last ones of it; itself if it has that shape."""
    type_ = bound.builder.type_of(value)
    if type_.shape == shape:
        return value
    first = len(shape) - type_.rank
    dims = tuple(range(first, len(shape)))
    return bound.emit("broadcast_in_dim", (value,), broadcast_dimensions=dims, shape=shape)


def operands(bound: Bound, names: Sequence[str]) -> list[int]:
    """The tensors of the parameters, literals turned to constants and all of one shape."""
    types = {name: bound.type(name) for name in names}
    tensors = [each for each in types.values() if each is not None]
    shape = common_shape(bound, tensors)
    like = TensorType(tensors[0].dtype if tensors else _literals_dtype(bound, names), shape)
    values = [bound.value(name, like if types[name] is None else None) for name in names]
    if any(isinstance(bound.arg(name).literal, tuple) for name in names):
        shape = common_shape(bound, [bound.builder.type_of(value) for value in values])
    return [stretch(bound, value, shape) for value in values]


def _literals_dtype(bound: Bound, names: Sequence[str]) -> str:
    """The dtype of literals that meet no tensor."""
    return literal_dtype(
        tuple([literal for name in names if (literal := bound.arg(name).literal) is not None])
    )


def _elementwise(kind: str, names: tuple[str, ...], name: str) -> Form:
    def make(bound: Bound) -> tuple[int, ...]:
        return (bound.emit(kind, operands(bound, names)),)

    return Form(name, tuple(tensor(each) for each in names), OPS[kind].doc, make)


def _simple_forms() -> list[Form]:
    forms = []
    for kind, spec in OPS.items():
        if spec.elementwise and not spec.attributes and spec.most in (1, 2):
            forms += [_elementwise(kind, spec.operand_names, name) for name in (kind, *SHORT.get(kind, ()))]
    return forms


def _convert(bound: Bound) -> tuple[int, ...]:
    value = bound.value("x")
    target = bound.text("dtype")
    if bound.builder.type_of(value).dtype == target:
        return (value,)
    return (bound.emit("convert", (value,), dtype=target),)


def _compare(bound: Bound) -> tuple[int, ...]:
    direction = bound.text("direction")
    return (bound.emit("compare", operands(bound, ("lhs", "rhs")), comparison_direction=direction),)


def _comparison(name: str, direction: str) -> Form:
    def make(bound: Bound) -> tuple[int, ...]:
        return (bound.emit("compare", operands(bound, ("lhs", "rhs")), comparison_direction=direction),)

    return Form(
        name,
        (tensor("lhs"), tensor("rhs")),
        f"whether the comparison {direction} holds, element by element",
        make,
    )


def _select(bound: Bound) -> tuple[int, ...]:
    condition = bound.value("condition")
    choices = [bound.type(name) for name in ("on_true", "on_false")]
    known = [each for each in choices if each is not None]
    condition_type = bound.builder.type_of(condition)
    shape = common_shape(bound, [condition_type, *known])
    names = ("on_true", "on_false")
    like = TensorType(known[0].dtype if known else _literals_dtype(bound, names), shape)
    values = [bound.value(name, like if bound.type(name) is None else None) for name in names]
    stretched = [stretch(bound, each, shape) for each in (condition, *values)]
    return (bound.emit("select", stretched),)


def _clamp(bound: Bound) -> tuple[int, ...]:
    operand = bound.value("x")
    type_ = bound.builder.type_of(operand)
    scalar = TensorType(type_.dtype, ())
    low, high = (bound.value(name, scalar if bound.type(name) is None else None) for name in ("low", "high"))
    return (bound.emit("clamp", (low, operand, high)),)


def _broadcast_in_dim(bound: Bound) -> tuple[int, ...]:
    shape, dims = bound.numbers("shape"), bound.numbers("dims")
    return (bound.emit("broadcast_in_dim", (bound.value("x"),), broadcast_dimensions=dims, shape=shape),)


def _broadcast_to(bound: Bound) -> tuple[int, ...]:
    value, shape = bound.value("x"), bound.numbers("shape")
    type_ = bound.builder.type_of(value)
    if type_.rank > len(shape):
        target = TensorType(type_.dtype, shape)
        bound.refuse("K108", f"`{bound.call.name}` cannot stretch {type_} to {target}, which has fewer dims")
    return (stretch(bound, value, shape),)


_SELECT = (tensor("condition"), tensor("on_true"), tensor("on_false"))
_CONVERT_DOC = "the tensor in another dtype; itself if it has that one"
_BROADCAST = (tensor("x"), integers("shape"), integers("dims"))
_BROADCAST_DOC = (
    "the tensor repeated to a shape, where `dims` says for each of its dims which one of the shape it is"
)

FORMS = (
    *_simple_forms(),
    Form("convert", (tensor("x"), dtype()), _CONVERT_DOC, _convert),
    Form("cast", (tensor("x"), dtype()), _CONVERT_DOC, _convert),
    Form(
        "compare",
        (tensor("lhs"), tensor("rhs"), words("direction", _DIRECTIONS)),
        "whether the comparison holds, element by element",
        _compare,
    ),
    *(_comparison(name, direction) for name, direction in _COMPARISONS.items()),
    Form("select", _SELECT, OPS["select"].doc.replace("operand", "tensor"), _select),
    Form("where", _SELECT, "`on_true` where the condition holds, else `on_false`", _select),
    Form("clamp", (tensor("low"), tensor("x"), tensor("high")), "the tensor held between two bounds", _clamp),
    Form("broadcast_in_dim", _BROADCAST, _BROADCAST_DOC, _broadcast_in_dim),
    Form("broadcast", _BROADCAST, _BROADCAST_DOC, _broadcast_in_dim),
    Form(
        "broadcast_to",
        (tensor("x"), integers("shape")),
        "the tensor repeated to a shape, its dims meeting the last ones of it, as NumPy does",
        _broadcast_to,
    ),
)
