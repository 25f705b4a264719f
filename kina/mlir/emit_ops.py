"""Each kind of the typed IR as one op of StableHLO on local shapes, with its attributes localised.

Which attribute changes on a device, and that others may stay, is what `rules/*.dl` say
(`attribute_localised`, `attribute_guards`): here the change is carried out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from kina.frontend.ir import Op
from kina.mlir.emit_lines import Line, Lines, Tensor
from kina.mlir.emit_moves import Mover, combiner, identity
from kina.mlir.emit_text import FLOATS, array, flags, number, numbers
from kina.mlir.grid import Grid
from kina.plan.decisions import Layout


@dataclass(frozen=True, slots=True)
class Site:
    """An op with its operands as this device holds them, and the global and local shapes of its results."""

    op: Op
    operands: tuple[Tensor, ...]
    #: global shapes of the operands
    wholes: tuple[tuple[int, ...], ...]
    elements: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    layouts: tuple[Layout, ...]
    names: tuple[str, ...]
    lines: Lines
    mover: Mover
    grid: Grid

    def number(self, name: str) -> int:
        return cast(int, self.op.attribute(name))

    def list(self, name: str) -> tuple[int, ...]:
        return cast("tuple[int, ...]", self.op.attribute(name))

    def word(self, name: str) -> str:
        return cast(str, self.op.attribute(name))

    def flag(self, name: str) -> bool:
        return cast(bool, self.op.attribute(name))

    def spanned(self, sizes: Sequence[int], whole: Sequence[int], local: Sequence[int]) -> tuple[int, ...]:
        """Sizes of a window on the device: where it takes a dim in full, it takes the shard in full."""
        return tuple(
            here if size == full else size for size, full, here in zip(sizes, whole, local, strict=True)
        )


Emitted = tuple[Tensor, ...]
Emit = Callable[[Site], Emitted]


def _alike(site: Site) -> Emitted:
    return (site.lines.alike(site.op.kind, site.operands, site.names[0]),)


def _typed(
    site: Site, clauses: str = "", kind: str = "", operands: Sequence[Tensor] | None = None
) -> Emitted:
    made = site.lines.typed(
        kind or site.op.kind,
        site.operands if operands is None else operands,
        site.elements[0],
        site.shapes[0],
        clauses,
        site.names[0],
    )
    return (made,)


def _compare(site: Site) -> Emitted:
    left, right = site.operands
    return (site.lines.compare(site.word("comparison_direction"), left, right, site.names[0]),)


def _broadcast(site: Site) -> Emitted:
    return _typed(site, f", dims = {numbers(site.list('broadcast_dimensions'))}")


def _transpose(site: Site) -> Emitted:
    return _typed(site, f", dims = {numbers(site.list('permutation'))}")


def _slice(site: Site) -> Emitted:
    """Bounds are global; on a split dim the slice is the whole dim, and its limit the size of the shard."""
    limits = site.spanned(site.list("limit_indices"), site.wholes[0], site.operands[0].shape)
    bounds = zip(site.list("start_indices"), limits, site.list("strides"), strict=True)
    listed = ", ".join([f"{a}:{b}" if step == 1 else f"{a}:{b}:{step}" for a, b, step in bounds])
    return _typed(site, f" [{listed}]")


def _dynamic_slice(site: Site) -> Emitted:
    return _typed(site, f", sizes = {numbers(site.shapes[0])}")


def _concatenate(site: Site) -> Emitted:
    return _typed(site, f", dim = {site.number('dimension')}")


def _pad(site: Site) -> Emitted:
    low, high, between = (
        numbers(site.list(name)) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return _typed(site, f", low = {low}, high = {high}, interior = {between}")


def _reverse(site: Site) -> Emitted:
    return _typed(site, f", dims = {numbers(site.list('dimensions'))}")


def _dot_general(site: Site) -> Emitted:
    pairs = {
        role: [site.list(f"{side}_{role}_dimensions") for side in ("lhs", "rhs")]
        for role in ("batching", "contracting")
    }
    clauses = "".join(
        f", {role}_dims = {numbers(left)} x {numbers(right)}" for role, (left, right) in pairs.items() if left
    )
    return _typed(site, clauses)


def _convolution(site: Site) -> Emitted:
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


def _reduce(site: Site) -> Emitted:
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


def _gather(site: Site) -> Emitted:
    operand, indices = site.operands
    names = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims")
    fields: dict[str, object] = {name: numbers(site.list(name)) for name in names}
    fields |= {
        "operand": operand.name,
        "indices": indices.name,
        "inputs": f"{operand.text}, {indices.text}",
        "start_index_map": numbers(site.list("start_index_map")),
        "index_vector_dim": site.number("index_vector_dim"),
        "sizes": array(site.spanned(site.list("slice_sizes"), site.wholes[0], operand.shape)),
        "sorted": "true" if site.flag("indices_are_sorted") else "false",
    }
    return (site.lines.put("gather", site.elements[0], site.shapes[0], fields, site.names[0]),)


_SCATTERED = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


def _scatter(site: Site) -> Emitted:
    word, element = site.word("combiner"), site.elements[0]
    names = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    fields: dict[str, object] = {name: numbers(site.list(name)) for name in names}
    fields |= {
        "operands": ", ".join(each.name for each in site.operands),
        "inputs": ", ".join(each.text for each in site.operands),
        "index_vector_dim": site.number("index_vector_dim"),
        "sorted": "true" if site.flag("indices_are_sorted") else "false",
        "unique": "true" if site.flag("unique_indices") else "false",
        "combiner": combiner(_SCATTERED[word], element) if word != "set" else "",
        "element": f"tensor<{element}>",
    }
    return (site.lines.put("scatter", element, site.shapes[0], fields, site.names[0]),)


def _sort(site: Site) -> Emitted:
    direction = "LT" if site.word("direction") == "ascending" else "GT"
    return sorted_by_first(
        site.lines, site.operands, site.number("dimension"), direction, site.flag("is_stable"), site.names
    )


def sorted_by_first(
    lines: Lines,
    operands: Sequence[Tensor],
    dim: int,
    direction: str,
    stable: bool,
    names: Sequence[str],
) -> Emitted:
    """All operands in the order of the first."""
    pairs = [
        f"%p{2 * i}: tensor<{each.element}>, %p{2 * i + 1}: tensor<{each.element}>"
        for i, each in enumerate(operands)
    ]
    key = operands[0].element
    word = "FLOAT" if key in FLOATS else "UNSIGNED" if key == "i1" else "SIGNED"
    results = several(lines, operands, names)
    fields: dict[str, object] = {
        "results": binding(results),
        "operands": ", ".join(each.name for each in operands),
        "types": ", ".join(each.text for each in operands),
        "dim": dim,
        "stable": "true" if stable else "false",
        "pairs": ", ".join(pairs),
        "direction": direction,
        "compare_type": word,
        "key": f"tensor<{key}>",
    }
    lines.lines.append(Line("sort", fields))
    return results


def several(lines: Lines, like: Sequence[Tensor], names: Sequence[str]) -> Emitted:
    """Results of one op under one name, `%name#0` and on; a single one has the name itself."""
    base = lines.name(names[0] if names else "")
    if len(like) == 1:
        return (lines.tensor(base, like[0].element, like[0].shape),)
    return tuple(lines.tensor(f"{base}#{i}", each.element, each.shape) for i, each in enumerate(like))


def binding(results: Emitted) -> str:
    """How results are bound: `%name:2`."""
    return results[0].name if len(results) == 1 else f"{results[0].name.split('#')[0]}:{len(results)}"


def _barrier(site: Site) -> Emitted:
    if not site.operands:
        return ()
    results = several(site.lines, site.operands, site.names)
    fields: dict[str, object] = {
        "results": binding(results),
        "operands": ", ".join(each.name for each in site.operands),
        "types": ", ".join(each.text for each in site.operands),
    }
    site.lines.lines.append(Line("optimization_barrier", fields))
    return results


def _reshard(site: Site) -> Emitted:
    return site.operands


def _iota(site: Site) -> Emitted:
    """The index is global: a device's part begins at its offset. It is counted in i32, which is exact."""
    dim, element, shape = site.number("iota_dimension"), site.elements[0], site.shapes[0]
    axes = site.layouts[0][dim]
    if not axes:
        return (iota(site.lines, dim, element, shape, site.names[0]),)
    counted = "i32" if element in FLOATS else element
    local = iota(site.lines, dim, counted, shape)
    offset = site.mover.offset(axes, shape[dim])
    if counted != "i32":
        offset = site.lines.typed("convert", (offset,), counted, ())
    spread = site.lines.typed("broadcast_in_dim", (offset,), counted, shape, ", dims = []")
    if counted == element:
        return (site.lines.alike("add", (local, spread), site.names[0]),)
    total = site.lines.alike("add", (local, spread))
    return _typed(site, kind="convert", operands=(total,))


def iota(lines: Lines, dim: int, element: str, shape: tuple[int, ...], wish: str = "") -> Tensor:
    return lines.put("iota", element, shape, {"dim": dim}, wish)


def _constant(site: Site) -> Emitted:
    element, shape = site.elements[0], site.shapes[0]
    value = site.word("value")
    if value:
        return (site.lines.constant(number(value, element), element, shape, site.names[0]),)
    words = [number(word, element) for word in site.word("data").split()]
    return (site.lines.constant(nested(words, shape), element, shape, site.names[0]),)


def nested(words: list[str], shape: tuple[int, ...]) -> str:
    """Elements in row-major order in the brackets of their shape."""
    if 0 in shape:
        return ""
    for size in reversed(shape):
        words = [f"[{', '.join(words[at : at + size])}]" for at in range(0, len(words), size)]
    return words[0]


_ALIKE = (
    "abs",
    "negate",
    "exponential",
    "exponential_minus_one",
    "log",
    "log_plus_one",
    "logistic",
    "tanh",
    "sine",
    "cosine",
    "tan",
    "sqrt",
    "rsqrt",
    "cbrt",
    "sign",
    "floor",
    "ceil",
    "round_nearest_even",
    "not",
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "power",
    "remainder",
    "atan2",
    "and",
    "or",
    "xor",
    "shift_left",
    "shift_right_logical",
    "shift_right_arithmetic",
)

#: kind -> how it is written; kinds that StableHLO lacks are in `kina.mlir.emit_own`
STABLEHLO: Mapping[str, Emit] = MappingProxyType(
    dict.fromkeys(_ALIKE, _alike)
    | {
        "is_finite": _typed,
        "convert": _typed,
        "compare": _compare,
        "select": _typed,
        "clamp": _typed,
        "broadcast_in_dim": _broadcast,
        "transpose": _transpose,
        "reshape": _typed,
        "slice": _slice,
        "dynamic_slice": _dynamic_slice,
        "dynamic_update_slice": _typed,
        "concatenate": _concatenate,
        "pad": _pad,
        "reverse": _reverse,
        "reduce": _reduce,
        "sort": _sort,
        "dot_general": _dot_general,
        "convolution": _convolution,
        "gather": _gather,
        "scatter": _scatter,
        "iota": _iota,
        "constant": _constant,
        "optimization_barrier": _barrier,
        "reshard": _reshard,
    }
)
