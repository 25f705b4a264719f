"""The ops that the reader knows: how many operands each takes, its attributes, and how it is spelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

#: How an attribute is checked: "int", "ints", "pairs" (n x 2, flattened), "groups", "bool", "word",
#: "bools", "dense", "channel", "symbol", "ignored"
AttributeForm = str


@dataclass(frozen=True, slots=True)
class OpForm:
    """Number of operands (None: any), attributes by name with their form, and defaults.

    An attribute without a default is required. `clauses` maps the keywords of the pretty form to
    attributes (`dims = [0]`); `regions` is the number of regions (None: at least one).
    """

    operands: int | None
    attributes: Mapping[str, AttributeForm] = field(default_factory=lambda: MappingProxyType({}))
    defaults: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))
    clauses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    regions: int | None = 0


UNARY = (
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
    "round_nearest_afz",
    "is_finite",
    "not",
    "popcnt",
    "count_leading_zeros",
)
BINARY = (
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

_GATHER = {
    "offset_dims": "ints",
    "collapsed_slice_dims": "ints",
    "operand_batching_dims": "ints",
    "start_indices_batching_dims": "ints",
    "start_index_map": "ints",
    "index_vector_dim": "int",
}
_SCATTER = {
    "update_window_dims": "ints",
    "inserted_window_dims": "ints",
    "input_batching_dims": "ints",
    "scatter_indices_batching_dims": "ints",
    "scatter_dims_to_operand_dims": "ints",
    "index_vector_dim": "int",
}
_DOT = {
    "lhs_batching_dimensions": "ints",
    "rhs_batching_dimensions": "ints",
    "lhs_contracting_dimensions": "ints",
    "rhs_contracting_dimensions": "ints",
}
_CONVOLUTION = {
    "input_batch_dimension": "int",
    "input_feature_dimension": "int",
    "input_spatial_dimensions": "ints",
    "kernel_input_feature_dimension": "int",
    "kernel_output_feature_dimension": "int",
    "kernel_spatial_dimensions": "ints",
    "output_batch_dimension": "int",
    "output_feature_dimension": "int",
    "output_spatial_dimensions": "ints",
}

#: The parts of a structured attribute: `#stablehlo.<word><part = …>` -> part in the text -> attribute
STRUCTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "#stablehlo.gather": {name: name for name in _GATHER},
        "#stablehlo.scatter": {name: name for name in _SCATTER},
        "#stablehlo.dot": {name: name for name in _DOT},
        "#stablehlo.channel_handle": {"handle": "handle", "type": "type"},
    }
)

_INTS: tuple[int, ...] = ()
_GLOBAL = {"replica_groups": "groups", "channel_handle": "channel", "use_global_device_ids": "bool"}
_GLOBAL_DEFAULTS = {"channel_handle": 0, "use_global_device_ids": False, "replica_groups": ()}


def _empty(names: Mapping[str, str], *required: str) -> dict[str, object]:
    return {name: _INTS for name, form in names.items() if form == "ints" and name not in required}


_OTHERS: dict[str, OpForm] = {
    "constant": OpForm(0, {"value": "dense"}),
    "iota": OpForm(0, {"iota_dimension": "int"}, clauses={"dim": "iota_dimension"}),
    "convert": OpForm(1),
    "bitcast_convert": OpForm(1),
    "compare": OpForm(2, {"comparison_direction": "word", "compare_type": "word"}, {"compare_type": ""}),
    "select": OpForm(3),
    "clamp": OpForm(3),
    "broadcast_in_dim": OpForm(1, {"broadcast_dimensions": "ints"}, clauses={"dims": "broadcast_dimensions"}),
    "transpose": OpForm(1, {"permutation": "ints"}, clauses={"dims": "permutation"}),
    "reshape": OpForm(1),
    "slice": OpForm(1, {"start_indices": "ints", "limit_indices": "ints", "strides": "ints"}),
    "dynamic_slice": OpForm(None, {"slice_sizes": "ints"}, clauses={"sizes": "slice_sizes"}),
    "dynamic_update_slice": OpForm(None),
    "concatenate": OpForm(None, {"dimension": "int"}, clauses={"dim": "dimension"}),
    "pad": OpForm(
        2,
        {"edge_padding_low": "ints", "edge_padding_high": "ints", "interior_padding": "ints"},
        clauses={"low": "edge_padding_low", "high": "edge_padding_high", "interior": "interior_padding"},
    ),
    "reverse": OpForm(1, {"dimensions": "ints"}, clauses={"dims": "dimensions"}),
    "reduce": OpForm(None, {"dimensions": "ints"}, regions=1),
    "reduce_window": OpForm(
        None,
        {
            "window_dimensions": "ints",
            "window_strides": "ints",
            "base_dilations": "ints",
            "window_dilations": "ints",
            "padding": "pairs",
        },
        {"window_strides": _INTS, "base_dilations": _INTS, "window_dilations": _INTS, "padding": _INTS},
        regions=1,
    ),
    "dot_general": OpForm(2, _DOT | {"precision_config": "ignored"}, _empty(_DOT) | {"precision_config": ()}),
    "convolution": OpForm(
        2,
        _CONVOLUTION
        | {
            "window_strides": "ints",
            "padding": "pairs",
            "lhs_dilation": "ints",
            "rhs_dilation": "ints",
            "window_reversal": "bools",
            "feature_group_count": "int",
            "batch_group_count": "int",
            "precision_config": "ignored",
        },
        {
            "window_strides": _INTS,
            "padding": _INTS,
            "lhs_dilation": _INTS,
            "rhs_dilation": _INTS,
            "window_reversal": _INTS,
            "precision_config": (),
        },
    ),
    "gather": OpForm(
        2,
        _GATHER | {"slice_sizes": "ints", "indices_are_sorted": "bool"},
        _empty(_GATHER) | {"indices_are_sorted": False, "index_vector_dim": 0},
    ),
    "scatter": OpForm(
        None,
        _SCATTER | {"indices_are_sorted": "bool", "unique_indices": "bool"},
        _empty(_SCATTER) | {"indices_are_sorted": False, "unique_indices": False, "index_vector_dim": 0},
        regions=1,
    ),
    "sort": OpForm(
        None, {"dimension": "int", "is_stable": "bool"}, {"dimension": -1, "is_stable": False}, regions=1
    ),
    "optimization_barrier": OpForm(None),
    "if": OpForm(1, regions=2),
    "case": OpForm(1, regions=None),
    "partition_id": OpForm(0),
    "replica_id": OpForm(0),
    "all_reduce": OpForm(1, _GLOBAL, _GLOBAL_DEFAULTS, regions=1),
    "all_gather": OpForm(1, _GLOBAL | {"all_gather_dim": "int"}, _GLOBAL_DEFAULTS),
    "reduce_scatter": OpForm(1, _GLOBAL | {"scatter_dimension": "int"}, _GLOBAL_DEFAULTS, regions=1),
    "all_to_all": OpForm(
        1,
        {
            "split_dimension": "int",
            "concat_dimension": "int",
            "split_count": "int",
            "replica_groups": "groups",
            "channel_handle": "channel",
        },
        {"channel_handle": 0},
    ),
    "collective_permute": OpForm(
        1, {"source_target_pairs": "groups", "channel_handle": "channel"}, {"channel_handle": 0}
    ),
    "collective_broadcast": OpForm(
        1, {"replica_groups": "groups", "channel_handle": "channel"}, {"channel_handle": 0}
    ),
    "return": OpForm(None),
    "call": OpForm(None, {"callee": "symbol"}),
}

#: kind -> form; `return` and `call` belong to func (`return` also to stablehlo), all others to stablehlo
OPS: Mapping[str, OpForm] = MappingProxyType(
    {kind: OpForm(1) for kind in UNARY} | {kind: OpForm(2) for kind in BINARY} | _OTHERS
)

#: how the reader spells ops -> kind
SPELLINGS: Mapping[str, str] = MappingProxyType(
    {f"stablehlo.{kind}": kind for kind in OPS if kind != "call"}
    | {"func.return": "return", "return": "return", "func.call": "call", "call": "call"}
)
