"""What the verifier says of collectives that the StableHLO verifier lets pass."""

from __future__ import annotations

import pytest

from kina.diagnostics.finding import ProgramError
from kina.mlir.reader import read_module
from kina.mlir.verify import verify
from kina.source import Source

REGION = (
    "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32> "
    "stablehlo.return %s : tensor<f32> })"
)
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>"
HALVES = "replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>"


def module(*ops: str, results: str = "tensor<4xf32>") -> str:
    lines = "\n".join(ops)
    return (
        "module attributes {mhlo.num_partitions = 4 : i32} {\n"
        f"func.func @main(%x: tensor<4xf32>) -> {results} {{\n{lines}\n}}\n}}"
    )


def all_reduce(groups: str = HALVES, channel: str = CHANNEL, name: str = "%y", region: str = REGION) -> str:
    return (
        f'{name} = "stablehlo.all_reduce"(%x) <{{{channel}, {groups}, use_global_device_ids}}> {region} '
        ": (tensor<4xf32>) -> tensor<4xf32>"
    )


def gather(result: str, dim: int = 0) -> str:
    return (
        f'%y = "stablehlo.all_gather"(%x) <{{all_gather_dim = {dim} : i64, {CHANNEL}, {HALVES}, '
        f"use_global_device_ids}}> : (tensor<4xf32>) -> tensor<{result}>"
    )


RETURN = "return %y : tensor<4xf32>"


def codes(text: str) -> list[tuple[str, int]]:
    with pytest.raises(ProgramError) as caught:
        verify(read_module(Source("m.mlir", text)))
    return [(found.code, found.primary.line if found.primary else 0) for found in caught.value.findings]


def test_a_right_module_passes() -> None:
    verify(read_module(Source("m.mlir", module(all_reduce(), RETURN))))


@pytest.mark.parametrize(
    "rows", ["[[0, 1], [2, 2]]", "[[0, 1], [1, 3]]", "[[0, 1], [2, 4]]", "[[0, 1], [2, -1]]"]
)
def test_groups_name_every_device_once(rows: str) -> None:
    groups = f"replica_groups = dense<{rows}> : tensor<2x2xi64>"
    assert codes(module(all_reduce(groups), RETURN)) == [("K610", 3)]


def test_groups_leave_out_a_device() -> None:
    groups = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
    assert codes(module(all_reduce(groups), RETURN)) == [("K610", 3)]


def test_result_of_a_gather() -> None:
    text = module(gather("12xf32"), "return %y : tensor<12xf32>", results="tensor<12xf32>")
    assert codes(text) == [("K609", 3)]


def test_dim_of_a_gather() -> None:
    text = module(gather("8xf32", 1), "return %y : tensor<8xf32>", results="tensor<8xf32>")
    assert codes(text) == [("K612", 3)]


def test_channels_are_there_and_unique() -> None:
    again = all_reduce(name="%z")
    assert codes(module(all_reduce(), again, RETURN)) == [("K611", 4)]
    silent = all_reduce(channel="channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>")
    assert codes(module(silent, RETURN)) == [("K611", 3)]


def test_reducers_are_scalar_code_on_their_arguments() -> None:
    region = "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): stablehlo.return %x : tensor<4xf32> })"
    assert codes(module(all_reduce(region=region), RETURN)) == [("K614", 3)]


def test_findings_are_collected() -> None:
    bad = "replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>"
    second = "channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>"
    text = module(all_reduce(bad), all_reduce(bad, second, "%z"), RETURN)
    assert codes(text) == [("K610", 3), ("K610", 4)]
