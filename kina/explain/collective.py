"""`kina why --collective`: which op moves data, what that rests on, and what the alternatives would move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kina.diagnose.case import Fact, axis_words, plural
from kina.diagnostics.finding import Label, SetupError
from kina.explain.answer import Answer, Evidence
from kina.explain.inquiry import Inquiry, inquire
from kina.explain.parts import completed_because, part_makers
from kina.explain.prices import price_lines
from kina.explain.why import Stages
from kina.facts import load as load_module
from kina.facts.dump import operand_port, parameter_port, result_port
from kina.facts.names import encode
from kina.frontend.ir import Op, Program
from kina.plan.decisions import Coercion, Collective, Decisions, Step
from kina.report.types import type_text

#: The relations that the answer is made of, beside those of the decisions.
OUTPUTS = (
    "granted",
    "option_price",
    "ranked",
    "preferred",
    "unused",
    "candidate",
    "keeps_axes",
    "makes_pending",
    "linear",
    "hindered",
    "worthwhile",
    "passes",
    "annotated",
    "factor",
    "factor_within",
    "factor_reduced",
)

#: Collectives whose proof is that of a tuple of the relation of their name.
_MOVES = ("all_gather", "all_to_all", "reduce_scatter", "all_reduce")


@dataclass(frozen=True, slots=True)
class Move:
    """One collective of a plan, with the coercion that it belongs to."""

    number: int
    collective: Collective
    coercion: Coercion
    step: Step


def why_collective(
    program: Program, solver: str, number: int, stage: Stages
) -> tuple[Inquiry, tuple[Answer, ...]]:
    """Why collective `number` of the plan moves data, counted from 1 as `kina check` does.

    Raises SetupError if there is no such collective or the engine is at fault, ProgramError if a rule
    file is.
    """
    inquiry = inquire(program, solver, (*load_module.OUTPUTS, *OUTPUTS), stage)
    with stage("load"):
        decisions = load_module.load(program, inquiry.relations, inquiry.solver)
    move = find_move(decisions, number)
    with stage("prove"):
        return inquiry, (_answer(inquiry, decisions, move),)


def find_move(decisions: Decisions, number: int) -> Move:
    """Collective `number`, from 1. Raises SetupError if there is none."""
    steps = [
        (coercion, step)
        for coercion in decisions.coercions
        for step in coercion.steps
        if step.kind not in ("slice", "mask")
    ]
    if not 1 <= number <= len(steps):
        has = f"it has {plural(len(steps), 'collective')}" if steps else "it has none"
        raise SetupError(f"the plan has no collective {number}", has)
    coercion, step = steps[number - 1]
    return Move(number, decisions.collectives[number - 1], coercion, step)


def _answer(inquiry: Inquiry, decisions: Decisions, move: Move) -> Answer:
    collective, program = move.collective, inquiry.program
    name = program.values[collective.value].name
    return Answer(
        "collective",
        f"--collective {move.number}",
        f"{collective.kind} over {axis_words(collective.axes)} moves `{name}`,"
        f" {plural(collective.bytes, 'byte')} for each device: {collective.reason}",
        collective.span,
        _below(program, move),
        labels=tuple(_labels(inquiry, move)),
        lines=tuple(_lines(inquiry, decisions, move)),
        evidence=tuple(_evidence(inquiry, move)),
        notes=tuple(_notes(inquiry, move)),
    )


def _op(program: Program, move: Move) -> Op | None:
    """The op that the collective belongs to; a parameter's has none."""
    return program.ops[move.coercion.uses[0][0]] if move.coercion.uses else None


def _below(program: Program, move: Move) -> str:
    type_ = program.type_of(move.coercion.value)
    before = type_text(type_, move.coercion.before, move.coercion.pending_before)
    after = type_text(type_, move.coercion.after, move.coercion.pending_after)
    return f"{before} becomes {after}"


def _labels(inquiry: Inquiry, move: Move) -> Iterator[Label]:
    """Where the parts of a pending value come from."""
    if move.step.reduction is None:
        return
    for axis in move.step.axes:
        for op in part_makers(inquiry, move.coercion.value, axis):
            if op.span != move.collective.span:
                yield Label(op.span, f"{inquiry.case.op_words(op)} makes a part on each device of `{axis}`")


def _lines(inquiry: Inquiry, decisions: Decisions, move: Move) -> Iterator[str]:
    op = _op(inquiry.program, move)
    if op is None:
        return
    yield from _port_lines(inquiry, decisions, op, move.coercion)
    chosen = [op]
    if move.step.reduction is not None:
        makers = [m for axis in move.step.axes for m in part_makers(inquiry, move.coercion.value, axis)]
        chosen = list(dict.fromkeys(makers)) or [op]
    for each in chosen[:3]:
        for axis in move.step.axes:
            yield from price_lines(inquiry, decisions, each, axis)


def _port_lines(inquiry: Inquiry, decisions: Decisions, op: Op, coercion: Coercion) -> Iterator[str]:
    """How each operand and result is stored, and how the op takes and leaves it."""
    program, plan = inquiry.program, decisions.plans[op.id]
    name = encode(program.values[op.results[0]].name)
    passing = {inquiry.case.axes[str(row[1])] for row in inquiry.rows("passes") if row[0] == name}
    yield f"{inquiry.case.op_words(op)} takes and leaves:"
    sides = [("operand", *pair) for pair in zip(op.operands, plan.operands, strict=True)]
    sides += [("result", *pair) for pair in zip(op.results, plan.results, strict=True)]
    for side, value, layout in sides:
        type_ = program.type_of(value)
        pending = decisions.pending.get(value, ())
        stored = type_text(type_, decisions.layouts[value], pending)
        parts = tuple(pair for pair in pending if pair[0] in passing)
        if side == coercion.side == "result":
            parts = coercion.pending_before
        used = type_text(type_, layout, parts)
        words = f"{used}, stored as {stored}" if side == "result" else f"{stored}, taken as {used}"
        words = stored if stored == used else words
        yield f"  {side} `{program.values[value].name}`: {words}"


def _evidence(inquiry: Inquiry, move: Move) -> Iterator[Evidence]:
    if move.step.kind not in _MOVES:
        return
    port = _port(inquiry.program, move)
    axis = encode(move.step.axes[0])
    for row in inquiry.rows(move.step.kind):
        if row[:2] == (port, axis) and _is_step(row, move.step):
            yield Evidence("", inquiry.case.proof(move.step.kind, row))
            return


def _is_step(row: Fact, step: Step) -> bool:
    match step.kind:
        case "all_reduce":
            return row[2] == step.reduction
        case "reduce_scatter":
            return row[2:] == (step.reduction, step.dim)
        case "all_to_all":
            return row[2:] == (step.dim, step.to)
        case _:
            return row[2] == step.dim


def _port(program: Program, move: Move) -> str:
    if not move.coercion.uses:
        return parameter_port(encode(program.values[move.coercion.value].name))
    op, pos = move.coercion.uses[0]
    name = encode(program.values[program.ops[op].results[0]].name)
    return operand_port(name, pos) if move.coercion.side == "operand" else result_port(name, pos)


def _notes(inquiry: Inquiry, move: Move) -> Iterator[str]:
    if move.step.reduction is not None:
        for axis in move.step.axes:
            side, op = move.coercion.side, _op(inquiry.program, move)
            yield completed_because(inquiry, move.coercion.value, axis, side, op)
    uses = [inquiry.program.ops[op].results[0] for op, _ in move.coercion.uses]
    if len(uses) > 1:
        names = ", ".join(f"`{inquiry.program.values[value].name}`" for value in uses[:5])
        yield f"{len(uses)} uses share it: {names}{', …' if len(uses) > 5 else ''}"
