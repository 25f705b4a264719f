"""Result types of the ops, by the constraints of the StableHLO specification."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from kina.mlir.ops import BINARY, UNARY
from kina.mlir.syntax import ELEMENT_BYTES, FLOATS, Function, Op, TensorType
from kina.mlir.verify_basics import ShapeError, in_range
from kina.mlir.verify_indexing import gather, scatter
from kina.mlir.verify_windows import convolution, reduce_window

Types = tuple[TensorType, ...]


_FLOAT_ONLY = frozenset(
    [
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
        "floor",
        "ceil",
        "round_nearest_even",
        "round_nearest_afz",
        "is_finite",
        "atan2",
    ]
)
_WHOLE_ONLY = frozenset(
    ["shift_left", "shift_right_logical", "shift_right_arithmetic", "popcnt", "count_leading_zeros"]
)
_BITS = frozenset({"and", "or", "xor", "not"})
DIRECTIONS = frozenset({"EQ", "NE", "LT", "LE", "GT", "GE"})


def operand_types(function: Function, op: Op) -> Types:
    return tuple(function.values[number].type for number in op.operands)


def result_types(function: Function, op: Op) -> Types:
    return tuple(function.values[number].type for number in op.results)


def infer(function: Function, op: Op) -> Types | None:
    """The result types that follow from operands and attributes; None where the op's own check says it all.

    ShapeError if operands or attributes break a constraint.
    """
    types = operand_types(function, op)
    if op.kind in UNARY or op.kind in BINARY:
        return _elementwise(op.kind, types)
    rule = _RULES.get(op.kind)
    return rule(types, dict(op.attributes), result_types(function, op)) if rule else None


def _elementwise(kind: str, types: Types) -> Types:
    first = types[0]
    for index, type_ in enumerate(types[1:], 1):
        if type_ != first:
            raise ShapeError(
                f"`{kind}` takes tensors of one type: {first} and {type_} (operand {index}) differ"
            )
    if kind in _FLOAT_ONLY and first.dtype not in FLOATS:
        raise ShapeError(f"`{kind}` takes floats, not {first}")
    if kind in _WHOLE_ONLY and (first.dtype in FLOATS or first.dtype == "i1"):
        raise ShapeError(f"`{kind}` takes whole numbers, not {first}")
    if kind in _BITS and first.dtype in FLOATS:
        raise ShapeError(f"`{kind}` takes flags or whole numbers, not {first}")
    if kind == "is_finite":
        return (TensorType("i1", first.shape),)
    return (first,)


def _compare(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    if types[0] != types[1]:
        raise ShapeError(f"`compare` takes tensors of one type: {types[0]} and {types[1]} differ")
    if a["comparison_direction"] not in DIRECTIONS:
        raise ShapeError(f"`compare` has no direction `{a['comparison_direction']}`", "K603")
    if a["compare_type"] not in ("", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"):
        raise ShapeError(f"`compare` has no type `{a['compare_type']}`", "K603")
    return (TensorType("i1", types[0].shape),)


def _select(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    predicate, on_true, on_false = types
    if on_true != on_false:
        raise ShapeError(f"`select` chooses between tensors of one type: {on_true} and {on_false} differ")
    if predicate.dtype != "i1" or predicate.shape not in ((), on_true.shape):
        raise ShapeError(f"`select` takes flags of its shape or of rank 0, not {predicate} for {on_true}")
    return (on_true,)


def _clamp(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    low, middle, high = types
    for bound in (low, high):
        if bound.dtype != middle.dtype or bound.shape not in ((), middle.shape):
            raise ShapeError(f"`clamp` takes bounds of its type or of rank 0, not {bound} for {middle}")
    return (middle,)


def _convert(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    return (TensorType(results[0].dtype, types[0].shape),)


def _bitcast(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    source, target = types[0], results[0]
    old, new = ELEMENT_BYTES[source.dtype], ELEMENT_BYTES[target.dtype]
    shape = source.shape
    if new < old:
        shape = (*shape, old // new)
    elif new > old:
        if not shape or shape[-1] * old != new:
            raise ShapeError(f"`bitcast_convert` cannot join the last dim of {source} into {target.dtype}")
        shape = shape[:-1]
    return (TensorType(target.dtype, shape),)


def _constant(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    declared: TensorType = a["value"].type
    return (declared,)


def _iota(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    in_range("iota", (a["iota_dimension"],), results[0].rank)
    return results


def _broadcast(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    source, target, dims = types[0], results[0], a["broadcast_dimensions"]
    if len(dims) != source.rank:
        raise ShapeError(f"`broadcast_in_dim` names {len(dims)} dims for an operand with {source.rank}")
    in_range("broadcast_in_dim", dims, target.rank)
    for index, dim in enumerate(dims):
        if source.shape[index] not in (1, target.shape[dim]):
            raise ShapeError(
                f"`broadcast_in_dim` cannot stretch dim {index} of {source} to size {target.shape[dim]}"
            )
    return (TensorType(source.dtype, target.shape),)


def _transpose(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    order = a["permutation"]
    in_range("transpose", order, types[0].rank)
    if len(order) != types[0].rank:
        raise ShapeError(f"`transpose` names {len(order)} dims of a tensor with {types[0].rank}", "K612")
    return (TensorType(types[0].dtype, tuple(types[0].shape[d] for d in order)),)


def _reshape(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    if types[0].elements != results[0].elements:
        raise ShapeError(
            f"`reshape` of {types[0]} to {results[0]} changes the number of elements "
            f"from {types[0].elements} to {results[0].elements}"
        )
    return (TensorType(types[0].dtype, results[0].shape),)


def _slice(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    starts, limits, steps = a["start_indices"], a["limit_indices"], a["strides"]
    shape = types[0].shape
    if not len(starts) == len(limits) == len(steps) == len(shape):
        raise ShapeError(f"`slice` has bounds for another number of dims than {types[0]} has", "K612")
    for dim, (start, limit, step) in enumerate(zip(starts, limits, steps, strict=True)):
        if not 0 <= start <= limit <= shape[dim] or step < 1:
            raise ShapeError(
                f"`slice` takes [{start}:{limit}:{step}] of dim {dim}, of size {shape[dim]}", "K612"
            )
    sizes = tuple(
        -(-(limit - start) // step) for start, limit, step in zip(starts, limits, steps, strict=True)
    )
    return (TensorType(types[0].dtype, sizes),)


def _starts(kind: str, starts: Types, rank: int) -> None:
    if len(starts) != rank:
        raise ShapeError(f"`{kind}` has {len(starts)} start indices for {rank} dims")
    for start in starts:
        if start.shape or start.dtype in FLOATS or start.dtype == "i1" or start != starts[0]:
            raise ShapeError(f"`{kind}` takes start indices of one type and rank 0, not {start}")


def _dynamic_slice(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    sizes = a["slice_sizes"]
    _starts("dynamic_slice", types[1:], types[0].rank)
    if len(sizes) != types[0].rank or any(
        not 0 <= n <= m for n, m in zip(sizes, types[0].shape, strict=True)
    ):
        raise ShapeError(f"`dynamic_slice` takes sizes {list(sizes)} of {types[0]}", "K612")
    return (TensorType(types[0].dtype, tuple(sizes)),)


def _dynamic_update_slice(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    target, update = types[0], types[1]
    _starts("dynamic_update_slice", types[2:], target.rank)
    fits = update.rank == target.rank and all(n <= m for n, m in zip(update.shape, target.shape, strict=True))
    if update.dtype != target.dtype or not fits:
        raise ShapeError(f"`dynamic_update_slice` cannot put {update} into {target}")
    return (target,)


def _concatenate(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    if not types:
        raise ShapeError("`concatenate` has no operands")
    first, dim = types[0], a["dimension"]
    in_range("concatenate", (dim,), first.rank)
    for type_ in types:
        same = type_.rank == first.rank and all(
            d == dim or type_.shape[d] == first.shape[d] for d in range(first.rank)
        )
        if type_.dtype != first.dtype or not same:
            raise ShapeError(
                f"`concatenate` along dim {dim} takes tensors that agree elsewhere: {first}, {type_}"
            )
    total = sum(type_.shape[dim] for type_ in types)
    return (TensorType(first.dtype, (*first.shape[:dim], total, *first.shape[dim + 1 :])),)


def _pad(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    low, high, inner = a["edge_padding_low"], a["edge_padding_high"], a["interior_padding"]
    shape = types[0].shape
    if types[1] != TensorType(types[0].dtype, ()):
        raise ShapeError(f"`pad` takes a padding value of rank 0 and its type, not {types[1]}")
    if not len(low) == len(high) == len(inner) == len(shape) or any(i < 0 for i in inner):
        raise ShapeError(f"`pad` has padding for another number of dims than {types[0]} has", "K612")
    sizes = tuple(a_ + n + max(n - 1, 0) * i + b for a_, n, i, b in zip(low, shape, inner, high, strict=True))
    if any(size < 0 for size in sizes):
        raise ShapeError(f"`pad` cuts more from {types[0]} than there is", "K612")
    return (TensorType(types[0].dtype, sizes),)


def _reverse(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    in_range("reverse", a["dimensions"], types[0].rank)
    return (types[0],)


def halves(kind: str, types: Types) -> tuple[Types, Types]:
    """Operands and their initial values, which have the same element types and rank 0."""
    if not types or len(types) % 2:
        raise ShapeError(f"`{kind}` takes as many initial values as operands")
    middle = len(types) // 2
    for operand, start in zip(types[:middle], types[middle:], strict=True):
        if start != TensorType(operand.dtype, ()) or operand.shape != types[0].shape:
            raise ShapeError(f"`{kind}` takes operands of one shape, each with an initial value of rank 0")
    return types[:middle], types[middle:]


def _reduce(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    operands, _ = halves("reduce", types)
    dims = a["dimensions"]
    in_range("reduce", dims, operands[0].rank)
    kept = tuple(size for d, size in enumerate(operands[0].shape) if d not in dims)
    return tuple(TensorType(operand.dtype, kept) for operand in operands)


def _reduce_window(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    operands, _ = halves("reduce_window", types)
    shape = reduce_window(operands[0].shape, a)
    if shape is None:
        raise ShapeError(
            f"`reduce_window` has a window for another number of dims than {operands[0]} has", "K612"
        )
    return tuple(TensorType(operand.dtype, shape) for operand in operands)


def _dot_general(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    left, right = types
    left_batch, right_batch = a["lhs_batching_dimensions"], a["rhs_batching_dimensions"]
    left_sum, right_sum = a["lhs_contracting_dimensions"], a["rhs_contracting_dimensions"]
    in_range("dot_general", (*left_batch, *left_sum), left.rank)
    in_range("dot_general", (*right_batch, *right_sum), right.rank)
    if left.dtype != right.dtype:
        raise ShapeError(f"`dot_general` takes tensors of one element type: {left} and {right} differ")
    if len(left_batch) != len(right_batch) or len(left_sum) != len(right_sum):
        raise ShapeError("`dot_general` pairs different numbers of dims", "K612")
    for l, r in zip((*left_batch, *left_sum), (*right_batch, *right_sum), strict=True):  # noqa: E741
        if left.shape[l] != right.shape[r]:
            raise ShapeError(f"`dot_general` pairs dim {l} of {left} with dim {r} of {right}")
    shape = [left.shape[d] for d in left_batch]
    shape += [size for d, size in enumerate(left.shape) if d not in left_batch and d not in left_sum]
    shape += [size for d, size in enumerate(right.shape) if d not in right_batch and d not in right_sum]
    # the result may have a wider element type; Kina computes in the operands' type only
    return (TensorType(left.dtype, tuple(shape)),)


def _convolution(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    found = convolution(types[0].shape, types[1].shape, a)
    if isinstance(found, str):
        raise ShapeError(f"`convolution` of {types[0]} with {types[1]}: {found}")
    if types[0].dtype != types[1].dtype:
        raise ShapeError(f"`convolution` takes tensors of one element type: {types[0]} and {types[1]} differ")
    return (TensorType(types[0].dtype, found),)


def _sort(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    if not types or any(type_.shape != types[0].shape for type_ in types):
        raise ShapeError("`sort` takes tensors of one shape")
    dim, rank = a["dimension"], types[0].rank
    in_range("sort", (dim + rank if dim < 0 else dim,), max(rank, 1))
    return types


def _barrier(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    return types


def _number(types: Types, a: Mapping[str, Any], results: Types) -> Types:
    return (TensorType("ui32", ()),)


_RULES: Mapping[str, Callable[[Types, Mapping[str, Any], Types], Types]] = MappingProxyType(
    {
        "compare": _compare,
        "select": _select,
        "clamp": _clamp,
        "convert": _convert,
        "bitcast_convert": _bitcast,
        "constant": _constant,
        "iota": _iota,
        "broadcast_in_dim": _broadcast,
        "transpose": _transpose,
        "reshape": _reshape,
        "slice": _slice,
        "dynamic_slice": _dynamic_slice,
        "dynamic_update_slice": _dynamic_update_slice,
        "concatenate": _concatenate,
        "pad": _pad,
        "reverse": _reverse,
        "reduce": _reduce,
        "reduce_window": _reduce_window,
        "dot_general": _dot_general,
        "convolution": _convolution,
        "gather": gather,
        "scatter": scatter,
        "sort": _sort,
        "optimization_barrier": _barrier,
        "partition_id": _number,
        "replica_id": _number,
    }
)
