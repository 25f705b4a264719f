"""Numbers and nested lists in the program text, and the constants that they become."""

from __future__ import annotations

from collections.abc import Iterator

from kina.frontend.builder import Builder, Literal
from kina.frontend.ir import Attribute
from kina.frontend.ops import OpError
from kina.frontend.ops.creation import element_text
from kina.source import Span


def literal_dtype(literal: Literal) -> str:
    """The dtype of a literal by itself: f32 if any of it is written with a fraction, else i32 or bool."""
    leaves = list(_leaves(literal))
    if any(isinstance(leaf, float) for leaf in leaves) or not leaves:
        return "f32"
    return "bool" if all(isinstance(leaf, bool) for leaf in leaves) else "i32"


def _leaves(literal: Literal) -> Iterator[bool | int | float | str]:
    stack: list[Literal] = [literal]
    while stack:
        top = stack.pop()
        if isinstance(top, tuple):
            stack.extend(reversed(top))
        else:
            yield top


def _list_shape(literal: Literal) -> tuple[int, ...]:
    """The shape of a nested list by its first elements; whether it is ragged shows when it is counted."""
    shape = []
    while isinstance(literal, tuple):
        shape.append(len(literal))
        if not literal:
            break
        literal = literal[0]
    return tuple(shape)


def _check_list(literal: Literal, shape: tuple[int, ...]) -> None:
    level: list[Literal] = [literal]
    for size in shape:
        inner: list[Literal] = []
        for each in level:
            if not isinstance(each, tuple) or len(each) != size:
                raise OpError("K118", "the lists of a constant differ in length or depth")
            inner.extend(each)
        level = inner
    if any(isinstance(each, tuple) for each in level):
        raise OpError("K118", "the lists of a constant differ in length or depth")


def constant(
    builder: Builder,
    literal: Literal,
    dtype: str,
    shape: tuple[int, ...] | None,
    span: Span,
    default_shape: tuple[int, ...] = (),
) -> int:
    """A constant of the literal: a number repeated over `shape`, or a nested list that fills it.

    Without `shape` a number takes `default_shape` and a list its own. ProgramError K118 if they do not fit.
    """
    try:
        if not isinstance(literal, tuple):
            target = default_shape if shape is None else shape
            element = _element(literal, dtype)
            return builder.emit("constant", (), {"value": element, "dtype": dtype, "shape": target}, span)[0]
        own = _list_shape(literal)
        _check_list(literal, own)
        data = " ".join([_element(leaf, dtype) for leaf in _leaves(literal)])
    except OpError as fault:
        raise builder.located(fault, span) from None
    attributes: dict[str, Attribute] = {"dtype": dtype, "shape": own if shape is None else shape}
    attributes["data" if data else "value"] = data or "0"
    return builder.emit("constant", (), attributes, span)[0]


def _element(literal: Literal, dtype: str) -> str:
    if isinstance(literal, str | tuple):
        raise OpError("K118", f"a constant holds numbers, not `{literal}`")
    return element_text(literal, dtype)
