"""From a compiled program to a run: what executes it, whether there is memory for it, and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from kina.arguments import refused
from kina.diagnostics.finding import ArgumentError, ProgramError, error
from kina.frontend.ir import Program
from kina.mlir.syntax import Module
from kina.run.executor import Executor, Simulated
from kina.run.given import Origin, from_arrays
from kina.run.inputs import Draw
from kina.run.outcome import Run
from kina.run.outputs import arrays
from kina.run.ports import Signature, signature
from kina.run.report import Estimate, account
from kina.run.session import Session
from kina.run.xla import Xla, XlaOptions
from kina.run.xla import executor as on_xla
from kina.sim.heap import kept

#: What can execute a program, and where XLA can find devices.
ENGINES, PLATFORMS = ("sim", "xla"), ("auto", "cpu", "gpu", "tpu")

#: Kinds of NumPy's element types that are no numbers, and what their elements are.
_NO_NUMBERS = {"O": "objects", "S": "bytes", "U": "strings", "M": "dates", "m": "spans of time"}


@dataclass(frozen=True, slots=True)
class Choices:
    """How to run a program: `engine` is one of ENGINES, `platform` of PLATFORMS that of XLA's devices."""

    steps: int = 1
    seed: int = 0
    verify: bool = False
    engine: str = "sim"
    platform: str = "auto"


def started(
    program: Program, file: str, text: str, inputs: Mapping[str, Any] | None, choices: Choices
) -> Run:
    """The outcome of running the program of `file`, whose module is `text`.

    Raises ProgramError if inputs do not fit (K701), if memory is short (K707), and at a fault of the run;
    ArgumentError for an input that is no array, SetupError if XLA is not to be had.
    """
    from kina.mlir.reader import read_module
    from kina.mlir.verify import verify
    from kina.source import Source

    module = read_module(Source(f"{program.entry}.mlir", text))
    verify(module)
    ports = signature(module, {value.name: value.span for value in program.values})
    verified = program if choices.verify else None
    given = None
    if inputs is not None:
        named = {name: _array(name, array) for name, array in inputs.items()}
        origin = Origin("inputs", "arrays that were given", program.entry, program.span)
        given = from_arrays(named, ports, range(ports.devices), origin)
    with ExitStack() as stack:
        options = XlaOptions(choices.platform) if choices.engine == "xla" else None
        executor, estimate = opened(module, ports, program, verified, options, stack)
        session = Session(ports, executor, Draw(choices.seed), choices.steps, given, verified)
        session.run(lambda _: None)
        outputs, said = arrays(session, per_device=False), account(file, session, estimate)
    wrong = tuple(finding for report in session.reports for finding in report.findings)
    return Run(outputs, tuple(session.reports), wrong, said, program.entry)


def _array(name: str, given: Any) -> Any:
    """What was given as an array of numbers, or as one number, if it is one. ArgumentError if not."""
    argument = f"inputs[{name!r}]"
    if isinstance(given, np.ma.MaskedArray):
        message = f"`{argument}` is a masked array, whose masked elements have no value"
        raise ArgumentError(message, "`.filled(…)` gives them one")
    if isinstance(given, (bool, int, float, np.bool_, np.number)):
        return given
    try:
        array = np.asarray(given)
    except Exception as problem:
        # Whatever it is that was given, its own code says why it converts to no array.
        raise refused(argument, given, f"an array: {problem}") from problem
    if isinstance(given, np.ndarray) and array.dtype.kind in _NO_NUMBERS:
        raise ArgumentError(f"`{argument}` is an array of {_NO_NUMBERS[array.dtype.kind]}, not of numbers")
    if array.dtype.kind in _NO_NUMBERS:
        raise refused(argument, given, "an array of numbers")
    return array


def opened(
    module: Module,
    ports: Signature,
    program: Program | None,
    verified: Program | None,
    options: XlaOptions | None,
    stack: ExitStack,
    kernels: bool = False,
) -> tuple[Executor, Estimate]:
    """What executes the module, XLA as `options` say or without them the simulator, and what a run needs.

    The simulator keeps the memory that steps free until `stack` ends.
    Raises as `estimated` and `simulated` do, and SetupError if XLA does not have the devices.
    """
    if options is None:
        estimate = estimated(module, program, verified, ports.devices)
        # what a step frees is there for the next one
        stack.enter_context(kept())
        return simulated(module, kernels), estimate
    executor = stack.enter_context(on_xla(module, ports, options))
    return executor, estimated(module, program, verified, hosted(executor))


def estimated(module: Module, program: Program | None, verified: Program | None, hosted: int) -> Estimate:
    """Bytes in all devices, in each, and in the one-device run; `hosted` devices are on this machine.

    ProgramError K707 if there is not enough memory.
    """
    from kina.plan.memory import peak_bytes
    from kina.sim.memory import available_bytes, check_memory

    available = available_bytes()
    whole = check_memory(module, available, program.span if program is not None else None, hosted)
    each = whole // module.devices
    if verified is None:
        return Estimate(whole, each)
    one = peak_bytes(verified, tuple(((),) * value.type.rank for value in verified.values), ())
    if available is not None and one > available:
        message = f"the one-device run needs about {one:,} bytes; {available:,} are free"
        raise ProgramError(error("K707", message, verified.span))
    return Estimate(whole, each, one)


def simulated(module: Module, kernels: bool = False) -> Executor:
    """The simulated mesh, ready to run the module; with `kernels` declared ops run functions of packages.

    SetupError if one of these cannot be loaded.
    """
    from kina.sim.prepare import prepare

    if not kernels:
        return Simulated(prepare(module))
    from kina.run.kernels import installed_kernels

    return Simulated(prepare(module, installed_kernels(module)))


def hosted(executor: Xla) -> int:
    """How many of the devices have their memory on this machine: what accelerators hold takes none here."""
    return len(executor.devices) if executor.platform == "cpu" else 0
