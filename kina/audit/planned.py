"""Plans programs of one op with their gradients, runs them on a mesh, and compares them with one device.

Beside the numbers, what the design promises of gradients is asked for: a gradient lies as its value does, and
changes no layout of what it is the gradient of.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from kina.audit.draw import draw
from kina.audit.execute import shards
from kina.audit.instance import PLACE
from kina.audit.merge import merge, starts
from kina.audit.op_rule import Derived
from kina.audit.placement import PortState, make_mesh
from kina.audit.programs import Drawn, Misplanned, draw_asked, with_gradient
from kina.diagnose.solved import RULE_FAULTS, Solved, solve_program
from kina.diagnostics.finding import ProgramError
from kina.frontend.ir import Mesh, Program
from kina.mlir.emit import PlanError, emit
from kina.mlir.grid import Grid
from kina.mlir.reader import read_module
from kina.mlir.syntax import TensorType
from kina.mlir.verify import verify
from kina.plan.decisions import Decisions
from kina.rulebook.base import RuleBase
from kina.run.ports import RunPort
from kina.run.verify import coarsest, compare
from kina.sim.dtypes import Array
from kina.sim.prepare import prepare
from kina.sim.reference import run_program
from kina.sim.run import run
from kina.source import Source

#: Meshes that programs are planned on, in turn: lists of two axes in both orders fit these.
_MESHES = (make_mesh(2, 2), make_mesh(2, 3))
#: How many kinds of draws a program is run with.
_VARIETIES = (1, 0)


#: What is raised where decisions contradict each other, so that no module is made of them or none that runs.
_UNPLANNED = (PlanError, ValueError, IndexError, KeyError)


def misplanned(
    derived: Derived, base: RuleBase, solver: str, numbers: Sequence[int], seed: int, first: bool = False
) -> tuple[int, tuple[Misplanned, ...]]:
    """How many programs were planned and run, and those that came out wrong.

    With `first` one of these is enough.
    """
    count, found = 0, []
    for turn, mesh in enumerate(_MESHES):
        drawn = list(_drawn(derived, [*numbers][turn :: len(_MESHES)], mesh, seed))
        tried, wrong = _tried(drawn, mesh, base, solver, seed, first)
        count += tried
        found += wrong
        if first and found:
            break
    return count, tuple(found)


def _drawn(derived: Derived, numbers: Sequence[int], mesh: Mesh, seed: int) -> Iterator[Drawn]:
    for number in numbers:
        instance = derived.instances[number]
        rng = random.Random(f"{seed} {number}")  # noqa: S311
        for asked in draw_asked(instance, derived.rules[number], mesh, rng):
            yield with_gradient(instance, number, asked, mesh, rng.random() < 0.5)


@dataclass(frozen=True, slots=True)
class _Planned:
    """Programs as one, with what was decided; `first` has where the values of each begin."""

    drawn: tuple[Drawn, ...]
    solved: Solved
    first: tuple[int, ...]

    def clear(self) -> list[Drawn]:
        """The programs of which no layout is in conflict."""
        names = {
            row[0] for name in ("conflict", *RULE_FAULTS) for row in self.solved.solution.relations[name]
        }
        own = self.solved.facts.value_names
        return [
            each
            for each, base in zip(self.drawn, self.first, strict=True)
            if names.isdisjoint(own[base : base + len(each.program.values)])
        ]


def _planned(drawn: Sequence[Drawn], mesh: Mesh, base: RuleBase, solver: str) -> _Planned:
    programs = [each.program for each in drawn]
    whole = merge(programs, mesh)
    whole = replace(whole, rules=base.added, declared=drawn[0].program.declared)
    solved = solve_program(whole, solver, rules_for=base.with_entry, decisions_only=True)
    return _Planned(tuple(drawn), solved, starts(programs))


def _tried(
    drawn: Sequence[Drawn], mesh: Mesh, base: RuleBase, solver: str, seed: int, first: bool
) -> tuple[int, list[Misplanned]]:
    """How many of the programs have a plan, being free of conflicts, and those that are planned wrongly."""
    if not drawn:
        return 0, []
    planned = _planned(drawn, mesh, base, solver)
    clear = planned.clear()
    if not clear:
        return 0, []
    if len(clear) < len(drawn):
        planned = _planned(clear, mesh, base, solver)
    return len(clear), _faults(planned, base, solver, seed, first)


def _faults(planned: _Planned, base: RuleBase, solver: str, seed: int, first: bool) -> list[Misplanned]:
    """The programs that are planned wrongly; those that cannot be run together are looked for by halves."""
    drawn, mesh = planned.drawn, planned.solved.program.mesh
    try:
        decisions = planned.solved.decisions()
        wrong = [*_misplaced(planned, decisions, base, solver)]
        wrong += _wrong(planned.solved.program, drawn, decisions, seed).items()
        return [Misplanned(drawn[index], why) for index, why in wrong]
    except ProgramError as problem:
        why = f"it cannot be run: {problem.findings[0].message}"
    except _UNPLANNED as problem:
        why = f"its plan cannot be carried out: {problem}"
    if len(drawn) == 1:
        return [Misplanned(drawn[0], why)]
    found: list[Misplanned] = []
    half = len(drawn) // 2
    for part in (drawn[:half], drawn[half:]):
        if not (first and found):
            found += _faults(_planned(part, mesh, base, solver), base, solver, seed, first)
    return found


def _misplaced(
    planned: _Planned, decisions: Decisions, base: RuleBase, solver: str
) -> Iterator[tuple[int, str]]:
    """Gradients that lie otherwise than their values, and forward layouts that gradients change."""
    with_forward = [
        (index, replace(each, program=each.forward))
        for index, each in enumerate(planned.drawn)
        if each.forward is not None
    ]
    for index, each in enumerate(planned.drawn):
        program, first = each.program, planned.first[index]
        for value, cotangent in program.cotangents:
            lies, should = (decisions.layouts[first + number] for number in (cotangent, value))
            # It may be split further than its value, as what it is made of is.
            differs = any(other[: len(axes)] != axes for axes, other in zip(should, lies, strict=True))
            if value in program.parameters and cotangent in program.results and differs:
                yield index, f"the gradient of `{program.values[value].name}` does not lie as it does"
    if not with_forward:
        return
    before = _planned([each for _, each in with_forward], planned.solved.program.mesh, base, solver)
    layouts = before.solved.decisions().layouts
    for place, (index, forward) in enumerate(with_forward):
        after = {
            value.name: decisions.layouts[planned.first[index] + value.id]
            for value in planned.drawn[index].program.values
        }
        kept = {*forward.program.parameters, *forward.program.results}
        for known in forward.program.values:
            changed = after.get(known.name) != layouts[before.first[place] + known.id]
            if known.id in kept and known.id not in forward.program.constants and changed:
                yield index, f"the gradient changes the layout of `{known.name}`"
                break


def _wrong(program: Program, drawn: Sequence[Drawn], decisions: Decisions, seed: int) -> dict[int, str]:
    """Which programs give something else than on one device, and why.

    ProgramError, or one of `_UNPLANNED`, if a program cannot be run.
    """
    grid = Grid(program.mesh)
    module = read_module(Source("audit.mlir", emit(program, decisions)))
    verify(module)
    prepared = prepare(module)
    for variety in _VARIETIES:
        wholes = list(_inputs(drawn, seed, variety))
        held = [
            shards(grid, PortState(grid.real(decisions.layouts[value])), partial(_whole, whole))
            for value, whole in zip(program.parameters, wholes, strict=True)
        ]
        outputs = run(
            prepared, [[each[device] for each in held] for device in range(len(grid.places))]
        ).outputs
        expected = run_program(program, wholes).outputs
        found = _differing(program, drawn, decisions, grid, outputs, expected)
        if found:
            return found
    return {}


def _whole(array: Array, device: int) -> Array:
    return array


def _inputs(drawn: Sequence[Drawn], seed: int, variety: int) -> Iterator[Array]:
    for each in drawn:
        for position, (value, domain) in enumerate(zip(each.program.parameters, each.domains, strict=True)):
            rng = np.random.default_rng([seed, each.number, variety, position])
            yield draw(rng, each.program.type_of(value), domain, variety)


def _held(parts: Sequence[Array], index: int) -> tuple[Sequence[int], Sequence[Array]]:
    return range(len(parts)), parts


def _differing(
    program: Program,
    drawn: Sequence[Drawn],
    decisions: Decisions,
    grid: Grid,
    outputs: Sequence[Sequence[Array]],
    expected: Sequence[Array],
) -> dict[int, str]:
    found: dict[int, str] = {}
    place = 0
    for index, each in enumerate(drawn):
        dtypes = {value.type.dtype for value in each.program.values}
        for result in each.program.results:
            value = program.results[place]
            layout = grid.real(decisions.layouts[value])
            held = [each[place] for each in outputs]
            local = TensorType(program.type_of(value).dtype, held[0].shape)
            port = RunPort(program.values[value].name, expected[place].shape, local, layout, (), PLACE)
            (difference,) = compare(grid, [port], partial(_held, held), [expected[place]], [coarsest(dtypes)])
            if not difference.ok:
                name = each.program.values[result].name
                found.setdefault(
                    index,
                    f"`{name}` at {list(difference.index)} on device {difference.device} is"
                    f" {difference.simulated:.6g}, and one device gives {difference.expected:.6g}",
                )
            place += 1
    return found
