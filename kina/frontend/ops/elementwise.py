"""Elementwise kinds: every element of the result is made of the elements at the same index."""

from __future__ import annotations

from kina.frontend.ops.core import (
    DTYPES,
    FLOATS,
    INTEGERS,
    LOGICAL,
    NUMBERS,
    Attributes,
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    Types,
    difference,
    need_dtype,
    need_one_dtype,
    need_one_shape,
    with_dtype,
    word,
)

_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")

#: kind -> (dtypes it takes, what it computes)
_UNARY: dict[str, tuple[tuple[str, ...], str]] = {
    "abs": (NUMBERS, "the absolute value"),
    "negate": (NUMBERS, "the value with the other sign"),
    "exponential": (FLOATS, "e to the power of the value"),
    "exponential_minus_one": (FLOATS, "e to the power of the value, minus one"),
    "log": (FLOATS, "the natural logarithm"),
    "log_plus_one": (FLOATS, "the natural logarithm of one plus the value"),
    "logistic": (FLOATS, "the logistic function, 1 / (1 + e^-x)"),
    "tanh": (FLOATS, "the hyperbolic tangent"),
    "sine": (FLOATS, "the sine"),
    "cosine": (FLOATS, "the cosine"),
    "tan": (FLOATS, "the tangent"),
    "sqrt": (FLOATS, "the square root"),
    "rsqrt": (FLOATS, "one over the square root"),
    "cbrt": (FLOATS, "the cube root"),
    "sign": (NUMBERS, "-1, 0 or 1 by the sign of the value"),
    "floor": (FLOATS, "the next whole number below"),
    "ceil": (FLOATS, "the next whole number above"),
    "round_nearest_even": (FLOATS, "the nearest whole number, ties to the even one"),
    "not": (LOGICAL, "logical not of truth values, bitwise not of whole numbers"),
    "erf": (FLOATS, "the error function"),
}

#: kind -> (dtypes it takes, what it computes)
_BINARY: dict[str, tuple[tuple[str, ...], str]] = {
    "add": (NUMBERS, "the sum"),
    "subtract": (NUMBERS, "the difference"),
    "multiply": (NUMBERS, "the product"),
    "divide": (NUMBERS, "the quotient; of whole numbers it is rounded toward zero"),
    "maximum": (NUMBERS, "the larger value"),
    "minimum": (NUMBERS, "the smaller value"),
    "power": (NUMBERS, "the first to the power of the second"),
    "remainder": (NUMBERS, "the remainder of the division, with the sign of the first"),
    "atan2": (FLOATS, "the angle of the point (second, first)"),
    "and": (LOGICAL, "logical and of truth values, bitwise and of whole numbers"),
    "or": (LOGICAL, "logical or of truth values, bitwise or of whole numbers"),
    "xor": (LOGICAL, "logical exclusive or of truth values, bitwise exclusive or of whole numbers"),
    "shift_left": (INTEGERS, "the bits of the first moved left by the second"),
    "shift_right_logical": (INTEGERS, "the bits of the first moved right by the second, filled with zeros"),
    "shift_right_arithmetic": (
        INTEGERS,
        "the bits of the first moved right by the second, filled with the sign",
    ),
}


def _infer_unary(kind: str, operands: Types, attributes: Attributes) -> Results:
    need_dtype(kind, operands[0], _UNARY[kind][0])
    return (operands[0],)


def _infer_binary(kind: str, operands: Types, attributes: Attributes) -> Results:
    need_one_dtype(kind, operands)
    need_one_shape(kind, operands)
    need_dtype(kind, operands[0], _BINARY[kind][0])
    return (operands[0],)


def _infer_is_finite(kind: str, operands: Types, attributes: Attributes) -> Results:
    need_dtype(kind, operands[0], FLOATS)
    return (with_dtype(operands[0], "bool"),)


def _infer_convert(kind: str, operands: Types, attributes: Attributes) -> Results:
    return (with_dtype(operands[0], word(attributes, "dtype")),)


def _infer_compare(kind: str, operands: Types, attributes: Attributes) -> Results:
    need_one_dtype(kind, operands)
    need_one_shape(kind, operands)
    return (with_dtype(operands[0], "bool"),)


def _infer_select(kind: str, operands: Types, attributes: Attributes) -> Results:
    predicate, on_true, on_false = operands
    need_dtype(kind, predicate, ("bool",))
    need_one_dtype(kind, (on_true, on_false))
    need_one_shape(kind, (on_true, on_false))
    if predicate.rank and predicate.shape != on_true.shape:
        raise OpError(
            "K101",
            f"the condition of `{kind}` has the shape of the choices or is a scalar: "
            f"{predicate} and {on_true} {difference(predicate, on_true)}",
        )
    return (on_true,)


def _infer_clamp(kind: str, operands: Types, attributes: Attributes) -> Results:
    low, operand, high = operands
    need_one_dtype(kind, operands)
    need_dtype(kind, operand, NUMBERS)
    for bound in (low, high):
        if bound.rank and bound.shape != operand.shape:
            raise OpError(
                "K101",
                f"a bound of `{kind}` has the shape of the operand or is a scalar: "
                f"{bound} and {operand} {difference(bound, operand)}",
            )
    return (operand,)


def _specs() -> tuple[OpSpec, ...]:
    unary = [
        OpSpec(
            kind,
            1,
            1,
            _infer_unary,
            doc,
            elementwise=True,
            section="Kina" if kind == "erf" else kind,
            operand_names=("x",),
        )
        for kind, (_, doc) in _UNARY.items()
    ]
    binary = [
        OpSpec(kind, 2, 2, _infer_binary, doc, elementwise=True, section=kind, operand_names=("lhs", "rhs"))
        for kind, (_, doc) in _BINARY.items()
    ]
    return (*unary, *binary, *_OTHERS)


_OTHERS = (
    OpSpec(
        "is_finite",
        1,
        1,
        _infer_is_finite,
        "whether the value is neither infinite nor NaN",
        elementwise=True,
        section="is_finite",
        operand_names=("x",),
    ),
    OpSpec(
        "convert",
        1,
        1,
        _infer_convert,
        "the value in another dtype",
        elementwise=True,
        section="convert",
        attributes=(AttributeSpec("dtype", "dtype", "the dtype of the result", choices=DTYPES),),
        operand_names=("x",),
    ),
    OpSpec(
        "compare",
        2,
        2,
        _infer_compare,
        "whether the comparison holds",
        elementwise=True,
        section="compare",
        attributes=(AttributeSpec("comparison_direction", "word", "which comparison", choices=_DIRECTIONS),),
        operand_names=("lhs", "rhs"),
    ),
    OpSpec(
        "select",
        3,
        3,
        _infer_select,
        "the second operand where the first holds, else the third",
        elementwise=True,
        section="select",
        operand_names=("pred", "on_true", "on_false"),
    ),
    OpSpec(
        "clamp",
        3,
        3,
        _infer_clamp,
        "the second operand, not below the first and not above the third",
        elementwise=True,
        section="clamp",
        operand_names=("min", "operand", "max"),
    ),
)

SPECS = _specs()
