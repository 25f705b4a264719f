"""From a program's text to the outcome of a run that was compared with one device."""

from __future__ import annotations

from dataclasses import dataclass

from kina.frontend.ir import Program
from kina.mlir.emit import emit
from kina.mlir.reader import read_module
from kina.mlir.syntax import Module
from kina.mlir.verify import verify
from kina.pipeline import Options, check
from kina.plan.decisions import Decisions
from kina.run.executor import Simulated
from kina.run.inputs import Draw
from kina.run.ports import signature
from kina.run.session import Session
from kina.sim.prepare import prepare
from kina.source import Source


@dataclass(frozen=True)
class Compiled:
    program: Program
    decisions: Decisions
    text: str
    module: Module


def compiled(text: str, options: Options | None = None, name: str = "t.kina") -> Compiled | list[str]:
    """The module of a program, or the codes of its errors."""
    result = check(Source(name, text), options or Options())
    if not result.ok:
        return [finding.code for finding in result.findings if finding.severity == "error"]
    assert result.program is not None
    assert result.decisions is not None
    written = emit(result.program, result.decisions)
    module = read_module(Source(f"{name}.mlir", written))
    verify(module)
    return Compiled(result.program, result.decisions, written, module)


def session(made: Compiled, seed: int = 0, steps: int = 1) -> Session:
    """A run whose steps are compared with one device."""
    return Session(
        signature(made.module), Simulated(prepare(made.module)), Draw(seed), steps, None, made.program
    )


def differences(made: Compiled, seed: int = 0, steps: int = 1) -> list[str]:
    """What differs from the one-device run, in words."""
    run = session(made, seed, steps)
    run.run(lambda _: None)
    return [finding.message for report in run.reports for finding in report.findings]
