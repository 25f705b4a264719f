"""The reader on text as people and jaxlib write it, and on text that is wrong."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kina.diagnostics.finding import Finding, ProgramError
from kina.mlir.reader import read_module
from kina.mlir.syntax import Dense, Module, TensorType
from kina.mlir.verify import verify
from kina.source import Source
from tests.oracle.cases import CASES


def read(text: str) -> Module:
    return read_module(Source("m.mlir", text))


def body(*lines: str, arguments: str = "%x: tensor<4x8xf32>", results: str = "tensor<4x8xf32>") -> str:
    inside = "\n".join(lines)
    return f"module {{\nfunc.func public @main({arguments}) -> {results} {{\n{inside}\n}}\n}}\n"


def finding(text: str) -> Finding:
    with pytest.raises(ProgramError) as caught:
        verify(read(text))
    return caught.value.findings[0]


def test_types_attributes_and_names() -> None:
    module = read(
        body(
            "%c = stablehlo.constant dense<1.5> : tensor<f32>",
            '%y = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4x8xf32> loc("why")',
            "%z = stablehlo.add %x, %y : tensor<4x8xf32>  // a comment",
            "return %z : tensor<4x8xf32>",
        )
    )
    constant, broadcast, add, last = module.main.body.ops
    assert constant.attribute("value") == Dense("1.5", TensorType("f32", ()))
    assert broadcast.attribute("broadcast_dimensions") == ()
    assert broadcast.location == "why"
    assert (add.kind, add.operands, last.operands) == ("add", (0, 2), (3,))
    assert add.span.line == 5
    assert str(module.main.values[3].type) == "tensor<4x8xf32>"


def test_generic_and_pretty_give_the_same() -> None:
    pretty = read(body("%y = stablehlo.negate %x : tensor<4x8xf32>", "return %y : tensor<4x8xf32>"))
    generic = read(
        '"builtin.module"() ({ "func.func"() <{function_type = (tensor<4x8xf32>) -> tensor<4x8xf32>, '
        'sym_name = "main"}> ({ ^bb0(%arg0: tensor<4x8xf32>): '
        '%0 = "stablehlo.negate"(%arg0) : (tensor<4x8xf32>) -> tensor<4x8xf32> '
        '"func.return"(%0) : (tensor<4x8xf32>) -> () }) : () -> () }) : () -> ()'
    )
    assert pretty.main.body == generic.main.body


def test_module_attributes_and_layouts() -> None:
    module = read(
        "module @m attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {\n"
        'func.func @main(%x: tensor<2xui32> {kina.layout = "f32[8@x]", mhlo.sharding = "{manual}"}) '
        '-> (tensor<2xui32> {kina.layout = "r"}) { return %x : tensor<2xui32> } }'
    )
    assert (module.name, module.partitions, module.replicas, module.devices) == ("m", 4, 2, 8)
    assert module.main.argument_attributes[0]["kina.layout"] == "f32[8@x]"
    assert module.main.result_attributes == ({"kina.layout": "r"},)


def test_names_of_sibling_regions_may_repeat() -> None:
    case = next(case for case in CASES if case.name == "branch")
    verify(read(case.text))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_cases_verify(case: object) -> None:
    verify(read(case.text))  # type: ignore[attr-defined]


RETURN = "return %y : tensor<4x8xf32>"
WRONG = {
    "empty": ("", "K601", 1),
    "truncated": (body("%y = stablehlo.add %x, %x : tensor<4x8xf32>", RETURN)[:-20], "K601", 4),
    "not a module": ("hello", "K601", 1),
    "unclosed string": (body('%y = "stablehlo.add(%x, %x) : (', RETURN), "K601", 3),
    "unknown op": (body("%y = stablehlo.frobnicate %x : tensor<4x8xf32>", RETURN), "K602", 3),
    "unknown dialect": (body("%y = arith.addf %x, %x : tensor<4x8xf32>", RETURN), "K602", 3),
    "unknown attribute": (
        body('%y = "stablehlo.negate"(%x) <{speed = 3}> : (tensor<4x8xf32>) -> tensor<4x8xf32>', RETURN),
        "K603", 3,
    ),
    "missing attribute": (
        body('%y = "stablehlo.transpose"(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>', RETURN), "K603", 3,
    ),
    "undefined": (body("%y = stablehlo.add %x, %q : tensor<4x8xf32>", RETURN), "K604", 3),
    "used above": (
        body("%y = stablehlo.add %x, %z : tensor<4x8xf32>", "%z = stablehlo.abs %x : tensor<4x8xf32>"),
        "K604", 3,
    ),
    "twice": (
        body("%y = stablehlo.abs %x : tensor<4x8xf32>", "%y = stablehlo.abs %x : tensor<4x8xf32>", RETURN),
        "K605", 4,
    ),
    "types disagree": (body("%y = stablehlo.add %x, %x : tensor<8x4xf32>", RETURN), "K606", 3),
    "result shape": (
        body("%y = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<4x8xf32>", RETURN),
        "K606", 3,
    ),
    "return type": (body("return %x : tensor<4x8xf32>", results="tensor<8xf32>"), "K606", 3),
    "element type": (body("return %x : tensor<4xf8E5M2>", arguments="%x: tensor<4xf8E5M2>"), "K607", 2),
    "dynamic size": (body("return %x : tensor<?xf32>", arguments="%x: tensor<?xf32>"), "K607", 2),
    "dim out of range": (
        body("%y = stablehlo.reverse %x, dims = [2] : tensor<4x8xf32>", RETURN), "K612", 3,
    ),
    "no main": ("module { }", "K613", 1),
    "no callee": (body("%y = call @f(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>", RETURN), "K613", 3),
    "recursion": (body("%y = call @main(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>", RETURN), "K613", 3),
    "partitioner": (
        body(RETURN, arguments='%y: tensor<4x8xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}'), "K603", 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_text_is_a_located_finding(name: str) -> None:
    text, code, line = WRONG[name]
    found = finding(text)
    assert found.code == code, found.message
    assert found.primary is not None
    assert found.primary.line == line
    assert found.message[0] in "`@" or found.message[0].islower()
    assert not found.message.endswith(".")


def test_both_places_of_a_second_definition_are_shown() -> None:
    found = finding(WRONG["twice"][0])
    assert found.primary is not None
    assert (found.primary.text, found.labels[0].span.line) == ("%y", 3)


@pytest.mark.parametrize("opening", ["({", "[", "{a = "])
def test_deep_nesting_is_refused(opening: str) -> None:
    text = body('%y = "stablehlo.case"(%x) <{a = ' + opening * 100_000)
    assert finding(text).code in ("K608", "K601")


def test_deep_regions_are_refused() -> None:
    text = body('%y = "stablehlo.if"(%x) ({' * 100_000)
    assert finding(text).code == "K608"


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 10_000), st.sampled_from(CASES))
def test_damaged_text_is_read_or_refused(first: int, second: int, case: object) -> None:
    """Cutting any piece out of a module gives a module or a finding, never another error."""
    text: str = case.text  # type: ignore[attr-defined]
    low, high = sorted((first % (len(text) + 1), second % (len(text) + 1)))
    for found in findings(text[:low] + text[high:]):
        assert re.fullmatch("K6[01][0-9]", found.code)
        assert found.primary is not None


def findings(text: str) -> tuple[Finding, ...]:
    try:
        verify(read(text))
    except ProgramError as refused:
        return refused.findings
    return ()
