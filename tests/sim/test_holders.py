"""What several devices hold is computed once, with the bits that each would have computed."""

from __future__ import annotations

import os
import signal
import threading
import time
import weakref
from collections import Counter
from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kina.sim.run
from kina.diagnostics.finding import ProgramError
from kina.mlir.reader import read_module
from kina.mlir.syntax import Module, Op
from kina.mlir.verify import verify
from kina.sim import execute
from kina.sim.dtypes import Array
from kina.sim.faults import Faults
from kina.sim.holders import given_holders
from kina.sim.prepare import Step, prepare
from kina.sim.rendezvous import Rendezvous
from kina.sim.run import RunOptions, run
from kina.source import Source
from tests.oracle.cases import CASES, Case
from tests.sim.test_run import ALL, BRANCH, HALVES, PAIRS, all_reduce, branch, module, no_threads_left

T = "tensor<4xf32>"
#: Everything that can be, is computed once.
ONCE, EACH = RunOptions(least=1), RunOptions(least=None)
STEPS = (
    *(f"{{r}} = stablehlo.{kind} {{a}}, {{b}} : {T}" for kind in ("add", "multiply", "divide", "maximum")),
    *(f"{{r}} = stablehlo.{kind} {{a}} : {T}" for kind in ("negate", "logistic", "tanh")),
    f"{{r}} = stablehlo.clamp {{a}}, {{b}}, {{c}} : {T}",
    f"{{r}} = stablehlo.reverse {{a}}, dims = [0] : {T}",
    f"{{r}} = stablehlo.optimization_barrier {{a}} : {T}",
    f"{{r}} = stablehlo.constant dense<2.0> : {T}",
    f"{{r}} = call @f({{a}}, {{b}}) : ({T}, {T}) -> {T}",
    f"{{r}}t = stablehlo.compare LT, {{a}}, {{b}} : ({T}, {T}) -> tensor<4xi1> "
    f"{{r}} = stablehlo.select {{r}}t, {{b}}, {{c}} : tensor<4xi1>, {T}",
    "ALL", "HALVES", "PAIRS", "IF %k0, %k0", "IF %n, %k1",
)  # fmt: skip
HEAD = (
    "%k0 = stablehlo.constant dense<0> : tensor<ui32>",
    "%k1 = stablehlo.constant dense<1> : tensor<ui32>",
    "%n = stablehlo.partition_id : tensor<ui32>",
)
F = (
    f"func.func private @f(%p: {T}, %q: {T}) -> {T} {{ %s = stablehlo.subtract %p, %q : {T} "
    f"%t = stablehlo.exponential %s : {T} return %t : {T} }}"
)


def line(number: int, kind: str, names: Sequence[str]) -> str:
    """One step of a program, whose result is `%v` and its number."""
    a, b, c = names
    result = f"%v{number}"
    if kind in ("ALL", "HALVES", "PAIRS"):
        groups = {"ALL": ALL, "HALVES": HALVES, "PAIRS": PAIRS}[kind]
        return all_reduce(result, a, number + 1, groups)
    if kind.startswith("IF"):
        first, second = (
            f"{result}{x} = stablehlo.add {y}, {c} : {T} {result}{x}m = stablehlo.negate {result}{x} : {T} "
            f"stablehlo.return {result}{x}m : {T}"
            for x, y in (("a", a), ("b", b))
        )
        return (
            f"{result}c = stablehlo.compare LE, {kind[3:]} : (tensor<ui32>, tensor<ui32>) -> tensor<i1>\n"
            f'{result} = "stablehlo.if"({result}c) ({{ {first} }}, {{ {second} }}) : (tensor<i1>) -> {T}'
        )
    return kind.format(r=result, a=a, b=b, c=c)


def program(picks: Sequence[tuple[int, int, int, int]]) -> Module:
    lines = list(HEAD)
    for number, (kind, *chosen) in enumerate(picks):
        names = [f"%v{x % number}" if number and x % 4 else ("%x", "%y")[x % 2] for x in chosen]
        lines.append(line(number, STEPS[kind], names))
    inside = "\n".join(lines)
    text = (
        "module attributes {mhlo.num_partitions = 4 : i32} {\n"
        f"func.func @main(%x: {T}, %y: {T}) -> ({T}, {T}) {{\n{inside}\n"
        f"return %v{len(picks) - 1}, %v0 : {T}, {T}\n}}\n{F}\n}}"
    )
    found = read_module(Source("m.mlir", text))
    verify(found)
    return found


def rows(seed: int, same: Sequence[Sequence[int]]) -> list[list[Array]]:
    """Inputs of four devices: for each, devices with the same number are given the same array."""
    rng = np.random.default_rng(seed)
    drawn = [[rng.standard_normal(4).astype(np.float32) for _ in range(4)] for _ in same]
    return [
        [arrays[numbers[device]] for arrays, numbers in zip(drawn, same, strict=True)] for device in range(4)
    ]


def bits(outputs: Sequence[Sequence[Array]]) -> list[list[bytes]]:
    return [[np.ascontiguousarray(array).tobytes() for array in row] for row in outputs]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a kernel computes a whole op, by its kind."""
    counts: Counter[str] = Counter()
    plain = execute.computed

    def computed(step: Step, operands: list[Array]) -> Sequence[Array]:
        counts[step.op.kind] += 1
        return plain(step, operands)

    monkeypatch.setattr(execute, "computed", computed)
    return counts


SAME = st.sampled_from([(0, 0, 0, 0), (0, 1, 2, 3), (0, 0, 1, 1), (0, 1, 0, 1), (0, 0, 0, 1)])


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(STEPS) - 1), *[st.integers(0, 50)] * 3), min_size=1, max_size=14),
    st.tuples(SAME, SAME),
    st.integers(0, 99),
)
def test_the_bits_are_those_of_each_device(
    picks: list[tuple[int, int, int, int]], same: tuple[tuple[int, ...], tuple[int, ...]], seed: int
) -> None:
    prepared, given_ = prepare(program(picks)), rows(seed, same)
    before = bits(given_)
    waits = np.random.default_rng(seed).random((4, 31)) * 0.001
    late = Faults(delay=lambda device, count, op: float(waits[device, count % 31]) * (count % 5 == device))
    expected = bits(run(prepared, given_, EACH).outputs)
    assert bits(run(prepared, given_, ONCE).outputs) == expected
    assert bits(run(prepared, given_, RunOptions(least=1, faults=late)).outputs) == expected
    assert bits(given_) == before


@pytest.mark.parametrize("case", [case for case in CASES if case.devices > 1], ids=lambda case: case.name)
def test_the_bits_of_every_collective(case: Case) -> None:
    found = read_module(Source(case.name, case.text))
    given_ = [case.inputs()[0]] * case.devices
    for inputs in (given_, case.inputs()):
        expected = bits(run(found, inputs, EACH).outputs)
        assert bits(run(found, inputs, ONCE).outputs) == expected


def test_who_is_given_the_same() -> None:
    a, b = np.ones((2, 2)), np.ones((2, 2))
    given_ = [[a, a], [a, a[:]], [b, a[::-1]], [a, a.T]]
    assert given_holders(given_) == [[0b1011, 0b0011], [0b1011, 0b0011], [0b0100, 0b0100], [0b1011, 0b1000]]


def test_what_all_hold_is_computed_once(counted: Counter[str]) -> None:
    found = module(
        f"%a = stablehlo.negate %x : {T}",
        all_reduce("%b", "%a", 1, HALVES),
        f"%c = stablehlo.abs %b : {T}",
        f"%d = stablehlo.tanh %c : {T}",
        all_reduce("%e", "%d", 2, ALL),
        f"%f = stablehlo.add %e, %b : {T}",
        f"%y = stablehlo.subtract %e, %a : {T}",
    )
    run(found, rows(0, [(0, 1, 2, 3)]), ONCE)
    assert counted == {"negate": 4, "abs": 2, "tanh": 2, "add": 2, "subtract": 4}
    counted.clear()
    run(found, rows(0, [(0, 0, 0, 0)]), ONCE)
    assert counted == {"negate": 1, "abs": 2, "tanh": 2, "add": 2, "subtract": 1}
    counted.clear()
    run(found, rows(0, [(0, 0, 0, 0)]), RunOptions(least=5))
    assert set(counted.values()) == {4}


def test_what_depends_on_the_device_is_its_own(counted: Counter[str]) -> None:
    own = f"%a = stablehlo.negate %x : {T} stablehlo.return %a : {T}"
    found = module(*BRANCH, branch(own, own))
    run(found, rows(0, [(0, 0, 0, 0)]), ONCE)
    assert counted == {"compare": 4, "negate": 4}


def test_a_branch_that_all_take_is_on_the_way(counted: Counter[str]) -> None:
    always = "%c = stablehlo.constant dense<false> : tensor<i1>"
    first, second = (f"%{k} = stablehlo.{k} %x : {T} stablehlo.return %{k} : {T}" for k in ("abs", "negate"))
    run(module(always, branch(first, second)), rows(0, [(0, 0, 0, 0)]), ONCE)
    assert counted == {"negate": 1}


def test_members_that_come_from_different_places_hold_different_results() -> None:
    """Device 0 is one call ahead of the others: the same op then has other results on them."""
    call = f"call @g(%x) : ({T}) -> {T}"
    first = f"%a = {call} stablehlo.return %a : {T}"
    last = f"%d = call @g(%m) : ({T}) -> {T} stablehlo.return %d : {T}"
    other = f"stablehlo.return %x : {T}"
    body = "\n".join(
        (
            "%n = stablehlo.partition_id : tensor<ui32>",
            "%k = stablehlo.constant dense<0> : tensor<ui32>",
            "%c = stablehlo.compare EQ, %n, %k : (tensor<ui32>, tensor<ui32>) -> tensor<i1>",
            branch(first, other).replace("%y", "%b"),
            f"%m = call @g(%b) : ({T}) -> {T}",
            f"%z = stablehlo.negate %m : {T}",
            branch(other, last).replace("%y", "%e"),
            f"%y = stablehlo.add %z, %e : {T}",
            f"return %y : {T}",
        )
    )
    text = (
        "module attributes {mhlo.num_partitions = 4 : i32} {\n"
        f"func.func @main(%x: {T}) -> {T} {{\n{body}\n}}\n"
        f"func.func private @g(%x: {T}) -> {T} {{\n{all_reduce('%y', '%x', 1, ALL)}\nreturn %y : {T}\n}}\n}}"
    )
    found = read_module(Source("m.mlir", text))
    verify(found)
    for same in ((0, 0, 0, 0), (0, 1, 2, 3)):
        given_ = rows(3, [same])
        assert bits(run(found, given_, ONCE).outputs) == bits(run(found, given_, EACH).outputs)


def test_functions_of_packages_are_called_by_each_device() -> None:
    text = (
        f"module attributes {{mhlo.num_partitions = 4 : i32}} {{\nfunc.func @main(%x: {T}) -> {T} {{\n"
        f"%a = call @g(%x) : ({T}) -> {T}\n%y = stablehlo.negate %a : {T}\nreturn %y : {T}\n}}\n"
        f"func.func private @g(%x: {T}) -> {T} {{\nreturn %x : {T}\n}}\n}}"
    )
    calls = iter(range(4))

    def foreign(operands: Sequence[Array], _: object) -> tuple[Array, ...]:
        return (operands[0] + np.float32(next(calls)),)

    prepared = prepare(read_module(Source("m.mlir", text)), {"g": foreign})
    outputs = run(prepared, [[np.zeros(4, np.float32)]] * 4, ONCE).outputs
    assert sorted(float(row[0][0]) for row in outputs) == [-3, -2, -1, 0]


def test_the_next_step_knows_what_is_the_same(counted: Counter[str]) -> None:
    """Small values too, which each device computes for itself."""
    found = prepare(program([(0, 0, 1, 0)]))
    options = RunOptions(least=4)
    outputs = run(found, rows(0, [(0, 0, 1, 1), (0, 0, 0, 0)]), options).outputs
    assert [row[0] is outputs[0][0] for row in outputs] == [True, True, False, False]
    small = module(f"%y = stablehlo.negate %x : {T}")
    outputs = run(small, rows(0, [(0, 0, 0, 0)]), RunOptions(least=1)).outputs
    assert all(row[0] is outputs[0][0] for row in outputs)


def test_nothing_is_left_of_common_work(monkeypatch: pytest.MonkeyPatch) -> None:
    meshes: list[Rendezvous] = []

    def made(count: int) -> Rendezvous:
        meshes.append(Rendezvous(count))
        return meshes[-1]

    monkeypatch.setattr(kina.sim.run, "Rendezvous", made)
    steps = [f"%a{n} = stablehlo.negate {f'%a{n - 1}' if n else '%x'} : {T}" for n in range(30)]
    run(module(*steps, f"%y = stablehlo.negate %a29 : {T}"), rows(0, [(0, 0, 1, 1)]), ONCE)
    assert [mesh.begun for mesh in meshes] == [{}]


def test_work_that_is_done_holds_no_operands() -> None:
    mesh, operand = Rendezvous(2), np.ones(4)
    gone = weakref.ref(operand)

    def compute(given_: list[Array]) -> list[Array]:
        return [-given_[0]]

    first = mesh.once((1, 3), 2, partial(compute, [operand]))
    del operand
    assert gone() is None
    assert mesh.once((1, 3), 2, partial(compute, [])) is first
    assert not mesh.begun


@pytest.mark.parametrize(("raised", "code"), [(ValueError("no"), "K704"), (MemoryError(), "K707")])
def test_a_failure_ends_the_run_for_all(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, code: str
) -> None:
    def fails(step: Step, operands: list[Array]) -> Sequence[Array]:
        time.sleep(0.05)
        raise raised

    monkeypatch.setattr(execute, "computed", fails)
    with pytest.raises(ProgramError) as caught:
        run(module(f"%y = stablehlo.negate %x : {T}"), rows(0, [(0, 0, 0, 0)]), ONCE)
    (finding,) = caught.value.findings
    assert (finding.code, finding.primary.line if finding.primary else 0) == (code, 3)
    assert "`negate`" in finding.message
    assert no_threads_left()


def test_an_interrupt_ends_devices_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def slow(step: Step, operands: list[Array]) -> Sequence[Array]:
        begun.set()
        time.sleep(0.5)
        return (operands[0],)

    def interrupt() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(execute, "computed", slow)
    steps = [f"%a{n} = stablehlo.abs {f'%a{n - 1}' if n else '%x'} : {T}" for n in range(100)]
    thread = threading.Thread(target=interrupt)
    thread.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(module(*steps, f"%y = stablehlo.abs %a99 : {T}"), rows(0, [(0, 0, 0, 0)]), ONCE)
    thread.join()
    assert no_threads_left()
    assert time.monotonic() - started < 30


def test_a_device_that_is_told_to_fail_does() -> None:
    def told(device: int, count: int, op: Op) -> bool:
        return device == 2 and op.kind == "negate"

    found = module(f"%a = stablehlo.abs %x : {T}", f"%y = stablehlo.negate %a : {T}")
    with pytest.raises(ProgramError) as caught:
        run(found, rows(0, [(0, 0, 0, 0)]), RunOptions(least=1, faults=Faults(fails=told)))
    assert "device 2 raises in `negate`" in caught.value.findings[0].message


def test_every_device_has_an_event_for_an_op_that_one_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(step: Step, operands: list[Array]) -> Sequence[Array]:
        time.sleep(0.2)
        return (np.abs(operands[0]),)

    monkeypatch.setattr(execute, "computed", slow)
    found = module(f"%y = stablehlo.abs %x : {T}")
    events = run(found, rows(0, [(0, 0, 0, 0)]), RunOptions(trace=True, least=1)).events
    assert sorted((event.device, event.op.kind) for event in events) == [(n, "abs") for n in range(4)]
    ends = [event.end for event in events]
    # who waits is released when the result is there
    assert max(ends) - min(ends) < 0.1
    assert all(event.waited == 0 for event in events)
