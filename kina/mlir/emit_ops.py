"""Each kind of the typed IR as one op of StableHLO on local shapes, with its attributes localised.

Which attribute changes on a device, and that others may stay, is what `rules/*.dl` say
(`attribute_localised`, `attribute_guards`): here the change is carried out.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kina.frontend.ops import OPS
from kina.mlir import emit_contraction as contraction
from kina.mlir import emit_creation as creation
from kina.mlir import emit_indexing as indexing
from kina.mlir import emit_shaping as shaping
from kina.mlir.emit_site import Emit, Emitted, Site, alike, typed
from kina.mlir.ops import BINARY, UNARY


def _compare(site: Site) -> Emitted:
    left, right = site.operands
    return (site.lines.compare(site.word("comparison_direction"), left, right, site.names[0]),)


#: kind -> how it is written; kinds that StableHLO lacks are in `kina.mlir.emit_own`
STABLEHLO: Mapping[str, Emit] = MappingProxyType(
    {kind: alike for kind in (*UNARY, *BINARY) if kind in OPS}
    | {
        "is_finite": typed,
        "convert": typed,
        "compare": _compare,
        "select": typed,
        "clamp": typed,
        "broadcast_in_dim": shaping.broadcast,
        "transpose": shaping.transpose,
        "reshape": typed,
        "slice": shaping.sliced,
        "dynamic_slice": shaping.dynamic_slice,
        "dynamic_update_slice": typed,
        "concatenate": shaping.concatenate,
        "pad": shaping.pad,
        "reverse": shaping.reverse,
        "reduce": contraction.reduce,
        "sort": indexing.sort,
        "dot_general": contraction.dot_general,
        "convolution": contraction.convolution,
        "gather": indexing.gather,
        "scatter": indexing.scatter,
        "iota": creation.iota,
        "constant": creation.constant,
        "optimization_barrier": shaping.barrier,
        "reshard": shaping.reshard,
    }
)
