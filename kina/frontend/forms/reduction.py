"""Reductions and ordering: sum, mean, argmax, cumulative sums, sort, top_k."""

from __future__ import annotations

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.literals import constant
from kina.frontend.forms.parameters import flag, integer, integers, tensor, tensors, words
from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops import OpError
from kina.frontend.ops.core import FLOATS, need_dtype
from kina.frontend.ops.creation import element_text

#: surface name -> kind of reduce
_REDUCTIONS = {
    "reduce_sum": "sum",
    "reduce_max": "max",
    "reduce_min": "min",
    "reduce_prod": "prod",
    "reduce_and": "and",
    "reduce_or": "or",
    "sum": "sum",
    "prod": "prod",
    "all": "and",
    "any": "or",
}
_KIND_DOCS = {
    "sum": "the sum",
    "max": "the largest",
    "min": "the smallest",
    "prod": "the product",
    "and": "the logical or bitwise and",
    "or": "the logical or bitwise or",
}
_CUMULATIVE = {"cumsum": "sum", "cumprod": "prod", "cummax": "max", "cummin": "min"}


def _dims(bound: Bound, type_: TensorType) -> tuple[int, ...]:
    return bound.numbers("dims") if bound.has("dims") else tuple(range(type_.rank))


def _reduce(bound: Bound, kind: str) -> int:
    value = bound.value("x")
    type_ = bound.builder.type_of(value)
    dims = _dims(bound, type_)
    result = bound.emit("reduce", (value,), dimensions=dims, kind=kind)
    return _keep_dims(bound, result, type_, dims) if bound.flag("keepdims") else result


def _keep_dims(bound: Bound, value: int, before: TensorType, dims: tuple[int, ...]) -> int:
    shape = tuple([1 if dim in dims else size for dim, size in enumerate(before.shape)])
    return bound.emit("reshape", (value,), shape=shape)


def _reduction(name: str, kind: str) -> Form:
    parameters = (tensor("x"), integers("dims", optional=True), flag("keepdims"))
    doc = f"{_KIND_DOCS[kind]} of the elements along some dims, or along all if none are given"
    return Form(name, parameters, doc, lambda bound: (_reduce(bound, kind),))


def _any_reduce(bound: Bound) -> tuple[int, ...]:
    return (_reduce(bound, bound.text("kind")),)


def _mean(bound: Bound) -> tuple[int, ...]:
    value = bound.value("x")
    type_ = bound.builder.type_of(value)
    try:
        need_dtype(bound.call.name, type_, FLOATS)
    except OpError as fault:
        bound.refuse(fault.code, fault.message, help_=fault.help)
    dims = _dims(bound, type_)
    total = bound.emit("reduce", (value,), dimensions=dims, kind="sum")
    count = 1
    for dim in dims:
        count *= type_.shape[dim]
    result = _divide(bound, total, count)
    return (_keep_dims(bound, result, type_, dims) if bound.flag("keepdims") else result,)


def _divide(bound: Bound, total: int, count: int) -> int:
    """The sum over the global count, which is a number of the program and not of a device."""
    type_ = bound.builder.type_of(total)
    try:
        element_text(count, type_.dtype)
        kind, number = "divide", float(count)
    except OpError:
        # A count above the largest f16: its inverse is a number of that dtype.
        kind, number = "multiply", 1.0 / count
    other = constant(bound.builder, number, type_.dtype, type_.shape, bound.call.span)
    return bound.emit(kind, (total, other))


def _argmax(name: str) -> Form:
    def make(bound: Bound) -> tuple[int, ...]:
        value, dim = bound.value("x"), bound.number("dim")
        result = bound.emit("argmax", (value,), dimension=dim, kind=name.removeprefix("arg"))
        if bound.flag("keepdims"):
            result = _keep_dims(bound, result, bound.builder.type_of(value), (dim,))
        return (result,)

    which = "largest" if name == "argmax" else "smallest"
    doc = f"the index, in i32, of the {which} element along a dim; the first of equals"
    return Form(name, (tensor("x"), integer("dim"), flag("keepdims")), doc, make)


def _cumulate(bound: Bound, kind: str) -> tuple[int, ...]:
    dim, reverse = bound.number("dim"), bound.flag("reverse")
    return (bound.emit("cumulative", (bound.value("x"),), dimension=dim, kind=kind, reverse=reverse),)


def _cumulative(name: str, kind: str) -> Form:
    parameters = (tensor("x"), integer("dim"), flag("reverse"))
    doc = f"at each index {_KIND_DOCS[kind]} of the elements up to it along a dim"
    return Form(name, parameters, doc, lambda bound: _cumulate(bound, kind))


def _any_cumulative(bound: Bound) -> tuple[int, ...]:
    return _cumulate(bound, bound.text("kind"))


def _sort(bound: Bound) -> tuple[int, ...]:
    values = [bound.as_value(arg, "operands") for arg in bound.args("operands")]
    attributes: dict[str, Attribute] = {
        "dimension": bound.number("dim"),
        "direction": bound.text("direction"),
        "is_stable": bound.flag("stable"),
    }
    return bound.builder.emit("sort", values, attributes, bound.call.span)


def _top_k(bound: Bound) -> tuple[int, ...]:
    return bound.builder.emit("top_k", (bound.value("x"),), {"k": bound.number("k")}, bound.call.span)


FORMS = (
    *(_reduction(name, kind) for name, kind in _REDUCTIONS.items()),
    Form(
        "reduce",
        (tensor("x"), words("kind", tuple(_KIND_DOCS)), integers("dims", optional=True), flag("keepdims")),
        "the elements along some dims, or all, combined to one",
        _any_reduce,
    ),
    Form(
        "mean",
        (tensor("x"), integers("dims", optional=True), flag("keepdims")),
        "the sum along some dims, or all, over the number of elements in the whole tensor",
        _mean,
    ),
    _argmax("argmax"),
    _argmax("argmin"),
    *(_cumulative(name, kind) for name, kind in _CUMULATIVE.items()),
    Form(
        "cumulative",
        (tensor("x"), integer("dim"), words("kind", tuple(_CUMULATIVE.values())), flag("reverse")),
        "at each index the elements up to it along a dim combined",
        _any_cumulative,
    ),
    Form(
        "sort",
        (
            tensors("operands"),
            integer("dim"),
            words("direction", ("ascending", "descending"), "ascending"),
            flag("stable", True),
        ),
        "all tensors in the order of the first one along a dim",
        _sort,
    ),
    Form(
        "top_k",
        (tensor("x"), integer("k")),
        "two results: the k largest elements of the last dim, largest first, and their indices in i32",
        _top_k,
    ),
)
