"""Forms that move elements: reshape, transpose, slice, concatenate, pad, reverse and their relatives."""

from __future__ import annotations

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.parameters import integer, integers, rest, tensor, tensors
from kina.frontend.ir import TensorType
from kina.frontend.ops.core import show


def _reshape(bound: Bound) -> tuple[int, ...]:
    value, wanted = bound.value("x"), bound.numbers("shape")
    shape = _fill_in(bound, bound.builder.type_of(value), wanted)
    return (bound.emit("reshape", (value,), shape=shape),)


def _fill_in(bound: Bound, type_: TensorType, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """The shape with its one -1 replaced by what is left of the elements."""
    if -1 not in wanted:
        return wanted
    known = 1
    for size in wanted:
        known *= 1 if size == -1 else size
    if wanted.count(-1) > 1:
        bound.refuse(
            "K107",
            f"`reshape` finds one size by itself, not {wanted.count(-1)} as in {show(wanted)}",
        )
    if known <= 0 or type_.elements % known:
        bound.refuse(
            "K107",
            f"`reshape` keeps all elements: the {type_.elements} of {type_} do not fill {show(wanted)}",
        )
    return tuple([type_.elements // known if size == -1 else size for size in wanted])


def _transpose(bound: Bound) -> tuple[int, ...]:
    value = bound.value("x")
    rank = bound.builder.type_of(value).rank
    order = bound.numbers("permutation") if bound.has("permutation") else tuple(reversed(range(rank)))
    return (bound.emit("transpose", (value,), permutation=order),)


def _expand_dims(bound: Bound) -> tuple[int, ...]:
    value, dim = bound.value("x"), bound.number("dim")
    type_ = bound.builder.type_of(value)
    if not 0 <= dim <= type_.rank:
        bound.refuse(
            "K105", f"`dim` of `expand_dims` is {dim}, but a new dim of {type_} is one of 0 to {type_.rank}"
        )
    return (bound.emit("reshape", (value,), shape=(*type_.shape[:dim], 1, *type_.shape[dim:])),)


def _squeeze(bound: Bound) -> tuple[int, ...]:
    value, dim = bound.value("x"), bound.number("dim")
    type_ = bound.builder.type_of(value)
    if not 0 <= dim < type_.rank:
        bound.refuse(
            "K105", f"`dim` of `squeeze` is {dim}, but {type_} has {type_.rank} dims, counted from 0"
        )
    if type_.shape[dim] != 1:
        bound.refuse(
            "K107",
            f"`squeeze` drops a dim of size 1, but dim {dim} of {type_} has {type_.shape[dim]} elements",
        )
    return (bound.emit("reshape", (value,), shape=(*type_.shape[:dim], *type_.shape[dim + 1 :])),)


def _slice(bound: Bound) -> tuple[int, ...]:
    value, starts, limits = bound.value("x"), bound.numbers("starts"), bound.numbers("limits")
    if bound.has("strides"):
        strides = bound.numbers("strides")
        return (bound.emit("slice", (value,), start_indices=starts, limit_indices=limits, strides=strides),)
    return (bound.emit("slice", (value,), start_indices=starts, limit_indices=limits),)


def _slice_dim(bound: Bound) -> tuple[int, ...]:
    value, dim = bound.value("x"), bound.number("dim")
    type_ = bound.builder.type_of(value)
    if not 0 <= dim < type_.rank:
        bound.refuse(
            "K105", f"`dim` of `slice_dim` is {dim}, but {type_} has {type_.rank} dims, counted from 0"
        )
    starts = tuple([bound.number("start") if each == dim else 0 for each in range(type_.rank)])
    limits = tuple([bound.number("limit") if each == dim else size for each, size in enumerate(type_.shape)])
    return (bound.emit("slice", (value,), start_indices=starts, limit_indices=limits),)


def _concatenate(bound: Bound) -> tuple[int, ...]:
    values = [bound.as_value(arg, "operands") for arg in bound.args("operands")]
    return (bound.emit("concatenate", values, dimension=bound.number("dimension")),)


def _pad(bound: Bound) -> tuple[int, ...]:
    operand = bound.value("x")
    type_ = bound.builder.type_of(operand)
    value = bound.value("value", TensorType(type_.dtype, ()) if bound.type("value") is None else None)
    low, high = bound.numbers("low"), bound.numbers("high")
    interior = bound.numbers("interior") if bound.has("interior") else (0,) * type_.rank
    parts = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
    return (bound.builder.emit("pad", (operand, value), parts, bound.call.span)[0],)


def _reverse(bound: Bound) -> tuple[int, ...]:
    return (bound.emit("reverse", (bound.value("x"),), dimensions=bound.numbers("dims")),)


def _starts(bound: Bound, name: str) -> list[int]:
    scalar = TensorType("i32", ())
    return [
        bound.as_value(arg, name, scalar if arg.literal is not None else None) for arg in bound.args(name)
    ]


def _dynamic_slice(bound: Bound) -> tuple[int, ...]:
    operands = [bound.value("x"), *_starts(bound, "starts")]
    return (bound.emit("dynamic_slice", operands, slice_sizes=bound.numbers("sizes")),)


def _dynamic_update_slice(bound: Bound) -> tuple[int, ...]:
    return (
        bound.emit(
            "dynamic_update_slice", [bound.value("x"), bound.value("update"), *_starts(bound, "starts")]
        ),
    )


_DIM = integer("dim")

FORMS = (
    Form(
        "reshape",
        (tensor("x"), integers("shape")),
        "the same elements in row-major order under another shape; one size may be -1, found from the others",
        _reshape,
    ),
    Form(
        "transpose",
        (tensor("x"), integers("permutation", optional=True)),
        "the tensor with its dims in another order; without an order, in the reverse one",
        _transpose,
    ),
    Form(
        "expand_dims",
        (tensor("x"), _DIM),
        "the tensor with a new dim of size 1 at `dim`; a reshape",
        _expand_dims,
    ),
    Form(
        "squeeze",
        (tensor("x"), _DIM),
        "the tensor without its dim `dim`, which has size 1; a reshape",
        _squeeze,
    ),
    Form(
        "slice",
        (tensor("x"), integers("starts"), integers("limits"), integers("strides", optional=True)),
        "for each dim the elements from a start up to, not including, a limit",
        _slice,
    ),
    Form(
        "slice_dim",
        (tensor("x"), _DIM, integer("start"), integer("limit")),
        "the elements of one dim from `start` up to, not including, `limit`, and all of the others",
        _slice_dim,
    ),
    Form(
        "concatenate",
        (tensors("operands"), integer("dimension")),
        "the tensors one after another along a dim",
        _concatenate,
    ),
    Form(
        "pad",
        (
            tensor("x"),
            tensor("value"),
            integers("low"),
            integers("high"),
            integers("interior", optional=True),
        ),
        "the tensor with a scalar before, after and between its elements; negative numbers take away",
        _pad,
    ),
    Form(
        "reverse",
        (tensor("x"), integers("dims")),
        "the tensor with the elements of some dims in the other order",
        _reverse,
    ),
    Form(
        "dynamic_slice",
        (tensor("x"), integers("sizes"), rest("starts")),
        "as many elements as `sizes` says, from a scalar start for each dim, moved so that they fit",
        _dynamic_slice,
    ),
    Form(
        "dynamic_update_slice",
        (tensor("x"), tensor("update"), rest("starts")),
        "the tensor with the update written at a scalar start for each dim, moved so that it fits",
        _dynamic_update_slice,
    ),
)
