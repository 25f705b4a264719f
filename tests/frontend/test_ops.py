"""The op table: completion of attributes, result types, and refusals that name the shapes."""

from __future__ import annotations

import pytest

from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops import OPS, OpError, complete, infer


def t(text: str) -> TensorType:
    """`f32[8,64]` as a type."""
    dtype, _, sizes = text.rstrip("]").partition("[")
    return TensorType(dtype, tuple(int(size) for size in sizes.split(",") if size))


def results(kind: str, /, *operands: str, **attributes: Attribute) -> str:
    types = [t(each) for each in operands]
    return " ".join(map(str, infer(kind, types, dict(complete(kind, types, attributes)))))


NO_BATCH = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (0,)}
ROWS = {"offset_dims": (2,), "collapsed_slice_dims": (0,), "start_index_map": (0,), "slice_sizes": (1, 4)}
UPDATE_ROWS = {"update_window_dims": (1,), "inserted_window_dims": (0,), "scatter_dims_to_operand_dims": (0,)}

GOOD = [
    ("exponential", ["bf16[8]"], {}, "bf16[8]"),
    ("is_finite", ["f32[8]"], {}, "bool[8]"),
    ("convert", ["f32[8]"], {"dtype": "bool"}, "bool[8]"),
    ("add", ["f32[0,1]", "f32[0,1]"], {}, "f32[0,1]"),
    ("compare", ["bool[8]", "bool[8]"], {"comparison_direction": "EQ"}, "bool[8]"),
    ("select", ["bool[]", "f32[8]", "f32[8]"], {}, "f32[8]"),
    ("clamp", ["f32[]", "f32[8]", "f32[8]"], {}, "f32[8]"),
    ("broadcast_in_dim", ["f32[1,3]"], {"broadcast_dimensions": (2, 0), "shape": (3, 4, 5)}, "f32[3,4,5]"),
    ("transpose", ["f32[2,3,4]"], {"permutation": (2, 0, 1)}, "f32[4,2,3]"),
    ("reshape", ["f32[2,0]"], {"shape": (0, 7)}, "f32[0,7]"),
    ("slice", ["f32[10]"], {"start_indices": (1,), "limit_indices": (8,), "strides": (3,)}, "f32[3]"),
    ("dynamic_slice", ["f32[4,4]", "i32[]", "i32[]"], {"slice_sizes": (2, 4)}, "f32[2,4]"),
    ("dynamic_update_slice", ["f32[4]", "f32[2]", "i64[]"], {}, "f32[4]"),
    ("concatenate", ["f32[2,3]", "f32[2,0]", "f32[2,4]"], {"dimension": 1}, "f32[2,7]"),
    ("pad", ["f32[3]", "f32[]"], {"edge_padding_low": (-1,), "interior_padding": (2,)}, "f32[6]"),
    ("reverse", ["f32[3,4]"], {"dimensions": (1,)}, "f32[3,4]"),
    ("reduce", ["f32[3,4,5]"], {"dimensions": (2, 0), "kind": "sum"}, "f32[4]"),
    ("cumulative", ["i32[3,4]"], {"dimension": 1, "kind": "sum"}, "i32[3,4]"),
    ("argmax", ["bf16[3,4]"], {"dimension": 0}, "i32[4]"),
    ("sort", ["f32[3]", "i32[3]"], {"dimension": 0}, "f32[3] i32[3]"),
    ("top_k", ["f32[3,4]"], {"k": 2}, "f32[3,2] i32[3,2]"),
    ("dot_general", ["f32[2,3]", "f32[3,4]"], NO_BATCH, "f32[2,4]"),
    (
        "convolution",
        ["f32[4,3,8,8]", "f32[6,3,3,3]"],
        {"window_strides": (2, 2), "padding": (1,) * 4},
        "f32[4,6,4,4]",
    ),
    ("convolution", ["f32[4,6,8]", "f32[12,1,3]"], {"feature_group_count": 6}, "f32[4,12,6]"),
    ("convolution", ["f32[4,3,8]", "f32[6,3,3]"], {"batch_group_count": 2}, "f32[2,6,6]"),
    ("gather", ["f32[17,4]", "i32[5,6]"], ROWS, "f32[5,6,4]"),
    ("scatter", ["f32[17,4]", "i32[5]", "f32[5,4]"], UPDATE_ROWS | {"combiner": "add"}, "f32[17,4]"),
    ("iota", [], {"iota_dimension": 1, "dtype": "i32", "shape": (2, 3)}, "i32[2,3]"),
    ("constant", [], {"value": "1", "dtype": "f32", "shape": (2, 3)}, "f32[2,3]"),
    ("constant", [], {"data": "1 2 3", "dtype": "f32", "shape": (3,)}, "f32[3]"),
    ("optimization_barrier", ["f32[2]", "i32[]"], {}, "f32[2] i32[]"),
    ("reshard", ["f32[2]"], {}, "f32[2]"),
    ("add", ["f32[65536,65536]", "f32[65536,65536]"], {}, "f32[65536,65536]"),
]


@pytest.mark.parametrize(("kind", "operands", "attributes", "expected"), GOOD)
def test_result_types(
    kind: str, operands: list[str], attributes: dict[str, Attribute], expected: str
) -> None:
    assert results(kind, *operands, **attributes) == expected


def test_every_kind_is_tried() -> None:
    tried = {kind for kind, *_ in GOOD} | {kind for kind, spec in OPS.items() if spec.elementwise}
    assert tried == set(OPS)


@pytest.mark.parametrize(
    "kind", [kind for kind, spec in OPS.items() if spec.elementwise and not spec.attributes]
)
def test_elementwise_kinds_keep_the_shape(kind: str) -> None:
    operands = [t("f32[3,1]")] * OPS[kind].least
    if kind in ("not", "and", "or", "xor") or kind.startswith("shift"):
        operands = [t("i32[3,1]")] * OPS[kind].least
    if kind == "select":
        operands[0] = t("bool[3,1]")
    assert infer(kind, operands, {})[0].shape == (3, 1)


BAD = [
    (
        "K101",
        "add",
        ["f32[8,64]", "f32[8,32]"],
        {},
        "`add` takes tensors of one shape: f32[8,64] and f32[8,32] differ at dim 1",
    ),
    (
        "K101",
        "select",
        ["bool[4]", "f32[8]", "f32[8]"],
        {},
        "the condition of `select` has the shape of the choices or is a scalar: bool[4] and "
        "f32[8] differ at dim 0",
    ),
    (
        "K102",
        "add",
        ["f32[8]", "f16[8]"],
        {},
        "`add` takes tensors of one dtype: f32[8] and f16[8] differ",
    ),
    (
        "K103",
        "add",
        ["bool[8]", "bool[8]"],
        {},
        "`add` takes numbers, not bool[8]",
    ),
    (
        "K104",
        "add",
        ["f32[8]"],
        {},
        "`add` takes 2 operands, not 1",
    ),
    (
        "K104",
        "dynamic_slice",
        ["f32[4,4]", "i32[]"],
        {"slice_sizes": (1, 1)},
        "`dynamic_slice` takes one start for each dim of f32[4,4]: 2, not 1",
    ),
    (
        "K105",
        "reduce",
        ["f32[]"],
        {"dimensions": (0,), "kind": "sum"},
        "`dimensions` of `reduce` is 0, but f32[] has no dims",
    ),
    (
        "K105",
        "cumulative",
        ["f32[4]"],
        {"dimension": -1, "kind": "sum"},
        "`dimension` of `cumulative` is -1, but the dims of f32[4] are 0 to 0",
    ),
    (
        "K106",
        "reduce",
        ["f32[4]"],
        {"dimensions": (0, 0), "kind": "sum"},
        "`dimensions` of `reduce` is [0 0], which has dim 0 twice",
    ),
    (
        "K107",
        "reshape",
        ["f32[12,8]"],
        {"shape": (16, 5)},
        "`reshape` keeps all elements: f32[12,8] has 96, f32[16,5] has 80",
    ),
    (
        "K108",
        "broadcast_in_dim",
        ["f32[2]"],
        {"broadcast_dimensions": (0,), "shape": (3,)},
        "`broadcast_in_dim` cannot stretch f32[2] to f32[3]: dim 0 has 2 elements, and dim 0 of the result 3",
    ),
    (
        "K109",
        "dot_general",
        ["f32[2,3]", "f32[4,5]"],
        NO_BATCH,
        "contracting dims of `dot_general` agree in size: dim 1 of f32[2,3] and dim 0 of f32[4,5] do not",
    ),
    (
        "K112",
        "slice",
        ["f32[8]"],
        {"start_indices": (5,), "limit_indices": (4,)},
        "`slice` takes 5 to 4 of dim 0 of f32[8], which has 8 elements",
    ),
    (
        "K113",
        "concatenate",
        ["f32[2,3]", "f32[3,3]"],
        {"dimension": 1},
        "`concatenate` along dim 1 takes tensors that agree in every other dim: f32[2,3] and f32[3,3] do not",
    ),
    (
        "K114",
        "pad",
        ["f32[2]", "f32[]"],
        {"edge_padding_low": (-3,)},
        "`pad` takes more off dim 0 of f32[2] than it has: -3 and 0 leave -1 elements",
    ),
    (
        "K116",
        "gather",
        ["f32[17,4]", "i32[5,6]"],
        ROWS | {"slice_sizes": (2, 4)},
        "`slice_sizes` of `gather` is 2 at dim 0 of f32[17,4], but at most 1 fits",
    ),
    (
        "K117",
        "iota",
        [],
        {"iota_dimension": 0, "dtype": "i32", "shape": (2**31,)},
        "dim 0 of the result of `iota` i32[2147483648] has the size 2147483648, above the limit 2147483647",
    ),
    (
        "K117",
        "constant",
        [],
        {"value": "0", "dtype": "f32", "shape": (-1,)},
        "dim 0 of the result of `constant` f32[-1] has the size -1, which is negative",
    ),
    (
        "K117",
        "reshape",
        ["f32[1]"],
        {"shape": (1,) * 65},
        "the result of `reshape` has 65 dims, but a tensor has at most 64",
    ),
    (
        "K119",
        "pad",
        ["f32[2]", "f32[1]"],
        {},
        "`padding_value` of `pad` is a scalar, not f32[1]",
    ),
    (
        "K120",
        "transpose",
        ["f32[2]"],
        {},
        "`transpose` needs `permutation`: for each dim of the result the dim of the operand",
    ),
    (
        "K120",
        "transpose",
        ["f32[2]"],
        {"permutation": (0,), "order": 1},
        "`transpose` has no attribute `order`",
    ),
    (
        "K120",
        "transpose",
        ["f32[2]"],
        {"permutation": 0},
        "`permutation` of `transpose` is a list of whole numbers, not 0",
    ),
    (
        "K121",
        "compare",
        ["f32[2]", "f32[2]"],
        {"comparison_direction": "eq"},
        "`comparison_direction` of `compare` is one of `EQ`, `NE`, `LT`, `LE`, `GT` and `GE`, not `eq`",
    ),
    (
        "K122",
        "top_k",
        ["f32[2]"],
        {"k": 3},
        "`top_k` takes 3 of the last dim of f32[2], which has 2 elements",
    ),
]


@pytest.mark.parametrize(("code", "kind", "operands", "attributes", "message"), BAD)
def test_refusals(
    code: str, kind: str, operands: list[str], attributes: dict[str, Attribute], message: str
) -> None:
    with pytest.raises(OpError) as caught:
        results(kind, *operands, **attributes)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_attributes_are_complete_and_sorted() -> None:
    completed = complete("slice", [t("f32[4,4]")], {"start_indices": (0, 0), "limit_indices": (1, 1)})
    assert completed == (("limit_indices", (1, 1)), ("start_indices", (0, 0)), ("strides", (1, 1)))
    for kind, spec in OPS.items():
        assert spec.doc, kind
        assert all(attribute.doc for attribute in spec.attributes), kind
