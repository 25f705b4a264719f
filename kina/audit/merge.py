"""Many small programs as one, so that the rules run once on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from kina.frontend.ir import Annotation, Mesh, Op, Program, Value


@dataclass(slots=True)
class _Whole:
    """The program in the making."""

    values: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    parameters: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    constants: set[int] = field(default_factory=set)
    cotangents: list[tuple[int, int]] = field(default_factory=list)

    def add(self, program: Program, number: int) -> None:
        base = len(self.values)
        self.values += [
            replace(value, id=base + value.id, name=f"{number}.{value.name}") for value in program.values
        ]
        for op in program.ops:
            operands = tuple([base + value for value in op.operands])
            results = tuple([base + value for value in op.results])
            self.ops.append(replace(op, id=len(self.ops), operands=operands, results=results))
        self.parameters += [base + value for value in program.parameters]
        self.results += [base + value for value in program.results]
        self.annotations += [replace(note, value=base + note.value) for note in program.annotations]
        self.constants |= {base + value for value in program.constants}
        self.cotangents += [(base + value, base + other) for value, other in program.cotangents]


def starts(programs: Sequence[Program]) -> tuple[int, ...]:
    """Where the values of each program begin in the one that `merge` makes."""
    return tuple(accumulate((len(program.values) for program in programs[:-1]), initial=0))


def merge(programs: Sequence[Program], mesh: Mesh) -> Program:
    """One program with all values and ops in order; names get the number of their program in front.

    Parameters, results and annotations follow each other in the order of the programs.
    """
    whole = _Whole()
    for number, program in enumerate(programs):
        whole.add(program, number)
    return Program(
        mesh,
        "audit",
        tuple(whole.values),
        tuple(whole.ops),
        tuple(whole.parameters),
        tuple(whole.results),
        tuple(whole.annotations),
        frozenset(whole.constants),
        tuple(whole.cotangents),
    )
