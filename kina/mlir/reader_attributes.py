"""Attributes of MLIR text: their values as written, and as the op's table wants them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from kina.mlir.ops import STRUCTS, OpForm
from kina.mlir.reader_tokens import Cursor
from kina.mlir.syntax import AttributeValue, Dense

#: Attributes with these prefixes may stand anywhere and change nothing about what an op computes.
FREE_PREFIXES = ("kina.", "mhlo.", "jax.", "stablehlo.")

_NUMBER = re.compile(r"-?\d")


def read_dictionary(cursor: Cursor) -> dict[str, AttributeValue]:
    """`{name = value, flag, …}`, each name once."""
    cursor.enter()
    cursor.expect("{", "of attributes")
    found: dict[str, AttributeValue] = {}
    while not cursor.accept("}"):
        if found and not cursor.accept(","):
            cursor.missing("`,` or `}` of attributes")
        name_at = cursor.pos
        name = _name(cursor)
        if name in found:
            cursor.fail("K603", f"the attribute `{name}` stands twice", name_at)
        found[name] = read_value(cursor) if cursor.accept("=") else True
    cursor.leave()
    return found


def _name(cursor: Cursor) -> str:
    text = cursor.texts[cursor.pos]
    if text[:1] == '"':
        return cursor.string()
    if not re.fullmatch(r"[A-Za-z_][\w$.]*", text):
        cursor.missing("the name of an attribute")
    cursor.pos += 1
    return text


def read_value(cursor: Cursor) -> AttributeValue:
    """One attribute value; what it is follows from its first token."""
    text = cursor.texts[cursor.pos]
    first = text[:1]
    if first == '"':
        return cursor.string()
    if first == "@":
        return cursor.symbol()
    if first == "[":
        return _list(cursor)
    if first == "{":
        return cast(AttributeValue, read_dictionary(cursor))
    if text.startswith("dense<"):
        return _dense(cursor)
    if text.startswith("array<"):
        return _array(cursor)
    if _NUMBER.match(text) or text.startswith("0x"):
        return _number(cursor)
    if text in ("true", "false", "unit"):
        cursor.pos += 1
        return text != "false"
    if first == "#":
        return _dialect(cursor)
    return _type_text(cursor)


def _list(cursor: Cursor) -> AttributeValue:
    cursor.enter()
    cursor.expect("[")
    items: list[AttributeValue] = []
    while not cursor.accept("]"):
        if items and not cursor.accept(","):
            cursor.missing("`,` or `]` of a list")
        items.append(read_value(cursor))
    cursor.leave()
    return tuple(items)


def _dense(cursor: Cursor) -> Dense:
    text = cursor.texts[cursor.pos]
    cursor.pos += 1
    cursor.expect(":", "and the type of a dense attribute")
    return Dense(text[len("dense<") : -1].strip(), cursor.type())


def _array(cursor: Cursor) -> AttributeValue:
    text = cursor.texts[cursor.pos]
    element, _, items = text[len("array<") : -1].partition(":")
    try:
        if element.strip() == "i1":
            values: tuple[AttributeValue, ...] = tuple(
                item.strip() == "true" for item in items.split(",") if items
            )
        else:
            values = tuple(int(item) for item in items.split(",") if items.strip())
    except ValueError:
        cursor.fail("K603", f"`{text}` is not an array of whole numbers or flags")
    cursor.pos += 1
    return values


def _number(cursor: Cursor) -> AttributeValue:
    text = cursor.texts[cursor.pos]
    cursor.pos += 1
    if cursor.accept(":"):
        cursor.pos += 1
    if text.startswith("0x"):
        return int(text, 16)
    return float(text) if "." in text else int(text)


def _dialect(cursor: Cursor) -> AttributeValue:
    """`#stablehlo<word VALUE>` is VALUE, `#stablehlo.name<part = value, …>` a mapping."""
    at = cursor.pos
    name = cursor.texts[at]
    cursor.pos += 1
    if name == "#stablehlo.conv":
        cursor.expect("<")
        numbers = read_convolution_numbers(cursor)
        cursor.expect(">")
        return numbers
    if name != "#stablehlo" and name not in STRUCTS:
        cursor.fail("K603", f"the attribute `{name}` is not known", at)
    cursor.expect("<")
    if name == "#stablehlo":
        cursor.pos += 1
        word = cursor.texts[cursor.pos]
        cursor.pos += 1
        cursor.expect(">")
        return word
    parts: dict[str, AttributeValue] = {}
    while not cursor.accept(">"):
        if parts and not cursor.accept(","):
            cursor.missing(f"`,` or `>` of `{name}`")
        part_at = cursor.pos
        part = _name(cursor)
        if part not in STRUCTS[name] or part in parts:
            cursor.fail("K603", f"`{name}` has no part `{part}`, or has it twice", part_at)
        cursor.expect("=")
        parts[part] = read_value(cursor)
    return parts


def read_convolution_numbers(cursor: Cursor) -> dict[str, AttributeValue]:
    """`[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]` as the nine attributes that StableHLO names."""
    found: dict[str, AttributeValue] = {}
    for side, letters, separator in (("input", "bf", "x"), ("kernel", "io", "->"), ("output", "bf", "")):
        at = cursor.pos
        places: dict[str, int] = {}
        cursor.expect("[", "of a convolution's dims")
        while not cursor.accept("]"):
            if places:
                cursor.expect(",")
            places[cursor.texts[cursor.pos]] = len(places)
            cursor.pos += 1
        spatial = len(places) - 2
        wanted = {*letters, *(str(number) for number in range(spatial))}
        if set(places) != wanted:
            cursor.fail(
                "K603",
                f"the {side} dims of a convolution are not `{letters[0]}`, `{letters[1]}`, 0, 1, …",
                at,
            )
        names = ("input_feature", "output_feature") if side == "kernel" else ("batch", "feature")
        for letter, name in zip(letters, names, strict=True):
            found[f"{side}_{name}_dimension"] = places[letter]
        found[f"{side}_spatial_dimensions"] = tuple(places[str(number)] for number in range(spatial))
        if separator:
            cursor.expect(separator)
    return found


def _type_text(cursor: Cursor) -> AttributeValue:
    """A type as an attribute: `function_type = (tensor<f32>) -> tensor<f32>`, kept as text."""
    first = cursor.pos
    if cursor.texts[first] == "(" or cursor.texts[first].startswith("tensor<"):
        cursor.types()
        if cursor.accept("->"):
            cursor.types()
    elif re.fullmatch(r"(?:ui|si|i|f|bf)\d+|index", cursor.texts[first]):
        cursor.pos += 1
    else:
        cursor.missing("the value of an attribute")
    return cursor.source.text[cursor.starts[first] : cursor.starts[cursor.pos]].strip()


def complete(
    cursor: Cursor, kind: str, form: OpForm, given: Mapping[str, AttributeValue], at: int
) -> tuple[tuple[str, AttributeValue], ...]:
    """The op's attributes: structures flattened, values in the table's form, defaults filled in."""
    if not given and not form.attributes:
        return ()
    flat: dict[str, AttributeValue] = {}
    for name, value in given.items():
        if isinstance(value, Mapping) and name != "channel_handle":
            flat.update(value)
        else:
            flat[name] = value
    found: dict[str, AttributeValue] = {}
    for name, value in flat.items():
        if name not in form.attributes:
            if name.startswith(FREE_PREFIXES):
                continue
            cursor.fail("K603", f"`{kind}` has no attribute `{name}`", at)
        found[name] = _shaped(cursor, kind, name, form.attributes[name], value, at)
    for name in form.attributes:
        if name in found:
            continue
        if name not in form.defaults:
            cursor.fail("K603", f"`{kind}` lacks its attribute `{name}`", at)
        found[name] = cast(AttributeValue, form.defaults[name])
    return tuple(sorted((name, value) for name, value in found.items() if form.attributes[name] != "ignored"))


def _shaped(
    cursor: Cursor, kind: str, name: str, form: str, value: AttributeValue, at: int
) -> AttributeValue:
    """The value if it is of the form, with dense numbers as tuples."""
    if isinstance(value, Dense) and form != "dense":
        return _shaped_dense(cursor, form, value, at)
    if isinstance(value, Mapping) and form == "channel":
        handle = value.get("handle", 0)
        return handle if isinstance(handle, int) else 0
    if not _has_form(form, value):
        cursor.fail("K603", f"the attribute `{name}` of `{kind}` is not of the form that it takes", at)
    return value


def _has_form(form: str, value: AttributeValue) -> bool:
    match form, value:
        case "int", int():
            return not isinstance(value, bool)
        case ("bool", bool()) | ("word" | "symbol", str()) | ("ignored", _) | ("dense", Dense()):
            return True
        case (("ints" | "pairs"), tuple()):
            return all(type(item) is int for item in value)
        case "bools", tuple():
            return all(isinstance(item, bool) for item in value)
    return False


def _shaped_dense(cursor: Cursor, form: str, value: Dense, at: int) -> AttributeValue:
    if form == "bools":
        return tuple(item == "true" for item in _words(value.text) for _ in range(_repeats(value)))
    rows = _rows(cursor, value, at)
    return rows if form == "groups" else tuple(number for row in rows for number in row)


def _words(text: str) -> list[str]:
    return re.findall(r"-?\w+", text)


def _repeats(value: Dense) -> int:
    return 1 if value.text.startswith("[") else value.type.elements


def _rows(cursor: Cursor, value: Dense, at: int) -> tuple[tuple[int, ...], ...]:
    """The numbers of a small dense attribute, row by row."""
    try:
        numbers = [int(word) for word in _words(value.text)] * _repeats(value)
    except ValueError:
        cursor.fail("K603", f"`dense<{value.text}>` does not hold whole numbers", at)
    if len(numbers) != value.type.elements:
        cursor.fail(
            "K603", f"`dense<{value.text}>` does not hold the {value.type.elements} numbers of its type", at
        )
    width = value.type.shape[-1] if value.type.rank > 1 else len(numbers)
    return tuple(tuple(numbers[i : i + width]) for i in range(0, len(numbers), max(width, 1)))
