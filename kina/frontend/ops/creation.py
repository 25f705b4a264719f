"""Kinds that make a tensor from nothing, and kinds that pass tensors on unchanged."""

from __future__ import annotations

import math
from functools import lru_cache

from kina.frontend.ir import TensorType
from kina.frontend.ops.core import (
    DTYPES,
    INTEGERS,
    NUMBERS,
    Attributes,
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    Types,
    need_dim,
    number,
    numbers,
    word,
)

_LARGEST = {
    "f64": float.fromhex("0x1.fffffffffffffp+1023"),
    "f32": float.fromhex("0x1.fffffep+127"),
    "bf16": float.fromhex("0x1.fep+127"),
    "f16": 65504.0,
}


def element_text(value: bool | int | float, dtype: str) -> str:
    """The shortest text of an element that Python's `float` reads back; OpError K118 if the dtype lacks it.

    >>> element_text(2.0, "f32"), element_text(True, "bool"), element_text(0.5, "bf16")
    ('2', '1', '0.5')
    """
    if dtype == "bool":
        if value in (0, 1):
            return str(int(value))
        raise OpError(
            "K118", f"{value} is no element of bool", "elements of bool are true and false, or 1 and 0"
        )
    if dtype in INTEGERS:
        return _whole_text(value, dtype)
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if abs(value) > _LARGEST[dtype]:
        raise OpError("K118", f"{value} is above the largest {dtype}, {_LARGEST[dtype]}")
    if isinstance(value, float) and not (value.is_integer() and abs(value) < 2**53):
        return repr(value)
    # A negative zero is not the neutral element of a sum's padding: keep its sign.
    return (
        "-0" if isinstance(value, float) and math.copysign(1.0, value) < 0 and value == 0 else str(int(value))
    )


def _whole_text(value: bool | int | float, dtype: str) -> str:
    if isinstance(value, float) and not value.is_integer():
        raise OpError(
            "K118",
            f"{value} is no element of {dtype}, which holds whole numbers",
            "convert the tensor to f32 first",
        )
    bits = 31 if dtype == "i32" else 63
    if not -(2**bits) <= value < 2**bits:
        raise OpError("K118", f"{value} is out of the range of {dtype}, -2^{bits} to 2^{bits} - 1")
    return str(int(value))


@lru_cache(maxsize=256)
def _data_length(data: str) -> int:
    pieces = data.split()
    for piece in pieces:
        _check_number(piece, "data")
    return len(pieces)


def _check_number(text: str, name: str) -> None:
    try:
        float(text)
    except ValueError:
        raise OpError("K118", f"`{name}` of `constant` has `{text}`, which is no number") from None


def _infer_constant(kind: str, operands: Types, attributes: Attributes) -> Results:
    result = TensorType(word(attributes, "dtype"), numbers(attributes, "shape"))
    value, data = word(attributes, "value"), word(attributes, "data")
    if value:
        _check_number(value, "value")
    if min(result.shape, default=0) < 0 or value:
        return (result,)
    if _data_length(data) != result.elements:
        raise OpError(
            "K118", f"`{kind}` has {_data_length(data)} elements, but {result} has {result.elements}"
        )
    return (result,)


def _infer_iota(kind: str, operands: Types, attributes: Attributes) -> Results:
    result = TensorType(word(attributes, "dtype"), numbers(attributes, "shape"))
    if result.dtype not in NUMBERS:
        raise OpError("K103", f"`{kind}` makes numbers, not {result}")
    need_dim(kind, "iota_dimension", number(attributes, "iota_dimension"), result.rank, result)
    return (result,)


def _infer_same(kind: str, operands: Types, attributes: Attributes) -> Results:
    return tuple(operands)


_SHAPE = AttributeSpec("shape", "numbers", "the shape of the result")
_DTYPE = AttributeSpec("dtype", "dtype", "the dtype of the result", choices=DTYPES)

SPECS = (
    OpSpec(
        "iota",
        0,
        0,
        _infer_iota,
        "the index along one dim",
        (AttributeSpec("iota_dimension", "number", "the dim whose index is meant"), _DTYPE, _SHAPE),
        section="iota",
    ),
    OpSpec(
        "constant",
        0,
        0,
        _infer_constant,
        "fixed elements: one that is repeated, or all of them",
        (
            AttributeSpec(
                "value", "text", "the element that is repeated, as a number; empty if `data` is given", ""
            ),
            AttributeSpec(
                "data",
                "text",
                "all elements in row-major order, separated by spaces; empty if `value` is given",
                "",
            ),
            _DTYPE,
            _SHAPE,
        ),
        section="constant",
    ),
    OpSpec(
        "optimization_barrier",
        0,
        None,
        _infer_same,
        "the operands unchanged",
        (
            AttributeSpec(
                "stop_gradient", "flag", "whether differentiation takes the results for constants", False
            ),
        ),
        section="optimization_barrier",
        operand_names=("operands",),
    ),
    OpSpec(
        "reshard",
        1,
        1,
        _infer_same,
        "the operand unchanged; its layout may differ from that of the operand",
        section="Kina",
        operand_names=("operand",),
    ),
)
