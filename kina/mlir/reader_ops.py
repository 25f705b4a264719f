"""Ops and regions of MLIR text, in the generic form and in StableHLO's pretty forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from kina.diagnostics.finding import Label
from kina.mlir.ops import OPS, SPELLINGS, OpForm
from kina.mlir.reader_attributes import complete, read_dictionary
from kina.mlir.reader_pretty import Signature, read_pretty
from kina.mlir.reader_tokens import Cursor
from kina.mlir.syntax import AttributeValue, Block, Op, TensorType, Value
from kina.source import Span


@dataclass(slots=True)
class Scope:
    """The values of one function: all of them by number, and the visible names."""

    cursor: Cursor
    values: list[Value] = field(default_factory=list)
    visible: dict[str, tuple[int, ...]] = field(default_factory=dict)
    #: names that went out of sight at the end of their region, for a better message
    gone: set[str] = field(default_factory=set)

    def define(self, name: str, types: Sequence[TensorType], span: Span, names: list[str]) -> tuple[int, ...]:
        """Number the values that `name` stands for, and note the name in `names`."""
        earlier = self.visible.get(name)
        if earlier is not None:
            first = Label(self.values[earlier[0]].span, "defined here") if earlier else None
            labels = (first,) if first else ()
            self.cursor.fail_at("K605", f"`{name}` is defined twice", span, "defined again", "", *labels)
        start = len(self.values)
        for index, type_ in enumerate(types):
            shown = name if len(types) == 1 else f"{name}#{index}"
            self.values.append(Value(shown, type_, span))
        numbers = tuple(range(start, len(self.values)))
        self.visible[name] = numbers
        names.append(name)
        return numbers

    def use(self, index: int) -> int:
        """The number of the value that the token at `index` names."""
        text = self.cursor.texts[index]
        found = self.visible.get(text)
        if found is not None and len(found) == 1:
            return found[0]
        name, _, part = text.partition("#")
        found = self.visible.get(name)
        if found is None:
            why = (
                "is defined in a region that ends above"
                if name in self.gone
                else "is not defined above its use"
            )
            self.cursor.fail("K604", f"`{name}` {why}", index)
        if not part or int(part) >= len(found):
            self.cursor.fail(
                "K604", f"`{name}` stands for {len(found)} values, `{text}` for none of them", index
            )
        return found[int(part)]

    def close(self, names: list[str]) -> None:
        """Take the names of a region out of sight."""
        for name in names:
            del self.visible[name]
        self.gone.update(names)


def read_block(
    scope: Scope, arguments: Sequence[tuple[str, TensorType, Span]] | None, names: list[str]
) -> Block:
    """The ops up to, and with, the closing brace. `arguments` were read already, or stand in a `^bb0(…)`."""
    cursor = scope.cursor
    cursor.enter()
    start = cursor.pos
    if arguments is None:
        arguments = _block_arguments(cursor)
    numbers = tuple(scope.define(name, (type_,), span, names)[0] for name, type_, span in arguments)
    ops: list[Op] = []
    texts = cursor.texts
    while texts[cursor.pos] != "}":
        if texts[cursor.pos][:1] == "^":
            cursor.fail("K614", "a region has more than one block")
        if ops and ops[-1].kind == "return":
            cursor.fail("K601", f"{cursor.describe()} stands after the region's `return`")
        ops.append(read_op(scope, names))
    if not ops or ops[-1].kind != "return":
        cursor.fail("K601", "a region ends without `return`")
    cursor.pos += 1
    cursor.leave()
    return Block(numbers, tuple(ops), cursor.span(start))


def _block_arguments(cursor: Cursor) -> list[tuple[str, TensorType, Span]]:
    if cursor.texts[cursor.pos][:1] != "^":
        return []
    cursor.pos += 1
    found: list[tuple[str, TensorType, Span]] = []
    if cursor.accept("("):
        while not cursor.accept(")"):
            if found:
                cursor.expect(",")
            found.append(argument(cursor))
            cursor.location()
    cursor.expect(":", "after the block's name")
    return found


def argument(cursor: Cursor) -> tuple[str, TensorType, Span]:
    """`%name: type`."""
    at = cursor.pos
    name = cursor.texts[at]
    if name[:1] != "%":
        cursor.missing("the name of an argument")
    cursor.pos += 1
    cursor.expect(":", f"and the type of `{name}`")
    return name, cursor.type(), cursor.span(at)


def read_regions(scope: Scope) -> tuple[Block, ...]:
    """`({ … }, { … })`, empty if no bracket follows."""
    cursor = scope.cursor
    if not cursor.accept("("):
        return ()
    found = []
    while True:
        cursor.expect("{", "of a region")
        names: list[str] = []
        found.append(read_block(scope, None, names))
        scope.close(names)
        if not cursor.accept(","):
            break
    cursor.expect(")", "behind the regions")
    return tuple(found)


def read_op(scope: Scope, names: list[str]) -> Op:
    """One op with its results; the names of the results are added to `names`."""
    cursor = scope.cursor
    texts = cursor.texts
    start = cursor.pos
    results: list[tuple[str, int, int]] = []
    if texts[start][:1] == "%":
        _result_names(cursor, results)
    at = cursor.pos
    spelled = texts[at]
    generic = spelled[:1] == '"'
    kind = SPELLINGS.get(spelled[1:-1] if generic else spelled)
    if kind is None:
        _unknown_op(cursor, spelled)
    cursor.pos += 1
    form = OPS[kind]
    signature = _generic(scope) if generic else read_pretty(scope, kind, form)
    end = cursor.pos - 1
    location = cursor.location()
    cause = signature.attributes.get("kina.cause")
    attributes = complete(cursor, kind, form, signature.attributes, at)
    _check_form(cursor, kind, form, signature, at)
    operands = _operands(scope, kind, signature)
    numbers = _define(scope, kind, results, signature.results, at, names)
    span = cursor.span(start, end)
    where = location or (cause if isinstance(cause, str) else "")
    return Op(kind, operands, numbers, attributes, signature.regions, span, where)


def _result_names(cursor: Cursor, results: list[tuple[str, int, int]]) -> None:
    while True:
        at = cursor.pos
        name = cursor.texts[at]
        if name[:1] != "%" or "#" in name:
            cursor.missing("the name of a result")
        cursor.pos += 1
        count = cursor.integer() if cursor.accept(":") else 1
        results.append((name, count, at))
        if not cursor.accept(","):
            break
    cursor.expect("=", "after the names of the results")


def _unknown_op(cursor: Cursor, spelled: str) -> NoReturn:
    if spelled in ("", '"') or not (spelled[0] == '"' or spelled[0].isalpha()):
        cursor.missing("an op")
    cursor.fail("K602", f"the op `{spelled.strip(chr(34))}` is not known")


def _generic(scope: Scope) -> Signature:
    """`(%a, %b) <{…}> ({…}) {…} : (types) -> types` behind the quoted name."""
    cursor = scope.cursor
    cursor.expect("(", "of the operands")
    operands: list[int] = []
    while not cursor.accept(")"):
        if operands:
            cursor.expect(",", "or `)` of the operands")
        if cursor.texts[cursor.pos][:1] != "%":
            cursor.missing("the name of a value")
        operands.append(cursor.pos)
        cursor.pos += 1
    given: dict[str, AttributeValue] = {}
    if cursor.accept("<"):
        given |= read_dictionary(cursor)
        cursor.expect(">", "of the properties")
    regions = read_regions(scope)
    if cursor.texts[cursor.pos] == "{":
        given |= read_dictionary(cursor)
    cursor.expect(":", "and the op's type")
    inputs = cursor.types()
    cursor.expect("->", "and the types of the results")
    return Signature(tuple(operands), inputs, cursor.types(), given, regions)


def _check_form(cursor: Cursor, kind: str, form: OpForm, signature: Signature, at: int) -> None:
    count = len(signature.operands)
    if form.operands is not None and count != form.operands:
        cursor.fail("K606", f"`{kind}` takes {form.operands} operands, not {count}", at)
    if len(signature.inputs) != count:
        cursor.fail(
            "K606", f"`{kind}` has {count} operands and {len(signature.inputs)} types of operands", at
        )
    regions = len(signature.regions)
    if regions == form.regions or (form.regions is None and regions > 0):
        return
    wanted = "at least one" if form.regions is None else str(form.regions)
    cursor.fail("K614", f"`{kind}` takes {wanted} region(s), not {regions}", at)


def _operands(scope: Scope, kind: str, signature: Signature) -> tuple[int, ...]:
    found = []
    for index, type_ in zip(signature.operands, signature.inputs, strict=True):
        number = scope.use(index)
        value = scope.values[number]
        if value.type is not type_ and value.type != type_:
            scope.cursor.fail_at(
                "K606",
                f"`{kind}` takes `{value.name}` as {type_}, but it is {value.type}",
                scope.cursor.span(index),
                f"{value.type}",
                "",
                Label(value.span, "defined here"),
            )
        found.append(number)
    return tuple(found)


def _define(
    scope: Scope,
    kind: str,
    results: list[tuple[str, int, int]],
    types: tuple[TensorType, ...],
    at: int,
    names: list[str],
) -> tuple[int, ...]:
    cursor = scope.cursor
    if not results and kind not in ("return", "call", "optimization_barrier", "if", "case"):
        cursor.fail("K601", f"the result of `{kind}` has no name", at)
    if results and sum(count for _, count, _ in results) != len(types):
        cursor.fail(
            "K606", f"`{kind}` has {len(types)} results, named are {sum(c for _, c, _ in results)}", at
        )
    if len(results) == 1:
        return scope.define(results[0][0], types, cursor.span(results[0][2]), names)
    numbers: tuple[int, ...] = ()
    for name, count, index in results:
        numbers += scope.define(name, types[len(numbers) : len(numbers) + count], cursor.span(index), names)
    if not results:
        for type_ in types:
            numbers += (len(scope.values),)
            scope.values.append(Value("", type_, cursor.span(at)))
    return numbers


def attribute_list(value: AttributeValue | None, count: int) -> tuple[Mapping[str, AttributeValue], ...]:
    """`arg_attrs` or `res_attrs` of the generic form, one mapping per argument or result."""
    if not isinstance(value, tuple):
        return ({},) * count
    return tuple(item if isinstance(item, Mapping) else {} for item in value)
