"""The part of `kina run` before the first step: from a file and options to a session."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kina.commands.options import options_from
from kina.commands.run_options import xla_options
from kina.diagnostics.finding import Finding, ProgramError, SetupError
from kina.pipeline import check, open_source
from kina.progress import progress

if TYPE_CHECKING:
    from kina.frontend.ir import Program
    from kina.mlir.syntax import Module
    from kina.run.report import Estimate
    from kina.run.session import Session
    from kina.source import Source

_NO_FINDINGS: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A session that is ready to run, what it will need, and what the check has found."""

    session: Session
    estimate: Estimate
    findings: tuple[Finding, ...]


def prepare(file: str, values: dict[str, Any], stack: ExitStack) -> Prepared:
    """The session of a run, up to its first step. ProgramError if the program is at fault."""
    from kina.mlir.reader import read_module
    from kina.mlir.verify import verify
    from kina.source import Source

    with progress() as say:
        say(f"{file}: read")
        source = open_source(file)
        if _is_module(source):
            program, findings = None, _NO_FINDINGS
            _refuse_for_module(values)
            text = source
        else:
            result = check(source, options_from(values), lambda stage: say(f"{file}: {stage}"))
            if not result.ok:
                raise ProgramError(*result.findings)
            assert result.program is not None
            assert result.decisions is not None
            from kina.mlir.emit import emit

            program, findings = result.program, result.findings
            say(f"{file}: emit")
            text = Source(f"{source.name}.mlir", emit(program, result.decisions))
        module = read_module(text)
        verify(module)
        say(f"{file}: compile{_with_others(values['coordinator'])}")
        return _session(module, program, findings, values, stack)


def _with_others(coordinator: str | None) -> str:
    return f", and wait for the other processes at {coordinator}" if coordinator else ""


def _is_module(source: Source) -> bool:
    return source.name.endswith(".mlir") or (
        source.name == "<stdin>" and source.text.lstrip().startswith("module")
    )


def _refuse_for_module(values: dict[str, Any]) -> None:
    if values["verify"]:
        raise SetupError(
            "`--verify` compares with a program, and a module does not hold the one it was compiled from",
            "run the `.kina` file",
        )
    for name in ("mesh", "entry", "rules"):
        if values[name]:
            raise SetupError(f"`--{name}` is about programs, and a module is compiled already")


def _check_devices(devices: int | None, module: Module) -> None:
    if devices not in (None, module.devices):
        raise SetupError(f"`--devices {devices}` contradicts the mesh, which has {module.devices} devices")


def _session(
    module: Module,
    program: Program | None,
    findings: tuple[Finding, ...],
    values: dict[str, Any],
    stack: ExitStack,
) -> Prepared:
    from kina.run.given import Origin, from_arrays
    from kina.run.inputs import Draw, read_npz
    from kina.run.ports import signature
    from kina.run.session import Session
    from kina.run.start import opened

    _check_devices(values["devices"], module)
    spans = {value.name: value.span for value in program.values} if program is not None else None
    ports = signature(module, spans)
    options = xla_options(values)
    verified = program if values["verify"] else None
    executor, estimate = opened(module, ports, program, verified, options, stack, values["kernels"])
    given = None
    if values["inputs"]:
        arrays = read_npz(values["inputs"], in_parts=executor.process[1] > 1)
        wanted = executor.devices if verified is None else range(ports.devices)
        entry, span = (program.entry, program.span) if program is not None else ("", module.main.span)
        origin = Origin(values["inputs"], "arrays in the file", entry, span)
        given = from_arrays(arrays, ports, wanted, origin)
    session = Session(
        ports,
        executor,
        Draw(values["seed"]),
        values["steps"],
        given,
        verified,
        bool(values["trace"]),
    )
    return Prepared(session, estimate, findings)
