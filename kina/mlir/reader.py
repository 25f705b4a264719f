"""Reads MLIR text of the StableHLO and func dialects, in the generic and the pretty forms.

The sources of truth are the StableHLO specification for ops and attributes, and what jaxlib prints.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kina.mlir.reader_attributes import FREE_PREFIXES, read_dictionary
from kina.mlir.reader_ops import Scope, argument, attribute_list, read_block
from kina.mlir.reader_tokens import Cursor
from kina.mlir.syntax import AttributeValue, Function, Module, TensorType
from kina.source import Source, Span


def read_module(source: Source) -> Module:
    """The module that the text describes; ProgramError with a located finding (K6xx) if it describes none.

    Reading checks syntax, names and the types that the text states of operands;
    `kina.mlir.verify.verify` checks everything else.
    """
    cursor = Cursor(source)
    _aliases(cursor)
    text = cursor.texts[cursor.pos]
    if not text:
        cursor.fail("K601", "the text holds no module")
    if text == "module":
        module = _pretty_module(cursor)
    elif text == '"builtin.module"':
        module = _generic_module(cursor)
    else:
        module = Module("", {}, _functions(cursor, ""), source, cursor.span(0))
    cursor.location()
    _aliases(cursor)
    if cursor.texts[cursor.pos]:
        cursor.fail("K601", f"{cursor.describe()} stands after the end of the module")
    return module


def _aliases(cursor: Cursor) -> None:
    """Step over `#loc = loc(…)` lines; other aliases are refused."""
    while cursor.texts[cursor.pos][:1] == "#":
        if not cursor.texts[cursor.pos].startswith("#loc"):
            cursor.fail("K603", f"the alias {cursor.describe()} is not of a location")
        cursor.pos += 1
        cursor.expect("=", "of an alias")
        if cursor.texts[cursor.pos] != "loc":
            cursor.missing("`loc(…)`")
        cursor.location()


def _pretty_module(cursor: Cursor) -> Module:
    at = cursor.pos
    cursor.pos += 1
    name = cursor.symbol() if cursor.texts[cursor.pos][:1] == "@" else ""
    attributes: Mapping[str, AttributeValue] = {}
    if cursor.accept("attributes"):
        attributes = read_dictionary(cursor)
    _check_attributes(cursor, attributes, "a module", at)
    cursor.expect("{", "of the module")
    functions = _functions(cursor, "}")
    cursor.expect("}", "of the module")
    return Module(name, attributes, functions, cursor.source, cursor.span(at))


def _generic_module(cursor: Cursor) -> Module:
    at = cursor.pos
    cursor.pos += 1
    cursor.expect("(")
    cursor.expect(")")
    attributes: dict[str, AttributeValue] = {}
    if cursor.accept("<"):
        attributes |= read_dictionary(cursor)
        cursor.expect(">", "of the properties")
    cursor.expect("(", "of the module's region")
    cursor.expect("{", "of the module's region")
    functions = _functions(cursor, "}")
    cursor.expect("}", "of the module's region")
    cursor.expect(")", "of the module's region")
    if cursor.texts[cursor.pos] == "{":
        attributes |= read_dictionary(cursor)
    _empty_type(cursor)
    name = attributes.pop("sym_name", "")
    _check_attributes(cursor, attributes, "a module", at)
    return Module(str(name), attributes, functions, cursor.source, cursor.span(at))


def _empty_type(cursor: Cursor) -> None:
    for text in (":", "(", ")", "->", "(", ")"):
        cursor.expect(text)


def _check_attributes(cursor: Cursor, found: Mapping[str, AttributeValue], where: str, at: int) -> None:
    for name in found:
        if not name.startswith(FREE_PREFIXES):
            cursor.fail("K603", f"{where} has no attribute `{name}`", at)
    for name in ("mhlo.num_partitions", "mhlo.num_replicas"):
        count = found.get(name, 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            cursor.fail("K603", f"`{name}` is not a whole number above zero", at)


def _functions(cursor: Cursor, end: str) -> tuple[Function, ...]:
    found: list[Function] = []
    while cursor.texts[cursor.pos] not in ("", end):
        match cursor.texts[cursor.pos]:
            case "func.func" | "func":
                found.append(_pretty_function(cursor))
            case '"func.func"':
                found.append(_generic_function(cursor))
            case _:
                cursor.missing("a function")
        cursor.location()
        if end == "":
            _aliases(cursor)
    return tuple(found)


def _pretty_function(cursor: Cursor) -> Function:
    at = cursor.pos
    cursor.pos += 1
    public = cursor.texts[cursor.pos] != "private"
    if cursor.texts[cursor.pos] in ("public", "private", "nested"):
        cursor.pos += 1
    name = cursor.symbol()
    head = cursor.span(at, cursor.pos - 1)
    arguments, argument_attributes = _arguments(cursor)
    result_types: list[TensorType] = []
    result_attributes: list[Mapping[str, AttributeValue]] = []
    if cursor.accept("->"):
        _results(cursor, result_types, result_attributes)
    attributes: Mapping[str, AttributeValue] = {}
    if cursor.accept("attributes"):
        attributes = read_dictionary(cursor)
        _check_attributes(cursor, attributes, "a function", at)
    cursor.expect("{", f"of the body of `@{name}`")
    scope = Scope(cursor)
    body = read_block(scope, arguments, [])
    return Function(
        name,
        public,
        tuple(scope.values),
        body,
        tuple(result_types),
        tuple(argument_attributes),
        tuple(result_attributes),
        head,
        attributes,
    )


def _arguments(
    cursor: Cursor,
) -> tuple[list[tuple[str, TensorType, Span]], list[Mapping[str, AttributeValue]]]:
    cursor.expect("(", "of the arguments")
    arguments: list[tuple[str, TensorType, Span]] = []
    attributes: list[Mapping[str, AttributeValue]] = []
    while not cursor.accept(")"):
        if arguments:
            cursor.expect(",", "or `)` of the arguments")
        arguments.append(argument(cursor))
        attributes.append(_port_attributes(cursor))
        cursor.location()
    return arguments, attributes


def _results(cursor: Cursor, types: list[TensorType], attributes: list[Mapping[str, AttributeValue]]) -> None:
    if not cursor.accept("("):
        types.append(cursor.type())
        attributes.append({})
        return
    while not cursor.accept(")"):
        if types:
            cursor.expect(",", "or `)` of the results")
        types.append(cursor.type())
        attributes.append(_port_attributes(cursor))


def _port_attributes(cursor: Cursor) -> Mapping[str, AttributeValue]:
    if cursor.texts[cursor.pos] != "{":
        return {}
    at = cursor.pos
    found = read_dictionary(cursor)
    _check_port(cursor, found, at)
    return found


def _check_port(cursor: Cursor, found: Mapping[str, AttributeValue], at: int) -> None:
    for name in found:
        if not name.startswith(FREE_PREFIXES):
            cursor.fail("K603", f"an argument or result has no attribute `{name}`", at)
    sharding = found.get("mhlo.sharding", "{manual}")
    if sharding not in ("{manual}", "{replicated}"):
        cursor.fail(
            "K603",
            f"`mhlo.sharding = {sharding}` asks a partitioner to split the tensor",
            at,
            help_='a per-device module has local shapes and `mhlo.sharding = "{manual}"`',
        )


def _generic_function(cursor: Cursor) -> Function:
    at = cursor.pos
    cursor.pos += 1
    cursor.expect("(")
    cursor.expect(")")
    cursor.expect("<", "of the properties")
    given = read_dictionary(cursor)
    cursor.expect(">", "of the properties")
    cursor.expect("(", "of the function's region")
    cursor.expect("{", "of the function's region")
    scope = Scope(cursor)
    body = read_block(scope, None, [])
    cursor.expect(")", "of the function's region")
    attributes: Mapping[str, AttributeValue] = {}
    if cursor.texts[cursor.pos] == "{":
        attributes = read_dictionary(cursor)
        _check_attributes(cursor, attributes, "a function", at)
    _empty_type(cursor)
    for name in given:
        if name not in ("function_type", "sym_name", "sym_visibility", "arg_attrs", "res_attrs"):
            cursor.fail("K603", f"a function has no attribute `{name}`", at)
    arguments, results = _function_type(cursor, str(given.get("function_type", "")), at)
    if arguments != tuple(scope.values[number].type for number in body.arguments):
        cursor.fail("K606", "the function's type and the arguments of its body disagree", at)
    ports = [
        attribute_list(given.get(name), len(of))
        for name, of in (("arg_attrs", arguments), ("res_attrs", results))
    ]
    for port in (*ports[0], *ports[1]):
        _check_port(cursor, port, at)
    return Function(
        str(given.get("sym_name", "")),
        given.get("sym_visibility", "public") == "public",
        tuple(scope.values),
        body,
        results,
        ports[0],
        ports[1],
        cursor.span(at),
        attributes,
    )


def _function_type(
    cursor: Cursor, text: str, at: int
) -> tuple[tuple[TensorType, ...], tuple[TensorType, ...]]:
    inner = Cursor(replace(cursor.source, text=text))
    if not text.startswith("("):
        cursor.fail("K603", "a function lacks its `function_type`", at)
    arguments = inner.types()
    inner.expect("->")
    return arguments, inner.types()
