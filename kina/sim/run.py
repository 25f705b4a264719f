"""Runs a module on a simulated mesh: one thread per device, all in one process."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kina.diagnostics.finding import Finding, ProgramError, error
from kina.mlir.syntax import Function, Module
from kina.sim.blas import limited
from kina.sim.dtypes import DTYPES, Array, dtype_name
from kina.sim.execute import Device, run_main
from kina.sim.faults import Faults
from kina.sim.heap import kept
from kina.sim.holders import WORTH, Holders, given_holders, united
from kina.sim.prepare import Prepared, prepare
from kina.sim.rendezvous import Rendezvous, StoppedError
from kina.sim.trace import Event

#: A mesh of this many devices at most.
DEVICE_LIMIT = 64

#: Seconds in which a thread that was told to start does, on a machine however busy.
_STARTS_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """`trace` records an event per op and device; `faults` are for tests; `blas_threads` per device.

    Work that devices would repeat is done once from `least` elements on, never if that is None.
    """

    trace: bool = False
    faults: Faults | None = None
    blas_threads: int | None = None
    least: int | None = WORTH


@dataclass(frozen=True, slots=True)
class RunResult:
    """`outputs[device]` are the results of `main` there; arrays may be shared between devices."""

    outputs: tuple[tuple[Array, ...], ...]
    events: tuple[Event, ...] = ()


@dataclass(slots=True)
class _Outcome:
    outputs: list[list[Array]]
    #: for each output who holds the same, if that is kept
    holders: list[list[int]]


def run(
    module: Module | Prepared, inputs: Sequence[Sequence[Array]], options: RunOptions | None = None
) -> RunResult:
    """Run `main` on every device with that device's inputs.

    The module must have been verified. The result has the same bits each time. ProgramError (K7xx) if the
    inputs do not fit, the devices call different collectives, one finishes early, or one raises; all threads
    have ended when this returns or raises, KeyboardInterrupt included.
    """
    prepared = module if isinstance(module, Prepared) else prepare(module)
    options = options or RunOptions()
    _check_devices(prepared.module)
    checked = _check_inputs(prepared.module, inputs)
    count = prepared.module.devices
    mesh = Rendezvous(count)
    devices = [_device(number, prepared, mesh, options) for number in range(count)]
    once = devices[0].holders is not None
    known = given_holders(checked) if once else [[] for _ in devices]
    outcome = _Outcome([[] for _ in devices], [[] for _ in devices])
    threads = [
        threading.Thread(
            target=_thread,
            args=(device, checked[device.number], known[device.number], outcome),
            name=f"kina-device-{device.number}",
            daemon=True,
        )
        for device in devices
    ]
    del checked
    with kept(), limited(count, options.blas_threads):
        _join(threads, mesh)
    if mesh.failure is not None:
        raise ProgramError(mesh.failure)
    events = tuple(event for device in devices for event in device.events or ())
    outputs = united(outcome.outputs, outcome.holders) if once else outcome.outputs
    return RunResult(tuple(tuple(row) for row in outputs), events)


def _device(number: int, prepared: Prepared, mesh: Rendezvous, options: RunOptions) -> Device:
    """A device that keeps who holds the same as it, if there is anything worth computing once."""
    count, least = mesh.devices, options.least
    holders = None
    if least is not None and count > 1 and prepared.largest >= least:
        holders = Holders(1 << number, (1 << count) - 1, least)
    return Device(number, prepared, mesh, options.faults, [] if options.trace else None, holders)


def _join(threads: Sequence[threading.Thread], mesh: Rendezvous) -> None:
    """Start all threads and wait for them; stop them all if the waiting, or the starting, is interrupted."""
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException:
        mesh.stop()
        for thread in threads:
            _await_end(thread)
        raise


def _await_end(thread: threading.Thread) -> None:
    """Wait for a thread that may be starting, or may never have been started.

    One whose start was interrupted runs, but cannot be joined before it says so.
    """
    deadline = time.monotonic() + _STARTS_WITHIN
    while not thread.is_alive() and thread in threading.enumerate() and time.monotonic() < deadline:
        time.sleep(0.001)
    if thread.is_alive():
        thread.join()


def _thread(device: Device, inputs: list[Array], known: list[int], outcome: _Outcome) -> None:
    given, arguments = inputs, list(inputs)
    given.clear()
    try:
        with np.errstate(all="ignore"):
            outputs, holders = run_main(device, arguments, known)
        outcome.outputs[device.number], outcome.holders[device.number] = outputs, holders
        device.mesh.finish(device.number)
    except StoppedError:
        return
    except Exception as raised:  # any failure of a device ends the run, with a located finding
        device.mesh.stop(_raised(device, raised))


def _raised(device: Device, raised: Exception) -> Finding:
    op = device.at.op if device.at is not None else None
    where = f" in `{op.kind}`" if op is not None else ""
    span = op.span if op is not None else None
    if isinstance(raised, MemoryError):
        return error("K707", f"device {device.number} runs out of memory{where}", span, str(raised))
    said = f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__
    return error("K704", f"device {device.number} raises{where}: {said}", span)


def _check_devices(module: Module) -> None:
    if module.devices > DEVICE_LIMIT:
        raise ProgramError(
            error(
                "K706",
                f"the module wants {module.devices} devices; at most {DEVICE_LIMIT} are simulated",
                module.main.span,
            )
        )


def _check_inputs(module: Module, inputs: Sequence[Sequence[Array]]) -> list[list[Array]]:
    """The inputs as lists of arrays of the argument's types; K701 if they are not."""
    main = module.main
    if len(inputs) != module.devices:
        raise ProgramError(
            error(
                "K701",
                f"inputs are given for {len(inputs)} devices, the module has {module.devices}",
                main.span,
            )
        )
    return [_check_device_inputs(main, device, given) for device, given in enumerate(inputs)]


def _check_device_inputs(main: Function, device: int, given: Sequence[Array]) -> list[Array]:
    types = main.argument_types
    if len(given) != len(types):
        raise ProgramError(
            error("K701", f"device {device} gets {len(given)} inputs, `main` takes {len(types)}", main.span)
        )
    arrays = [np.asarray(value) for value in given]
    for index, (array, type_) in enumerate(zip(arrays, types, strict=True)):
        if array.shape != type_.shape or array.dtype != DTYPES[type_.dtype]:
            value = main.values[main.body.arguments[index]]
            shown = f"{dtype_name(array.dtype)}{list(array.shape)}"
            raise ProgramError(
                error(
                    "K701",
                    f"input {index} of device {device} is {shown}, `{value.name}` is {type_}",
                    value.span,
                )
            )
    return arrays
