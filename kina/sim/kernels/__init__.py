"""What each op computes: pure functions of arrays and attributes, shared by every executor.

`KERNELS[kind](operands, attributes)` gives the results. The attributes are those of the StableHLO
specification; ops whose result does not follow from operands and attributes also get `shape` and
`dtype` of the result. Reducers and comparators arrive as words (`kind`, `combiner`, `key`,
`descending`), or as a function `combine` if they are none of the usual ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from kina.sim.dtypes import DTYPES, Array
from kina.sim.kernels import convolution, indexing, ordering, reduction, shaping
from kina.sim.kernels.constants import constant
from kina.sim.kernels.contraction import dot_general
from kina.sim.kernels.elementwise import BINARY, UNARY, clamp, compare, convert, select
from kina.sim.kernels.repeated import applied

Attributes = Mapping[str, Any]
Kernel = Callable[[Sequence[Array], Attributes], tuple[Array, ...]]


def _reduce(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    dims, kind = attributes["dimensions"], attributes.get("kind", "")
    if kind:
        return (reduction.reduce(operands[0], kind, dims, operands[1] if len(operands) > 1 else None),)
    half = len(operands) // 2
    return tuple(reduction.reduce_by(operands[:half], operands[half:], dims, attributes["combine"]))


def _reduce_window(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    half = len(operands) // 2
    return tuple(
        reduction.reduce_window(operands[:half], operands[half:], attributes, attributes.get("combine"))
    )


def _sort(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    dim = attributes["dimension"] % max(operands[0].ndim, 1)
    combine = attributes.get("combine")
    if combine is not None:
        return tuple(ordering.sort_by(operands, dim, combine))
    descending = attributes.get("descending", attributes.get("direction") == "descending")
    total = attributes.get("total", False)
    return tuple(ordering.sort(operands, dim, attributes.get("key", 0), descending, total))


def _scatter(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    operand, indices, updates = operands
    return (indexing.scatter(operand, indices, updates, attributes, attributes.get("combine")),)


def _unary(function: Callable[..., Array]) -> Kernel:
    return lambda operands, attributes: (applied(function, operands),)


def _binary(function: Callable[..., Array]) -> Kernel:
    return lambda operands, attributes: (applied(function, operands),)


def _single(function: Callable[[Array, Attributes], Array]) -> Kernel:
    return lambda operands, attributes: (np.asarray(function(operands[0], attributes)),)


def _bitcast(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    data = np.ascontiguousarray(operands[0])
    return (np.frombuffer(data.tobytes(), DTYPES[attributes["dtype"]]).reshape(attributes["shape"]),)


def _identity(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    return tuple(operands)


_OTHERS: dict[str, Kernel] = {
    "constant": lambda operands, a: (constant(a),),
    "iota": lambda operands, a: (shaping.iota(a),),
    "compare": lambda operands, a: (
        applied(lambda x, y: compare(x, y, a["comparison_direction"], a.get("compare_type", "")), operands),
    ),
    "select": lambda operands, a: (select(*operands),),
    "clamp": lambda operands, a: (clamp(*operands),),
    "convert": lambda operands, a: (convert(operands[0], DTYPES[a["dtype"]]),),
    "bitcast_convert": _bitcast,
    "broadcast_in_dim": _single(shaping.broadcast_in_dim),
    "transpose": _single(shaping.transpose),
    "reshape": _single(shaping.reshape),
    "slice": _single(shaping.slice_),
    "reverse": _single(shaping.reverse),
    "concatenate": lambda operands, a: (shaping.concatenate(operands, a),),
    "pad": lambda operands, a: (shaping.pad(operands[0], operands[1], a),),
    "dynamic_slice": lambda operands, a: (shaping.dynamic_slice(operands, a),),
    "dynamic_update_slice": lambda operands, a: (shaping.dynamic_update_slice(operands),),
    "dot_general": lambda operands, a: (np.asarray(dot_general(operands[0], operands[1], a)),),
    "convolution": lambda operands, a: (convolution.convolution(operands[0], operands[1], a),),
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "gather": lambda operands, a: (np.asarray(indexing.gather(operands[0], operands[1], a)),),
    "scatter": _scatter,
    "sort": _sort,
    "optimization_barrier": _identity,
    # Kina's own kinds
    "reshard": _identity,
    "top_k": lambda operands, a: ordering.top_k(operands[0], a["k"]),
    "argmax": lambda operands, a: (ordering.argmax(operands[0], a["dimension"], a["kind"]),),
    "cumulative": lambda operands, a: (
        reduction.running(operands[0], a["dimension"], a["kind"], a.get("reverse", False)),
    ),
}

#: op kind -> what it computes
KERNELS: Mapping[str, Kernel] = MappingProxyType(
    {kind: _unary(function) for kind, function in UNARY.items()}
    | {kind: _binary(function) for kind, function in BINARY.items()}
    | _OTHERS
)
