"""Contractions: dot_general and convolution."""

from __future__ import annotations

from collections.abc import Callable

from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops.core import (
    NUMBERS,
    Attributes,
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    Types,
    counted,
    need_dims,
    need_dtype,
    need_length,
    need_one_dtype,
    number,
    numbers,
    show,
)


def _infer_dot_general(kind: str, operands: Types, attributes: Attributes) -> Results:
    lhs, rhs = operands
    need_one_dtype(kind, operands)
    need_dtype(kind, lhs, NUMBERS)
    roles = ("batching", "contracting")
    lhs_dims, rhs_dims = (
        {role: numbers(attributes, f"{side}_{role}_dimensions") for role in roles} for side in ("lhs", "rhs")
    )
    need_dims(kind, "lhs dimensions", (*lhs_dims["batching"], *lhs_dims["contracting"]), lhs.rank, lhs)
    need_dims(kind, "rhs dimensions", (*rhs_dims["batching"], *rhs_dims["contracting"]), rhs.rank, rhs)
    for role in roles:
        need_length(
            kind, f"rhs_{role}_dimensions", rhs_dims[role], len(lhs_dims[role]), f"`lhs_{role}_dimensions`"
        )
        for left, right in zip(lhs_dims[role], rhs_dims[role], strict=True):
            if lhs.shape[left] != rhs.shape[right]:
                raise OpError(
                    "K109",
                    f"{role} dims of `{kind}` agree in size: dim {left} of {lhs} and dim {right} of {rhs} "
                    "do not",
                )
    batch = tuple([lhs.shape[dim] for dim in lhs_dims["batching"]])
    lhs_free = _free(lhs, (*lhs_dims["batching"], *lhs_dims["contracting"]))
    rhs_free = _free(rhs, (*rhs_dims["batching"], *rhs_dims["contracting"]))
    return (TensorType(lhs.dtype, batch + lhs_free + rhs_free),)


def _free(operand: TensorType, used: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([size for dim, size in enumerate(operand.shape) if dim not in used])


_ROLES = {
    "input": ("input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"),
    "kernel": (
        "kernel_output_feature_dimension",
        "kernel_input_feature_dimension",
        "kernel_spatial_dimensions",
    ),
    "output": ("output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"),
}


def _places(
    kind: str, attributes: Attributes, side: str, rank: int, of: str
) -> tuple[int, int, tuple[int, ...]]:
    first, second, spatial = _ROLES[side]
    dims = (number(attributes, first), number(attributes, second), numbers(attributes, spatial))
    need_length(kind, spatial, dims[2], rank - 2, of)
    need_dims(kind, f"{side} dimensions", (dims[0], dims[1], *dims[2]), rank, of)
    return dims


def _infer_convolution(kind: str, operands: Types, attributes: Attributes) -> Results:
    lhs, rhs = operands
    need_one_dtype(kind, operands)
    need_dtype(kind, lhs, NUMBERS)
    if lhs.rank != rhs.rank or lhs.rank < 2:
        raise OpError(
            "K115", f"`{kind}` takes an image and a kernel of one rank, at least 2, not {lhs} and {rhs}"
        )
    batch, _, spatial = _places(kind, attributes, "input", lhs.rank, str(lhs))
    kernel_out, _, kernel_spatial = _places(kind, attributes, "kernel", rhs.rank, str(rhs))
    out_batch, out_feature, out_spatial = _places(kind, attributes, "output", lhs.rank, "the result")
    _check_groups(kind, lhs, rhs, attributes)
    sizes = {
        out_batch: lhs.shape[batch] // number(attributes, "batch_group_count"),
        out_feature: rhs.shape[kernel_out],
    }
    windows = _windows(kind, lhs, rhs, spatial, kernel_spatial, attributes)
    sizes.update(zip(out_spatial, windows, strict=True))
    return (TensorType(lhs.dtype, tuple([sizes[dim] for dim in range(lhs.rank)])),)


def _check_groups(kind: str, lhs: TensorType, rhs: TensorType, attributes: Attributes) -> None:
    batch, feature = (
        lhs.shape[number(attributes, f"input_{each}_dimension")] for each in ("batch", "feature")
    )
    out = rhs.shape[number(attributes, "kernel_output_feature_dimension")]
    per_group = rhs.shape[number(attributes, "kernel_input_feature_dimension")]
    groups, batch_groups = number(attributes, "feature_group_count"), number(attributes, "batch_group_count")
    if groups < 1 or batch_groups < 1 or (groups > 1 and batch_groups > 1):
        raise OpError(
            "K115",
            f"group counts of `{kind}` are at least 1, and one of them is 1: not {groups} and {batch_groups}",
        )
    if feature != per_group * groups:
        raise OpError(
            "K115",
            f"the kernel {rhs} of `{kind}` takes {per_group * groups} features "
            f"in {counted(groups, 'group')}, "
            f"but the image {lhs} has {feature}",
        )
    if out % groups or out % batch_groups or batch % batch_groups:
        count = groups if groups > 1 else batch_groups
        raise OpError(
            "K115",
            f"the {out} features of the kernel {rhs}, or the batch of {batch}, do not fall into the "
            f"{count} groups of `{kind}`",
        )


def _windows(
    kind: str,
    lhs: TensorType,
    rhs: TensorType,
    spatial: tuple[int, ...],
    kernel_spatial: tuple[int, ...],
    attributes: Attributes,
) -> list[int]:
    """The spatial sizes of the result, in the order of the spatial dims."""
    count = len(spatial)
    for name in ("window_strides", "lhs_dilation", "rhs_dilation", "window_reversal"):
        values = numbers(attributes, name)
        need_length(kind, name, values, count, lhs)
        if name != "window_reversal" and min(values, default=1) < 1:
            raise OpError("K115", f"`{name}` of `{kind}` is {show(values)}, but each is at least 1")
        if name == "window_reversal" and not set(values) <= {0, 1}:
            raise OpError("K115", f"`{name}` of `{kind}` is {show(values)}, but each is 0 or 1")
    padding = numbers(attributes, "padding")
    need_length(kind, "padding", padding, 2 * count, lhs)
    sizes = []
    for i in range(count):
        image = (
            _dilated(lhs.shape[spatial[i]], numbers(attributes, "lhs_dilation")[i])
            + padding[2 * i]
            + padding[2 * i + 1]
        )
        window = _dilated(rhs.shape[kernel_spatial[i]], numbers(attributes, "rhs_dilation")[i])
        if image < 0:
            raise OpError(
                "K115", f"the padding of `{kind}` takes more off dim {spatial[i]} of {lhs} than it has"
            )
        stride = numbers(attributes, "window_strides")[i]
        sizes.append(0 if image == 0 or window > image else (image - window) // stride + 1)
    return sizes


def _dilated(size: int, factor: int) -> int:
    return 0 if size == 0 else (size - 1) * factor + 1


def _repeat(value: int, times: int = 1) -> Callable[[Types, Attributes], Attribute]:
    def default(operands: Types, attributes: Attributes) -> Attribute:
        return (value,) * (times * max(operands[0].rank - 2, 0))

    return default


def _spatial(operands: Types, attributes: Attributes) -> Attribute:
    return tuple(range(2, operands[0].rank))


SPECS = (
    OpSpec(
        "dot_general",
        2,
        2,
        _infer_dot_general,
        "sums of products: over the contracting dims, for each index of the batching dims and of all others",
        tuple(
            AttributeSpec(
                f"{side}_{role}_dimensions", "numbers", f"the {role} dims of the {which} operand", ()
            )
            for role in ("batching", "contracting")
            for side, which in (("lhs", "first"), ("rhs", "second"))
        ),
        section="dot_general",
        operand_names=("lhs", "rhs"),
    ),
    OpSpec(
        "convolution",
        2,
        2,
        _infer_convolution,
        "sums of products of a kernel with windows of an image",
        (
            AttributeSpec(
                "window_strides", "numbers", "for each spatial dim the step of the window", _repeat(1)
            ),
            AttributeSpec(
                "padding",
                "numbers",
                "for each spatial dim how much before and after, in one list",
                _repeat(0, 2),
            ),
            AttributeSpec(
                "lhs_dilation",
                "numbers",
                "for each spatial dim the distance of elements of the image",
                _repeat(1),
            ),
            AttributeSpec(
                "rhs_dilation",
                "numbers",
                "for each spatial dim the distance of elements of the kernel",
                _repeat(1),
            ),
            AttributeSpec(
                "window_reversal",
                "numbers",
                "for each spatial dim 1 if the kernel is turned round",
                _repeat(0),
            ),
            AttributeSpec("input_batch_dimension", "number", "the batch dim of the image", 0),
            AttributeSpec("input_feature_dimension", "number", "the feature dim of the image", 1),
            AttributeSpec("input_spatial_dimensions", "numbers", "the spatial dims of the image", _spatial),
            AttributeSpec(
                "kernel_input_feature_dimension", "number", "the input feature dim of the kernel", 1
            ),
            AttributeSpec(
                "kernel_output_feature_dimension", "number", "the output feature dim of the kernel", 0
            ),
            AttributeSpec("kernel_spatial_dimensions", "numbers", "the spatial dims of the kernel", _spatial),
            AttributeSpec("output_batch_dimension", "number", "the batch dim of the result", 0),
            AttributeSpec("output_feature_dimension", "number", "the feature dim of the result", 1),
            AttributeSpec("output_spatial_dimensions", "numbers", "the spatial dims of the result", _spatial),
            AttributeSpec("feature_group_count", "number", "in how many groups the features fall", 1),
            AttributeSpec("batch_group_count", "number", "in how many groups the batch falls", 1),
        ),
        section="convolution",
        operand_names=("lhs", "rhs"),
    ),
)
