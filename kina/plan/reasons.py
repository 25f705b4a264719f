"""Why data moves, in a sentence."""

from __future__ import annotations

from kina.frontend.ir import Program
from kina.plan.decisions import Coercion, Step


def reason(program: Program, coercion: Coercion, step: Step) -> str:
    """The cause of a collective: what the value is, and what the op or the layout needs."""
    value = program.values[coercion.value]
    axes = _words(step.axes)
    if step.kind in ("all_reduce", "reduce_scatter"):
        return _completed(program, coercion, step, axes)
    user = _user(program, coercion)
    match step.kind:
        case "all_gather":
            return f"dim {step.dim} of `{value.name}` is split over {axes}, and {user} it whole"
        case "all_to_all":
            return f"`{value.name}` has {axes} on dim {step.dim}, and {user} it on dim {step.to}"
        case _:
            return f"`{value.name}` is split over {axes} otherwise than {user} it"


def _completed(program: Program, coercion: Coercion, step: Step, axes: str) -> str:
    value = program.values[coercion.value]
    lands = f", and lands split on dim {step.dim}" if step.kind == "reduce_scatter" else ""
    if coercion.side == "parameter":
        return f"`{value.name}` is given as a pending {step.reduction} over {axes}{lands}"
    op = program.ops[coercion.uses[0][0]]
    if coercion.side == "operand":
        return f"`{op.kind}` needs the value of `{value.name}`, a pending {step.reduction} over {axes}{lands}"
    return f"`{op.kind}` leaves `{value.name}` a pending {step.reduction} over {axes}{lands}"


def _user(program: Program, coercion: Coercion) -> str:
    if coercion.side == "operand":
        kinds = dict.fromkeys(program.ops[op].kind for op, _ in coercion.uses)
        first = next(iter(kinds))
        return f"`{first}` needs" if len(coercion.uses) == 1 else f"{len(coercion.uses)} ops need"
    return "its layout wants"


def _words(axes: tuple[str, ...]) -> str:
    return ", ".join(f"`{axis}`" for axis in axes)
