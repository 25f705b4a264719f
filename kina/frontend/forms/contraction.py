"""Contractions: matmul as NumPy has it, and conv2d."""

from __future__ import annotations

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.elementwise import broadcast_shape, stretch
from kina.frontend.forms.parameters import integer, integers, tensor
from kina.frontend.ir import TensorType
from kina.frontend.ops import OpError


def _matmul(bound: Bound) -> tuple[int, ...]:
    lhs, rhs = bound.value("a"), bound.value("b")
    left, right = bound.builder.type_of(lhs), bound.builder.type_of(rhs)
    _check(bound, left, right)
    inner = max(right.rank - 2, 0)
    if min(left.rank, right.rank) <= 2:
        return (_with_plain_operand(bound, lhs, rhs, inner),)
    try:
        batch = broadcast_shape(
            [TensorType(each.dtype, each.shape[:-2]) for each in (left, right)],
            f"the batch dims of `{bound.call.name}`",
        )
    except OpError:
        bound.refuse(
            "K109",
            f"the batch dims of `{bound.call.name}` agree in size or are 1: those of {left} and {right} "
            "do not",
        )
    lhs = stretch(bound, lhs, batch + left.shape[-2:])
    rhs = stretch(bound, rhs, batch + right.shape[-2:])
    count = len(batch)
    return (_dot(bound, lhs, rhs, tuple(range(count)), (count + 1,), (count,)),)


def _check(bound: Bound, left: TensorType, right: TensorType) -> None:
    name = bound.call.name
    for each in (left, right):
        if each.rank == 0:
            bound.refuse(
                "K119",
                f"`{name}` takes tensors with at least one dim, not {each}",
                help_="scale with `multiply`",
            )
    last, inner = left.rank - 1, max(right.rank - 2, 0)
    if left.shape[last] != right.shape[inner]:
        bound.refuse(
            "K109",
            f"`{name}` sums over dim {last} of {left} and dim {inner} of {right}, which differ: "
            f"{left.shape[last]} and {right.shape[inner]}",
        )


def _with_plain_operand(bound: Bound, lhs: int, rhs: int, inner: int) -> int:
    """The product where one operand has at most two dims, so that nothing is a batch dim of both."""
    left, right = bound.builder.type_of(lhs), bound.builder.type_of(rhs)
    result = _dot(bound, lhs, rhs, (), (left.rank - 1,), (inner,))
    if right.rank <= 2 or left.rank == 1:
        return result
    # The row dim of the first operand stands before the batch dims of the second: it belongs behind them.
    rank = bound.builder.type_of(result).rank
    return bound.emit("transpose", (result,), permutation=(*range(1, rank - 1), 0, rank - 1))


def _dot(
    bound: Bound, lhs: int, rhs: int, batch: tuple[int, ...], left: tuple[int, ...], right: tuple[int, ...]
) -> int:
    return bound.emit(
        "dot_general",
        (lhs, rhs),
        lhs_batching_dimensions=batch,
        rhs_batching_dimensions=batch,
        lhs_contracting_dimensions=left,
        rhs_contracting_dimensions=right,
    )


def _pair(bound: Bound, name: str) -> tuple[int, ...]:
    values = bound.numbers(name)
    if len(values) not in (1, 2):
        bound.refuse(
            "K120",
            f"`{name}` of `{bound.call.name}` is one number or two, not {len(values)}",
            bound.arg(name).span,
        )
    return values * 2 if len(values) == 1 else values


def _padding(bound: Bound) -> tuple[int, ...]:
    values = bound.numbers("padding")
    if len(values) not in (1, 2, 4):
        bound.refuse(
            "K120",
            f"`padding` of `{bound.call.name}` is one number, two or four, not {len(values)}",
            bound.arg("padding").span,
        )
    if len(values) == 4:
        return values
    high, wide = values * 2 if len(values) == 1 else values
    return (high, high, wide, wide)


def _conv2d(bound: Bound) -> tuple[int, ...]:
    image, kernel = bound.value("x"), bound.value("kernel")
    for each in (image, kernel):
        type_ = bound.builder.type_of(each)
        if type_.rank != 4:
            bound.refuse("K115", f"`{bound.call.name}` takes tensors of 4 dims, NCHW and OIHW, not {type_}")
    return (
        bound.emit(
            "convolution",
            (image, kernel),
            window_strides=_pair(bound, "stride"),
            padding=_padding(bound),
            rhs_dilation=_pair(bound, "dilation"),
            feature_group_count=bound.number("groups"),
        ),
    )


FORMS = (
    Form(
        "matmul",
        (tensor("a"), tensor("b")),
        "the matrix product; dims before the last two are a batch and are broadcast, "
        "a tensor of one dim is a row or a column",
        _matmul,
    ),
    Form(
        "conv2d",
        (
            tensor("x"),
            tensor("kernel"),
            integers("stride", 1),
            integers("padding", 0),
            integer("groups", 1),
            integers("dilation", 1),
        ),
        "the convolution of images NCHW with kernels OIHW; a number holds for both spatial dims, "
        "a list has one for each",
        _conv2d,
    ),
)
