"""Checks a module before it runs: types op by op, functions, regions, and all about collectives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kina.diagnostics.finding import Finding, Label, ProgramError, error
from kina.mlir.ops import BINARY, UNARY
from kina.mlir.syntax import COLLECTIVES, FLOATS, Block, Dense, Function, Module, Op, TensorType
from kina.mlir.verify_basics import ShapeError
from kina.mlir.verify_collectives import collective_type
from kina.mlir.verify_shapes import infer, operand_types, result_types
from kina.source import Span

#: After this many findings the rest is left for the next attempt.
FINDING_LIMIT = 20

#: Functions may call each other this deep.
CALL_LIMIT = 64

_SCALAR_KINDS = frozenset((*UNARY, *BINARY, "compare", "select", "clamp", "convert", "constant"))
_WORD = re.compile(r"[^\s,\[\]]+")
_WHOLE = re.compile(r"-?\d+|0x[0-9a-fA-F]+|true|false")
_DECIMAL = re.compile(r"-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+")


def verify(module: Module) -> None:
    """ProgramError with located findings (K6xx) unless the module can run.

    Covers what the StableHLO verifier leaves open: result shapes of collectives, groups that do not
    name every device once, channel handles that are absent or shared.
    """
    findings = [*_functions(module)]
    for function in module.functions:
        for op in function.body.walk():
            findings.extend(_op(module, function, op))
            if len(findings) >= FINDING_LIMIT:
                raise ProgramError(*findings)
        findings.extend(_returns(function))
    findings.extend(_channels(module))
    if findings:
        raise ProgramError(*findings)


def _functions(module: Module) -> Iterator[Finding]:
    """One `main`, names once, every callee there, no recursion."""
    seen: dict[str, Span] = {}
    for function in module.functions:
        if function.name in seen:
            labels = (Label(seen[function.name], "defined here"),)
            yield error(
                "K605", f"`@{function.name}` is defined twice", function.span, "defined again", labels=labels
            )
        seen[function.name] = function.span
    if "main" not in seen:
        yield error("K613", "the module has no function `@main`", module.span)
    calls = {
        function.name: [op for op in function.body.walk() if op.kind == "call"]
        for function in module.functions
    }
    missing = False
    for name in calls:
        for op in calls[name]:
            if op.attribute("callee") not in seen:
                missing = True
                yield error("K613", f"`call` of `@{op.attribute('callee')}`, which is not defined", op.span)
    if not missing:
        yield from _recursion(calls)


def _recursion(calls: Mapping[str, list[Op]]) -> Iterator[Finding]:
    """A depth for each function, from the leaves up; functions on a cycle get none."""
    depth: dict[str, int] = {}
    waiting = {name: {str(op.attribute("callee")) for op in ops} for name, ops in calls.items()}
    users: dict[str, list[str]] = {name: [] for name in calls}
    for name, callees in waiting.items():
        for callee in callees:
            users[callee].append(name)
    ready = [name for name, callees in waiting.items() if not callees]
    while ready:
        name = ready.pop()
        depth[name] = 1 + max((depth[str(op.attribute("callee"))] for op in calls[name]), default=0)
        for user in users[name]:
            waiting[user].discard(name)
            if not waiting[user]:
                ready.append(user)
    for name, ops in calls.items():
        if name not in depth:
            at = next(op for op in ops if str(op.attribute("callee")) not in depth)
            yield error("K613", f"`@{name}` calls itself, directly or through others", at.span)
            return
        if depth[name] > CALL_LIMIT:
            yield error("K613", f"calls in `@{name}` nest more than {CALL_LIMIT} deep", ops[0].span)
            return


def _op(module: Module, function: Function, op: Op) -> Iterator[Finding]:
    try:
        expected = _expected(module, function, op)
    except ShapeError as wrong:
        yield error(wrong.code, wrong.message, op.span)
        return
    stated = result_types(function, op)
    if expected is not None and expected != stated:
        code = "K609" if op.kind in COLLECTIVES else "K606"
        yield error(code, f"`{op.kind}` gives {_list(expected)}, not {_list(stated)}", op.span)


def _list(types: tuple[TensorType, ...]) -> str:
    return ", ".join(map(str, types)) or "nothing"


def _expected(module: Module, function: Function, op: Op) -> tuple[TensorType, ...] | None:
    match op.kind:
        case "return":
            return ()
        case "if" | "case":
            return _branches(function, op)
        case "call":
            return _called(module, function, op)
        case "constant":
            _check_constant(op)
    if op.regions:
        _check_reducer(function, op, op.regions[0])
    if op.kind in COLLECTIVES:
        return (collective_type(op, function, module),)
    return infer(function, op)


def _branches(function: Function, op: Op) -> tuple[TensorType, ...]:
    chosen = operand_types(function, op)[0]
    wanted = TensorType("i1" if op.kind == "if" else "i32", ())
    if chosen != wanted:
        raise ShapeError(f"`{op.kind}` takes a {wanted}, not {chosen}")
    stated = result_types(function, op)
    for index, region in enumerate(op.regions):
        given = tuple(function.values[number].type for number in region.ops[-1].operands)
        if region.arguments:
            raise ShapeError(f"region {index} of `{op.kind}` has arguments", "K614")
        if given != stated:
            raise ShapeError(f"region {index} of `{op.kind}` returns {_list(given)}, not {_list(stated)}")
    return stated


def _called(module: Module, function: Function, op: Op) -> tuple[TensorType, ...]:
    callee = next((f for f in module.functions if f.name == op.attribute("callee")), None)
    if callee is None:
        return result_types(function, op)
    given = operand_types(function, op)
    if given != callee.argument_types:
        raise ShapeError(f"`@{callee.name}` takes {_list(callee.argument_types)}, not {_list(given)}")
    return callee.result_types


def _returns(function: Function) -> Iterator[Finding]:
    last = function.body.ops[-1]
    given = operand_types(function, last)
    if given != function.result_types:
        message = f"`@{function.name}` returns {_list(given)}, not {_list(function.result_types)}"
        yield error("K606", message, last.span)


def _check_constant(op: Op) -> None:
    value = op.attribute("value")
    assert isinstance(value, Dense)
    if value.text.startswith('"'):
        digits = value.text.strip('"').removeprefix("0x")
        if not re.fullmatch(r"(?:[0-9a-fA-F]{2})*", digits):
            raise ShapeError("the bytes of a constant are not written in hexadecimal", "K603")
        return
    words = _WORD.findall(value.text)
    form = _DECIMAL if value.type.dtype in FLOATS else _WHOLE
    for word in words:
        if not form.fullmatch(word):
            raise ShapeError(f"`{word}` is not an element of {value.type}", "K603")
    if len(words) != value.type.elements and not (len(words) == 1 and "[" not in value.text):
        raise ShapeError(
            f"the constant has {len(words)} elements, {value.type} has {value.type.elements}", "K603"
        )


def _check_reducer(function: Function, op: Op, block: Block) -> None:
    """Reducers and comparators are scalar code on their own arguments."""
    types = operand_types(function, op)
    match op.kind:
        case "scatter":
            elements = [types[0].dtype] * 2
        case "sort":
            elements = [type_.dtype for type_ in types for _ in range(2)]
        case "reduce" | "reduce_window":
            elements = [type_.dtype for type_ in types]
        case _:
            elements = [types[0].dtype] * 2
    wanted = tuple(TensorType(dtype, ()) for dtype in elements)
    given = tuple(function.values[number].type for number in block.arguments)
    if given != wanted:
        raise ShapeError(f"the region of `{op.kind}` takes {_list(given)}, not {_list(wanted)}", "K614")
    known = set(block.arguments)
    for inner in block.ops:
        if inner.kind not in _SCALAR_KINDS and inner.kind != "return":
            raise ShapeError(
                f"`{inner.kind}` stands in the region of `{op.kind}`, which is scalar code", "K614"
            )
        if not known.issuperset(inner.operands):
            raise ShapeError(f"the region of `{op.kind}` reads a value from outside", "K614")
        known.update(inner.results)
    back = tuple(function.values[number].type for number in block.ops[-1].operands)
    results = (TensorType("i1", ()),) if op.kind == "sort" else wanted[: max(1, len(wanted) // 2)]
    if back != results:
        raise ShapeError(f"the region of `{op.kind}` returns {_list(back)}, not {_list(results)}", "K614")


def _channels(module: Module) -> Iterator[Finding]:
    """Each collective has a channel handle of its own."""
    first: dict[int, Op] = {}
    for function in module.functions:
        for op in function.body.walk():
            if op.kind not in COLLECTIVES:
                continue
            handle = op.attribute("channel_handle")
            if not isinstance(handle, int) or handle < 1:
                continue
            if handle in first:
                labels = (Label(first[handle].span, "the other one"),)
                yield error(
                    "K611", f"two collectives share the channel handle {handle}", op.span, labels=labels
                )
            first.setdefault(handle, op)
