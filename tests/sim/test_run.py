"""Runs on several devices: determinism, faults, inputs, traces."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from kina.diagnostics.finding import Finding, ProgramError
from kina.mlir.reader import read_module
from kina.mlir.syntax import Module, Op
from kina.mlir.verify import verify
from kina.sim.dtypes import Array
from kina.sim.faults import Faults
from kina.sim.memory import _group_bytes, available_bytes, check_memory, peak_bytes
from kina.sim.run import RunOptions, run
from kina.sim.trace import chrome_trace, summarise
from kina.source import Source
from tests.oracle.cases import CASES

REGION = (
    "({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %s = stablehlo.add %p, %q : tensor<f32> "
    "stablehlo.return %s : tensor<f32> })"
)


def channel(number: int) -> str:
    return f"channel_handle = #stablehlo.channel_handle<handle = {number}, type = 1>"


def all_reduce(name: str, operand: str, number: int, groups: str) -> str:
    rows = groups.count("[") - 1
    each = 4 // rows
    return (
        f'{name} = "stablehlo.all_reduce"({operand}) <{{{channel(number)}, '
        f"replica_groups = dense<{groups}> : tensor<{rows}x{each}xi64>, "
        f"use_global_device_ids}}> {REGION} : (tensor<4xf32>) -> tensor<4xf32>"
    )


def module(*lines: str, devices: int = 4) -> Module:
    inside = "\n".join(lines)
    text = (
        f"module attributes {{mhlo.num_partitions = {devices} : i32}} {{\n"
        f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{inside}\nreturn %y : tensor<4xf32>\n}}\n}}"
    )
    found = read_module(Source("m.mlir", text))
    verify(found)
    return found


def inputs(devices: int = 4) -> list[list[Array]]:
    return [[np.arange(4, dtype=np.float32) + device] for device in range(devices)]


ALL, HALVES, PAIRS = "[[0, 1, 2, 3]]", "[[0, 1], [2, 3]]", "[[0, 2], [1, 3]]"
BRANCH = (
    "%n = stablehlo.partition_id : tensor<ui32>",
    "%k = stablehlo.constant dense<1> : tensor<ui32>",
    "%c = stablehlo.compare LE, %n, %k : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
)


def branch(first: str, second: str) -> str:
    return f'%y = "stablehlo.if"(%c) ({{ {first} }}, {{ {second} }}) : (tensor<i1>) -> tensor<4xf32>'


def no_threads_left() -> bool:
    return not [thread for thread in threading.enumerate() if thread.name.startswith("kina-device")]


def failure(found: Module, options: RunOptions | None = None) -> Finding:
    started = time.monotonic()
    with pytest.raises(ProgramError) as caught:
        run(found, inputs(found.devices), options)
    assert no_threads_left()
    # a bound against hangs, far above what is needed
    assert time.monotonic() - started < 30
    return caught.value.findings[0]


def test_all_reduce_sums_over_the_groups() -> None:
    result = run(module(all_reduce("%y", "%x", 1, PAIRS)), inputs())
    line = np.arange(4, dtype=np.float32)
    assert [out[0].tolist() for out in result.outputs] == [(2 * line + k).tolist() for k in (2, 4, 2, 4)]


def test_a_run_has_the_same_bits_whatever_the_delays() -> None:
    case = next(case for case in CASES if case.name == "chain")
    found = read_module(Source("chain", case.text))
    first = run(found, case.inputs()).outputs
    for seed in range(20):
        rng = np.random.default_rng(seed)
        waits = {(d, n): float(rng.choice([0, 0, 0.002])) for d in range(4) for n in range(10)}
        faults = Faults(delay=lambda device, count, op, waits=waits: waits.get((device, count), 0.0))
        again = run(found, case.inputs(), RunOptions(faults=faults)).outputs
        for left, right in zip(first, again, strict=True):
            assert [x.tobytes() for x in left] == [x.tobytes() for x in right]
    assert no_threads_left()


def test_inputs_are_left_alone() -> None:
    given = inputs()
    run(module("%z = stablehlo.negate %x : tensor<4xf32>", all_reduce("%y", "%z", 1, ALL)), given)
    assert [row[0].tolist() for row in given] == [row[0].tolist() for row in inputs()]


def test_different_collectives_are_a_mismatch() -> None:
    first = f"{all_reduce('%a', '%x', 1, HALVES)} stablehlo.return %a : tensor<4xf32>"
    second = f"{all_reduce('%b', '%x', 2, HALVES)} stablehlo.return %b : tensor<4xf32>"
    # devices 0 and 2 take one branch, 1 and 3 the other
    odd = (
        "%n = stablehlo.partition_id : tensor<ui32>",
        "%k = stablehlo.constant dense<1> : tensor<ui32>",
        "%o = stablehlo.and %n, %k : tensor<ui32>",
        "%c = stablehlo.compare EQ, %o, %k : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
    )
    found = failure(module(*odd, branch(first, second)))
    assert found.code == "K702"
    assert "device" in found.message
    assert found.primary is not None
    assert found.primary.line == 7
    assert found.labels


def test_a_member_that_has_finished_is_named() -> None:
    first = f"{all_reduce('%a', '%x', 1, ALL)} stablehlo.return %a : tensor<4xf32>"
    found = failure(module(*BRANCH, branch(first, "stablehlo.return %x : tensor<4xf32>")))
    assert found.code == "K703"
    assert "finished" in found.message


def test_a_cycle_of_waiting_devices_is_found() -> None:
    one, two = all_reduce("%a", "%x", 1, HALVES), all_reduce("%b", "%a", 2, PAIRS)
    three, four = all_reduce("%d", "%x", 3, PAIRS), all_reduce("%e", "%d", 4, HALVES)
    first = f"{one} {two} stablehlo.return %b : tensor<4xf32>"
    second = f"{three} {four} stablehlo.return %e : tensor<4xf32>"
    outer = (
        "%n = stablehlo.partition_id : tensor<ui32>",
        "%z = stablehlo.constant dense<0> : tensor<ui32>",
        "%k = stablehlo.constant dense<3> : tensor<ui32>",
        "%l = stablehlo.compare EQ, %n, %z : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
        "%m = stablehlo.compare EQ, %n, %k : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
        "%c = stablehlo.or %l, %m : tensor<i1>",
    )
    # 0 waits for 1 in halves, 1 for 3 in pairs, 3 for 2 in halves, 2 for 0 in pairs
    assert failure(module(*outer, branch(first, second))).code == "K705"


def test_a_device_that_raises_stops_the_others() -> None:
    faults = Faults(fails=lambda device, count, op: device == 2 and op.kind == "negate")
    found = failure(
        module("%z = stablehlo.negate %x : tensor<4xf32>", all_reduce("%y", "%z", 1, ALL)),
        RunOptions(faults=faults),
    )
    assert (found.code, found.primary.line if found.primary else 0) == ("K704", 3)
    assert "device 2" in found.message
    assert "negate" in found.message


def test_an_interrupt_stops_all_threads() -> None:
    slow = Faults(delay=lambda device, count, op: 20.0)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(module(all_reduce("%y", "%x", 1, ALL)), inputs(), RunOptions(faults=slow))
    timer.join()
    assert no_threads_left()
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("begun", [False, True])
def test_an_interrupt_while_threads_start_stops_all(
    monkeypatch: pytest.MonkeyPatch, place: int, begun: bool
) -> None:
    start = threading.Thread.start

    def interrupted(thread: threading.Thread) -> None:
        if thread.name != f"kina-device-{place}":
            start(thread)
            return
        if begun:
            # As if the interrupt came before the thread said that it runs.
            with monkeypatch.context() as patch:
                patch.setattr(threading.Event, "wait", lambda *_: True)
                start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(module(all_reduce("%y", "%x", 1, ALL)), inputs(), RunOptions(faults=Faults(delay=lambda *_: 5.0)))
    assert no_threads_left()


def test_inputs_must_fit() -> None:
    found = module(all_reduce("%y", "%x", 1, ALL))
    for wrong in (inputs(3), [[row[0], row[0]] for row in inputs()], [[row[0][:2]] for row in inputs()],
                  [[row[0].astype(np.float64)] for row in inputs()]):  # fmt: skip
        with pytest.raises(ProgramError) as caught:
            run(found, wrong)
        assert caught.value.findings[0].code == "K701"


def test_trace_and_summary() -> None:
    found = module("%z = stablehlo.negate %x : tensor<4xf32>", all_reduce("%y", "%z", 1, ALL))
    events = run(found, inputs(), RunOptions(trace=True)).events
    (usage,) = summarise(events)
    assert (usage.kind, usage.count, usage.bytes) == ("all_reduce", 1, 2 * 16 * 3 // 4)
    assert 0 <= usage.waiting_share <= 1
    rows = chrome_trace(events)["traceEvents"]
    assert isinstance(rows, list)
    assert len([row for row in rows if row.get("cat") == "collective"]) == 4


def test_one_and_many_devices() -> None:
    alone = module("%y = stablehlo.negate %x : tensor<4xf32>", devices=1)
    assert run(alone, inputs(1)).outputs[0][0].tolist() == [0, -1, -2, -3]
    many = module("%y = stablehlo.negate %x : tensor<4xf32>", devices=64)
    assert len(run(many, inputs(64)).outputs) == 64
    too_many = module("%y = stablehlo.negate %x : tensor<4xf32>", devices=65)
    with pytest.raises(ProgramError) as caught:
        run(too_many, inputs(65))
    assert caught.value.findings[0].code == "K706"


def test_replicas_and_partitions() -> None:
    text = (
        "module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 2 : i32} {\n"
        "func.func @main(%x: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<ui32>) {\n"
        f'%y = "stablehlo.all_reduce"(%x) <{{{channel(1)}, '
        "replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> "
        f"{REGION} : (tensor<f32>) -> tensor<f32>\n"
        f'%z = "stablehlo.collective_permute"(%x) <{{{channel(2)}, source_target_pairs = dense<[[0, 1]]> : '
        "tensor<1x2xi64>}> : (tensor<f32>) -> tensor<f32>\n"
        "%r = stablehlo.replica_id : tensor<ui32>\n"
        "return %y, %z, %r : tensor<f32>, tensor<f32>, tensor<ui32>\n}\n}"
    )
    found = read_module(Source("r.mlir", text))
    verify(found)
    given = [[np.array(value, np.float32)] for value in (1, 2, 4, 8)]
    outputs = [[float(x) for x in row] for row in run(found, given).outputs]
    assert outputs == [[3, 0, 0], [3, 1, 0], [12, 0, 1], [12, 4, 1]]


def test_functions_are_called() -> None:
    text = (
        "module {\nfunc.func @main(%x: tensor<f32>) -> tensor<f32> {\n"
        "%a = call @f(%x) : (tensor<f32>) -> tensor<f32>\n%b = call @f(%a) : (tensor<f32>) -> tensor<f32>\n"
        "return %b : tensor<f32>\n}\n"
        "func.func private @f(%x: tensor<f32>) -> tensor<f32> {\n"
        "%y = stablehlo.add %x, %x : tensor<f32>\nreturn %y : tensor<f32>\n}\n}"
    )
    found = read_module(Source("f.mlir", text))
    verify(found)
    assert float(run(found, [[np.array(3, np.float32)]]).outputs[0][0]) == 12


def test_memory_estimate() -> None:
    found = module("%z = stablehlo.negate %x : tensor<4xf32>", all_reduce("%y", "%z", 1, ALL))
    assert peak_bytes(found) == 32
    assert check_memory(found, None) == 128
    with pytest.raises(ProgramError) as caught:
        check_memory(found, 100)
    assert caught.value.findings[0].code == "K707"


def test_memory_that_is_left(tmp_path: Path) -> None:
    assert _group_bytes(tmp_path) is None
    for name, text in (("max", "1000"), ("current", "700"), ("stat", "anon 500\ninactive_file 150\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert _group_bytes(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    assert _group_bytes(tmp_path) is None
    assert (available_bytes() or 1) > 0


def test_delays_see_every_step() -> None:
    seen: list[tuple[int, str]] = []
    lock = threading.Lock()

    def note(device: int, count: int, op: Op) -> float:
        with lock:
            seen.append((device, op.kind))
        return 0.0

    run(module(all_reduce("%y", "%x", 1, ALL)), inputs(), RunOptions(faults=Faults(delay=note)))
    assert sorted(seen) == [(device, "all_reduce") for device in range(4)]
