"""Programs that take a gradient, run and compared: with finite differences, and with JAX if it is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kina.frontend.form import form
from kina.frontend.ir import Program
from kina.frontend.reader import read
from kina.frontend.spec import check_ir
from kina.sim.reference import run_program
from kina.source import Source

Array = np.ndarray


@dataclass(frozen=True)
class Case:
    """A scalar function: its parameters as `name type`, its body, and for each whole-number parameter the
    bounds of its elements. `ties` draws few different numbers, `positive` numbers above zero."""

    name: str
    params: str
    body: str
    bounds: tuple[int, int] = (0, 4)
    ties: bool = False
    positive: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def text(self) -> str:
        declared, names = [], []
        for each in self.params.split("; "):
            name, dtype, *shape = each.split()
            declared.append(f"({name} (tensor {dtype} [{' '.join(shape)}]))")
            names.append(name)
        head, args = " ".join(declared), " ".join(names)
        return f"(mesh (x 1))\n(defn f ({head}) {self.body})\n(defn main ({head}) (value_and_grad f {args}))"


def formed(text: str) -> Program:
    program = form(read(Source("g.kina", text)))
    check_ir(program)
    for value, cotangent in program.cotangents:
        assert program.type_of(value) == program.type_of(cotangent)
    return program


def inputs(program: Program, case: Case, seed: int = 0) -> list[Array]:
    rng = np.random.default_rng(seed)
    made: list[Array] = []
    for parameter in program.parameters:
        type_ = program.type_of(parameter)
        if type_.dtype in ("i32", "i64"):
            dtype = np.int32 if type_.dtype == "i32" else np.int64
            made.append(rng.integers(*case.bounds, type_.shape).astype(dtype))
        elif type_.dtype == "bool":
            made.append(rng.integers(0, 2, type_.shape).astype(bool))
        else:
            data = rng.integers(-2, 3, type_.shape) / 2 if case.ties else rng.normal(size=type_.shape)
            made.append(np.asarray(np.abs(data) + 0.5 if case.positive else data, np.float64))
    return made


def run(program: Program, data: Sequence[Array]) -> list[Array]:
    return [np.asarray(each) for each in run_program(program, list(data)).outputs]


def differences(program: Program, data: Sequence[Array], step: float = 1e-6) -> list[Array]:
    """The gradient of the first result by central differences, for each parameter of floats."""
    found = []
    for index, array in enumerate(data):
        if array.dtype.kind != "f":
            continue
        slope = np.zeros_like(array)
        for place in np.ndindex(array.shape):
            moved = []
            for sign in (1, -1):
                other = array.copy()
                other[place] += sign * step
                moved.append(run(program, [*data[:index], other, *data[index + 1 :]])[0])
            slope[place] = (moved[0] - moved[1]) / (2 * step)
        found.append(slope)
    return found
