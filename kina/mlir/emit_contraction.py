"""Ops that multiply and sum, and reductions."""

from __future__ import annotations

from collections.abc import Sequence

from kina.mlir.emit_lines import Lines, Tensor
from kina.mlir.emit_moves import combiner, identity
from kina.mlir.emit_site import Emitted, Site, typed
from kina.mlir.emit_text import array, flags, numbers


def dot_general(site: Site) -> Emitted:
    pairs = {
        role: [site.list(f"{side}_{role}_dimensions") for side in ("lhs", "rhs")]
        for role in ("batching", "contracting")
    }
    clauses = "".join(
        f", {role}_dims = {numbers(left)} x {numbers(right)}" for role, (left, right) in pairs.items() if left
    )
    return typed(site, clauses)


def convolution(site: Site) -> Emitted:
    image, kernel = site.operands
    groups = site.number("feature_group_count")
    if groups > 1:
        # each device has some of the groups: as many as its features hold
        features = image.shape[site.number("input_feature_dimension")]
        per_group = kernel.shape[site.number("kernel_input_feature_dimension")]
        groups = features // per_group if per_group else groups
    names = ("strides", "lhs_dilation", "rhs_dilation")
    fields: dict[str, object] = {
        "image": image.name,
        "kernel": kernel.name,
        "inputs": f"{image.text}, {kernel.text}",
        "dims": _convolution_dims(site),
        "groups": groups,
        "batch_groups": site.number("batch_group_count"),
        "reversal": flags(site.list("window_reversal")),
        "padding": _pairs(site.list("padding")),
    }
    fields |= dict(
        zip(
            names,
            (array(site.list(name)) for name in ("window_strides", "lhs_dilation", "rhs_dilation")),
            strict=True,
        )
    )
    return (site.lines.put("convolution", site.elements[0], site.shapes[0], fields, site.names[0]),)


def _pairs(flat: tuple[int, ...]) -> str:
    rows = [numbers(flat[at : at + 2]) for at in range(0, len(flat), 2)]
    return f"dense<[{', '.join(rows)}]> : tensor<{len(rows)}x2xi64>" if rows else "dense<> : tensor<0x2xi64>"


def _convolution_dims(site: Site) -> str:
    """`[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`."""
    sides = []
    for side, letters in (("input", "bf"), ("kernel", "io"), ("output", "bf")):
        roles = ("input_feature", "output_feature") if side == "kernel" else ("batch", "feature")
        places = {
            site.number(f"{side}_{role}_dimension"): letter
            for role, letter in zip(roles, letters, strict=True)
        }
        for index, dim in enumerate(site.list(f"{side}_spatial_dimensions")):
            places[dim] = str(index)
        sides.append("[" + ", ".join(places[dim] for dim in sorted(places)) + "]")
    return f"{sides[0]}x{sides[1]}->{sides[2]}"


def reduce(site: Site) -> Emitted:
    operand = site.operands[0]
    return (reduced(site.lines, operand, site.list("dimensions"), site.word("kind"), site.names[0]),)


def reduced(lines: Lines, operand: Tensor, dims: Sequence[int], kind: str, wish: str = "") -> Tensor:
    """`operand` reduced over `dims`, from what changes nothing."""
    start = lines.scalar(identity(kind, operand.element), operand.element)
    shape = tuple(size for dim, size in enumerate(operand.shape) if dim not in dims)
    fields: dict[str, object] = {
        "operand": operand.name,
        "start": start.name,
        "combiner": combiner(kind, operand.element),
        "dims": numbers(dims),
        "inputs": f"{operand.text}, {start.text}",
    }
    return lines.put("reduce", operand.element, shape, fields, wish)
