"""StableHLO's pretty forms, as jaxlib prints them, brought to operands, attributes and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from kina.mlir.ops import BINARY, OpForm
from kina.mlir.reader_attributes import read_convolution_numbers, read_dictionary, read_value
from kina.mlir.reader_tokens import Cursor
from kina.mlir.syntax import AttributeValue, Block, Op, TensorType

if TYPE_CHECKING:
    from kina.mlir.reader_ops import Scope


@dataclass(frozen=True, slots=True)
class Signature:
    """An op as spelled: places of the operand tokens, types, attributes, regions."""

    operands: tuple[int, ...]
    inputs: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    attributes: Mapping[str, AttributeValue]
    regions: tuple[Block, ...] = ()


def read_pretty(scope: Scope, kind: str, form: OpForm) -> Signature:
    """The pretty form of an op, behind its name."""
    special = _SPECIAL.get(kind)
    return special(scope, kind, form) if special else _plain(scope, kind, form)


def _plain(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`%a, %b, dims = [0] {…} : types`; a bare word is an attribute's value (`compare LT, …`)."""
    cursor = scope.cursor
    texts = cursor.texts
    operands: list[int] = []
    given: dict[str, AttributeValue] = {}
    while True:
        text = texts[cursor.pos]
        if text[:1] == "%":
            operands.append(cursor.pos)
            cursor.pos += 1
        elif text in form.clauses:
            cursor.pos += 1
            cursor.expect("=", f"after `{text}`")
            # not any value: `dim = 1 : tensor<…>` would read the op's type as that of the number
            listed = texts[cursor.pos] == "["
            given[form.clauses[text]] = cursor.integers() if listed else cursor.integer()
        elif text not in (":", "{"):
            cursor.missing("an operand or a clause" if operands or form.operands != 0 else "the type")
        if not cursor.accept(","):
            break
    if texts[cursor.pos] == "{":
        given |= read_dictionary(cursor)
    if kind == "return" and not operands:
        return Signature((), (), (), given)
    cursor.expect(":", f"and the type of `{kind}`")
    inputs, results = _types(cursor, kind, len(operands))
    return Signature(tuple(operands), inputs, results, given)


def _types(cursor: Cursor, kind: str, operands: int) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    """The types behind the colon: `(inputs) -> results`, one type for all, or a list."""
    if cursor.texts[cursor.pos] == "(":
        inputs = cursor.types()
        cursor.expect("->", "and the types of the results")
        return inputs, cursor.types()
    listed = [cursor.type()]
    while cursor.accept(","):
        listed.append(cursor.type())
    match kind:
        case "return":
            return tuple(listed), ()
        case "optimization_barrier":
            return tuple(listed), tuple(listed)
        case "select" if len(listed) == 2:
            return (listed[0], listed[1], listed[1]), (listed[1],)
        case "compare" | "concatenate" if operands > 0:
            cursor.fail("K601", f"the type of `{kind}` is not of the form `(…) -> …`")
    if len(listed) != 1:
        cursor.fail("K601", f"`{kind}` has one type, or one of the form `(…) -> …`")
    return (listed[0],) * operands, (listed[0],)


def _constant(scope: Scope, kind: str, form: OpForm) -> Signature:
    cursor = scope.cursor
    given = dict(read_dictionary(cursor)) if cursor.texts[cursor.pos] == "{" else {}
    at = cursor.pos
    value = read_value(cursor)
    type_ = getattr(value, "type", None)
    if not isinstance(type_, TensorType):
        cursor.fail("K603", "a constant is written `dense<…> : type`", at)
    return Signature((), (), (type_,), given | {"value": value})


def _compare(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`LT, %a, %b, FLOAT : (…) -> …`"""
    cursor = scope.cursor
    direction = cursor.texts[cursor.pos]
    cursor.pos += 1
    cursor.expect(",", "after the direction of `compare`")
    first = _operand(cursor)
    cursor.expect(",")
    second = _operand(cursor)
    given: dict[str, AttributeValue] = {"comparison_direction": direction}
    if cursor.accept(","):
        given["compare_type"] = cursor.texts[cursor.pos]
        cursor.pos += 1
    if cursor.texts[cursor.pos] == "{":
        given |= read_dictionary(cursor)
    cursor.expect(":", "and the type of `compare`")
    inputs, results = _types(cursor, kind, 2)
    return Signature((first, second), inputs, results, given)


def _operand(cursor: Cursor) -> int:
    if cursor.texts[cursor.pos][:1] != "%":
        cursor.missing("the name of a value")
    cursor.pos += 1
    return cursor.pos - 1


def _slice(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`%a [0:4:2, 1:3] : (…) -> …`"""
    cursor = scope.cursor
    operand = _operand(cursor)
    cursor.expect("[", "of the bounds")
    bounds: list[tuple[int, int, int]] = []
    while not cursor.accept("]"):
        if bounds:
            cursor.expect(",", "or `]` of the bounds")
        start = cursor.integer()
        cursor.expect(":", "of a slice's bounds")
        limit = cursor.integer()
        bounds.append((start, limit, cursor.integer() if cursor.accept(":") else 1))
    given: dict[str, AttributeValue] = {
        name: tuple(bound[i] for bound in bounds)
        for i, name in enumerate(("start_indices", "limit_indices", "strides"))
    }
    cursor.expect(":", "and the type of `slice`")
    inputs, results = _types(cursor, kind, 1)
    return Signature((operand,), inputs, results, given)


def _dot_general(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`%a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = […] : …`"""
    cursor = scope.cursor
    first = _operand(cursor)
    cursor.expect(",")
    second = _operand(cursor)
    given: dict[str, AttributeValue] = {}
    while cursor.accept(","):
        at = cursor.pos
        word = cursor.texts[at]
        cursor.pos += 1
        cursor.expect("=", f"after `{word}`")
        if word not in ("batching_dims", "contracting_dims", "precision"):
            cursor.fail("K603", f"`dot_general` has no attribute `{word}`", at)
        if word == "precision":
            _words(cursor)
            continue
        name = word.removesuffix("_dims")
        given[f"lhs_{name}_dimensions"] = cursor.integers()
        cursor.expect("x", "between the dims of both operands")
        given[f"rhs_{name}_dimensions"] = cursor.integers()
    if cursor.texts[cursor.pos] == "{":
        given |= read_dictionary(cursor)
    cursor.expect(":", "and the type of `dot_general`")
    inputs, results = _types(cursor, kind, 2)
    return Signature((first, second), inputs, results, given)


def _words(cursor: Cursor) -> None:
    cursor.expect("[")
    while not cursor.accept("]"):
        if not cursor.texts[cursor.pos]:
            cursor.missing("`]`")
        cursor.pos += 1


def _convolution(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`(%a, %b) dim_numbers = …, window = {stride = […], pad = […], …} {…} : …`"""
    cursor = scope.cursor
    cursor.expect("(", "of the operands")
    first = _operand(cursor)
    cursor.expect(",")
    second = _operand(cursor)
    cursor.expect(")", "of the operands")
    cursor.expect("dim_numbers")
    cursor.expect("=")
    given = read_convolution_numbers(cursor)
    if cursor.accept(","):
        cursor.expect("window")
        cursor.expect("=")
        at = cursor.pos
        for word, value in read_dictionary(cursor).items():
            if word not in _WINDOW:
                cursor.fail("K603", f"the window of `convolution` has no part `{word}`", at)
            given[_WINDOW[word]] = _flat(value) if word == "pad" else value
    if cursor.texts[cursor.pos] == "{":
        given |= read_dictionary(cursor)
    cursor.expect(":", "and the type of `convolution`")
    inputs, results = _types(cursor, kind, 2)
    return Signature((first, second), inputs, results, given)


_WINDOW: Mapping[str, str] = MappingProxyType(
    {
        "stride": "window_strides",
        "pad": "padding",
        "lhs_dilate": "lhs_dilation",
        "rhs_dilate": "rhs_dilation",
        "reverse": "window_reversal",
    }
)


def _flat(value: AttributeValue) -> AttributeValue:
    if not isinstance(value, tuple):
        return value
    return tuple(item for row in value for item in (row if isinstance(row, tuple) else (row,)))


def _reduce(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`(%a init: %z), … applies stablehlo.add across dimensions = [1] : …`, or with a `reducer`."""
    cursor = scope.cursor
    operands: list[int] = []
    starts: list[int] = []
    while True:
        cursor.expect("(", "of an operand of `reduce`")
        operands.append(_operand(cursor))
        cursor.expect("init")
        cursor.expect(":")
        starts.append(_operand(cursor))
        cursor.expect(")")
        if not cursor.accept(","):
            break
    applied, applied_at = "", cursor.pos
    if cursor.accept("applies"):
        applied_at = cursor.pos
        applied = cursor.texts[applied_at].removeprefix("stablehlo.")
        if applied not in BINARY or len(operands) > 1:
            cursor.fail("K602", f"`reduce` cannot apply {cursor.describe()}")
        cursor.pos += 1
    cursor.expect("across")
    cursor.expect("dimensions")
    cursor.expect("=")
    given: dict[str, AttributeValue] = {"dimensions": cursor.integers()}
    if cursor.texts[cursor.pos] == "{":
        given |= read_dictionary(cursor)
    cursor.expect(":", "and the type of `reduce`")
    inputs, results = _types(cursor, kind, 2 * len(operands))
    region = _applied(scope, applied, applied_at, inputs[-1]) if applied else _reducer(scope, len(operands))
    return Signature((*operands, *starts), inputs, results, given, (region,))


def _applied(scope: Scope, kind: str, at: int, element: TensorType) -> Block:
    """The region that `applies` stands for."""
    span = scope.cursor.span(at)
    names: list[str] = []
    left, right, result = (
        scope.define(f"%{name} of {at}", (element,), span, names)[0] for name in ("left", "right", "result")
    )
    scope.close(names)
    ops = (Op(kind, (left, right), (result,), (), (), span), Op("return", (result,), (), (), (), span))
    return Block((left, right), ops, span)


def _reducer(scope: Scope, operands: int) -> Block:
    from kina.mlir.reader_ops import argument, read_block

    cursor = scope.cursor
    cursor.expect("reducer")
    pairs = []
    for _ in range(operands):
        cursor.expect("(", "of a pair of arguments")
        first = argument(cursor)
        cursor.location()
        cursor.expect(",")
        second = argument(cursor)
        cursor.location()
        cursor.expect(")")
        pairs.append((first, second))
    cursor.expect("{", "of the reducer")
    names: list[str] = []
    block = read_block(scope, [pair[side] for side in (0, 1) for pair in pairs], names)
    scope.close(names)
    return block


def _call(scope: Scope, kind: str, form: OpForm) -> Signature:
    """`@name(%a, %b) : (…) -> …`"""
    cursor = scope.cursor
    name = cursor.symbol()
    cursor.expect("(", "of the operands")
    operands: list[int] = []
    while not cursor.accept(")"):
        if operands:
            cursor.expect(",")
        operands.append(_operand(cursor))
    given = dict(read_dictionary(cursor)) if cursor.texts[cursor.pos] == "{" else {}
    cursor.expect(":", "and the type of `call`")
    inputs = cursor.types()
    cursor.expect("->", "and the types of the results")
    return Signature(tuple(operands), inputs, cursor.types(), given | {"callee": name})


def _unprintable(scope: Scope, kind: str, form: OpForm) -> Signature:
    scope.cursor.fail(
        "K601",
        f"`{kind}` is written in the generic form",
        scope.cursor.pos - 1,
        help_=f'write `"stablehlo.{kind}"(…) <{{…}}> ({{…}}) : (…) -> …`',
    )


_SPECIAL: Mapping[str, Callable[[Scope, str, OpForm], Signature]] = MappingProxyType(
    {
        "constant": _constant,
        "compare": _compare,
        "slice": _slice,
        "dot_general": _dot_general,
        "convolution": _convolution,
        "reduce": _reduce,
        "call": _call,
    }
    | dict.fromkeys(
        (
            "gather",
            "scatter",
            "sort",
            "if",
            "case",
            "reduce_window",
            "all_reduce",
            "all_gather",
            "reduce_scatter",
            "all_to_all",
            "collective_permute",
            "collective_broadcast",
        ),
        _unprintable,
    )
)
