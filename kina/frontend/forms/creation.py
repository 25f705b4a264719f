"""Forms that make tensors from nothing, and those that pass them on."""

from __future__ import annotations

from kina.frontend.builder import Literal
from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.literals import constant, literal_dtype
from kina.frontend.forms.parameters import Parameter, dtype, integer, integers, tensor, tensors


def _iota(bound: Bound) -> tuple[int, ...]:
    shape, dim, target = bound.numbers("shape"), bound.number("dim"), bound.text("dtype")
    return (bound.emit("iota", (), iota_dimension=dim, dtype=target, shape=shape),)


def _literal(bound: Bound, name: str) -> Literal:
    literal = bound.arg(name).literal
    if literal is None or isinstance(literal, str):
        bound.refuse(
            "K123", f"`{name}` of `{bound.call.name}` is a number or a list of numbers", bound.arg(name).span
        )
    return literal


def _constant(bound: Bound) -> tuple[int, ...]:
    literal = _literal(bound, "value")
    target = bound.text("dtype") if bound.has("dtype") else literal_dtype(literal)
    shape = bound.numbers("shape") if bound.has("shape") else None
    return (constant(bound.builder, literal, target, shape, bound.call.span),)


def _filled(name: str, value: int) -> Form:
    def make(bound: Bound) -> tuple[int, ...]:
        return (constant(bound.builder, value, bound.text("dtype"), bound.numbers("shape"), bound.call.span),)

    return Form(name, (dtype(), integers("shape")), f"a tensor of {name}", make)


def _filled_like(name: str, value: int) -> Form:
    def make(bound: Bound) -> tuple[int, ...]:
        type_ = bound.builder.type_of(bound.value("x"))
        return (constant(bound.builder, value, type_.dtype, type_.shape, bound.call.span),)

    return Form(
        f"{name}_like", (tensor("x"),), f"a tensor of {name} with the dtype and shape of another", make
    )


def _barrier(bound: Bound) -> tuple[int, ...]:
    values = [bound.as_value(arg, "operands") for arg in bound.args("operands")]
    return bound.builder.emit("optimization_barrier", values, {}, bound.call.span)


def _stop_gradient(bound: Bound) -> tuple[int, ...]:
    return (bound.emit("optimization_barrier", (bound.value("x"),), stop_gradient=True),)


def _reshard(bound: Bound) -> tuple[int, ...]:
    return (bound.emit("reshard", (bound.value("x"),)),)


FORMS = (
    Form("iota", (dtype(), integers("shape"), integer("dim")), "the index along the dim `dim`", _iota),
    Form(
        "constant",
        (Parameter("value", "elements"), dtype(optional=True), integers("shape", optional=True)),
        "a number repeated over a shape, or a nested list of numbers with its own shape",
        _constant,
    ),
    _filled("zeros", 0),
    _filled("ones", 1),
    _filled_like("zeros", 0),
    _filled_like("ones", 1),
    Form(
        "optimization_barrier",
        (tensors("operands"),),
        "the tensors unchanged; no compiler moves computation across",
        _barrier,
    ),
    Form(
        "stop_gradient",
        (tensor("x"),),
        "the tensor unchanged; differentiation takes it for a constant",
        _stop_gradient,
    ),
    Form("reshard", (tensor("x"),), "the tensor unchanged, in a layout of its own", _reshard),
)
