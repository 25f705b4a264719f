"""The invariants of sharding decisions, on random programs and on all examples."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kina.diagnose.solved import Solved, solve_program
from kina.diagnostics.finding import ProgramError
from kina.facts.load import OUTPUTS
from kina.frontend.ir import Program
from kina.pipeline import Options, build, open_source
from kina.source import Source
from tests.properties.rewrites import renamed, shuffled, swapped, unit_dims_exchanged
from tests.random_programs import random_program

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.kina"))
CASES = sorted((ROOT / "tests" / "cases").glob("*.kina"))
#: Each takes several seconds a run, and smaller ones are like them.
LARGE = frozenset(("gpt_96", "gpt_100m_data", "gpt_100m_data_tensor", "gpt_100m_fsdp"))

several = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
seeds = st.integers(0, 10**6)


def program_of(seed: int) -> Program | None:
    """A random program, None if it has a mistake."""
    try:
        return build(Source("random.kina", random_program(seed)), Options())
    except ProgramError:
        return None


def outcome(solved: Solved, names: list[str]) -> tuple[object, ...]:
    """Layouts, collectives and conflicts, by the given names of values instead of their own."""
    decisions = solved.decisions()
    layouts = {names[value.id]: decisions.layouts[value.id] for value in solved.program.values}
    pending = {names[value]: parts for value, parts in decisions.pending.items()}
    moves = Counter((c.kind, c.axes, names[c.value], c.bytes) for c in decisions.collectives)
    conflicts = {(names[solved.case.value(fact[0]).id], *fact[1:]) for fact in solved.case.rows("conflict")}
    return layouts, pending, moves, conflicts


def own_names(program: Program) -> list[str]:
    return [value.name for value in program.values]


def assert_same_outcome(program: Program, changed: Program, names: list[str]) -> None:
    assert outcome(solve_program(changed, "clingo"), names) == outcome(
        solve_program(program, "clingo"), own_names(program)
    )


@several
@given(seeds, seeds)
def test_order_and_operand_order_do_not_matter(seed: int, how: int) -> None:
    program = program_of(seed)
    if program is None:
        return
    rng = random.Random(how)
    changed = swapped(shuffled(program, rng), rng)
    assert_same_outcome(program, changed, own_names(changed))


@several
@given(seeds, seeds)
def test_names_do_not_matter(seed: int, how: int) -> None:
    program = program_of(seed)
    if program is None:
        return
    assert_same_outcome(program, renamed(program, random.Random(how)), own_names(program))


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.deep] if path.stem in LARGE else [])
        for path in (*EXAMPLES, *CASES)
    ],
    ids=lambda path: path.stem,
)
def test_rewritten_examples_have_the_same_plan(path: Path) -> None:
    try:
        program = build(open_source(str(path)), Options())
    except ProgramError:
        return
    rng = random.Random(path.stem)
    changed = swapped(shuffled(program, rng), rng)
    assert_same_outcome(program, changed, own_names(changed))
    assert_same_outcome(program, renamed(program, rng), own_names(program))
    exchanged = unit_dims_exchanged(program)
    assert_same_outcome(program, exchanged, own_names(exchanged))


@several
@given(seeds)
def test_no_annotation_is_changed(seed: int) -> None:
    program = program_of(seed)
    if program is None:
        return
    decisions = solve_program(program, "clingo").decisions()
    for note in program.annotations:
        layout = decisions.layouts[note.value]
        match note.kind:
            case "sharded":
                assert note.dim is not None
                assert layout[note.dim] == note.axes
            case "replicated":
                assert not {axis for axes in layout for axis in axes} & set(note.axes)
            case "closed":
                own = {n.dim for n in program.annotations if n.value == note.value and n.kind == "sharded"}
                assert all(axes == () for dim, axes in enumerate(layout) if dim not in own)
            case "pending":
                parts = decisions.pending[note.value]
                assert all((axis, note.reduction) in parts for axis in note.axes)


@several
@given(seeds)
def test_every_collective_has_a_cause_and_every_op_a_rule(seed: int) -> None:
    program = program_of(seed)
    if program is None:
        return
    solved = solve_program(program, "clingo")
    assert not solved.solution.relations["unruled"]
    assert not solved.solution.relations["role_clash"]
    for collective in solved.decisions().collectives:
        assert f"`{program.values[collective.value].name}`" in collective.reason


@several
@given(seeds)
def test_layouts_are_layouts(seed: int) -> None:
    """An axis at most once in a tensor, and no dim in more parts than divide it."""
    program = program_of(seed)
    if program is None:
        return
    sizes = {axis.name: axis.size for axis in program.mesh.axes}
    decisions = solve_program(program, "clingo").decisions()
    plans = [
        (value, layout)
        for op, plan in zip(program.ops, decisions.plans, strict=True)
        for value, layout in zip((*op.operands, *op.results), (*plan.operands, *plan.results), strict=True)
    ]
    for value, layout in [*enumerate(decisions.layouts), *plans]:
        axes = [axis for dim in layout for axis in dim]
        assert len(axes) == len(set(axes))
        for size, dim in zip(program.type_of(value).shape, layout, strict=True):
            parts = 1
            for axis in dim:
                parts *= sizes[axis]
            assert size % parts == 0


@pytest.mark.souffle
@several
@given(seeds)
def test_both_engines_derive_the_same(seed: int) -> None:
    program = program_of(seed)
    if program is None:
        return
    assert_engines_agree(program)


@pytest.mark.souffle
@pytest.mark.parametrize("path", [*EXAMPLES, *CASES], ids=lambda path: path.stem)
def test_both_engines_agree_on_examples(path: Path) -> None:
    try:
        program = build(open_source(str(path)), Options())
    except ProgramError:
        return
    assert_engines_agree(program)


def assert_engines_agree(program: Program) -> None:
    one, two = solve_program(program, "clingo"), solve_program(program, "souffle")
    assert one.solution.relations.keys() >= set(OUTPUTS)
    for name, rows in one.solution.relations.items():
        assert rows == two.solution.relations[name], name
