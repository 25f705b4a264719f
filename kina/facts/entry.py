"""The entry file of one program: the rule base, and one block of levels for each priority."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: (component suffix, instance suffix) of the five levels, in order
_LEVELS = (
    ("ShapeForward", "shape_forward"),
    ("Shape", "shape"),
    ("Forward", "forward"),
    ("Backward", "backward"),
    ("Sideways", "sideways"),
)


def level_names(priorities: Sequence[int], derived: bool) -> tuple[str, ...]:
    """The names of the levels, in the order in which they run: `p0_written_shape_forward`, ..."""
    passes = ("written", "derived") if derived else ("written",)
    return tuple(
        f"p{priority}_{group}_{suffix}"
        for priority in priorities
        for group in passes
        for _, suffix in _LEVELS
    )


#: The line that brings in the rule base, and the one for the part of it that lays tensors out.
_BASE, _LAYOUTS = '.include "base.dl"', '.include "layouts.dl"'

#: A clause with what stands above it, or a line that is no clause.
_STATEMENT = re.compile(r"(?:@\[.*\n)+(?:.*[^.\n]\n)*.*\.\n|.*\n")


def layouts_only(entry: str, gradients: bool = True) -> str:
    """An entry file with the rules that lay tensors out, and without those that plan.

    Without `gradients` it has no levels on what differentiation made. What is left keeps its lines.
    """
    statements = _STATEMENT.findall(entry.replace(_BASE, _LAYOUTS, 1))
    kept = (each if gradients or "_derived_" not in each else "\n" * each.count("\n") for each in statements)
    return "".join(kept)


def ops_only(entry: str) -> str:
    """An entry file with the rules of `layouts_only` and no levels: what they say of ops alone."""
    return "".join(
        each for each in layouts_only(entry).splitlines(True) if each.startswith((".include", "//"))
    )


def steps_everywhere(entry: str) -> str:
    """An entry file that derives the steps out of reach of every annotation too: they can be asked about."""
    everywhere = "within_reach(value, dim, axis) :- value_dim(value, dim, _), mesh_axis(axis, _, _)."
    return f"{entry}\n{_rule('steps.asked')}\n{everywhere}\n"


def entry_text(priorities: Sequence[int], derived: bool, extra_rules: Iterable[str] = ()) -> str:
    """The text of the entry file for the priorities that occur, lowest first.

    With `derived`, each priority runs its levels a second time, into what differentiation made. What the
    user wrote never starts from there: its levels carry on from those of the priority before.
    `extra_rules` are names of further rule files to include.
    """
    lines = [
        "// Written by Kina: the rule base and the levels of one program.",
        _BASE,
        *(f'.include "{name}"' for name in extra_rules),
        "",
    ]
    before: tuple[str, ...] = ()
    for place, priority in enumerate(priorities):
        ends = _ends(priority, derived)
        earlier = tuple(end for one in priorities[:place] for end in _ends(one, derived))
        lines += _levels(priority, "Written", before[:1], "!value_derived(value)" if derived else "", earlier)
        if derived:
            starts = (ends[0], *before[1:])
            lines += _levels(priority, "Derived", starts, "value_derived(value)", earlier)
        lines += _results(priority, ends, before)
        before = ends
    return "\n".join(lines) + "\n"


def _ends(priority: int, derived: bool) -> tuple[str, ...]:
    """The last levels of a priority: of what the user wrote and, if there is any, of what is derived."""
    last = _LEVELS[-1][1]
    groups = ("written", "derived") if derived else ("written",)
    return tuple(f"p{priority}_{group}_{last}" for group in groups)


def _levels(
    priority: int, group: str, starts: Sequence[str], condition: str, earlier: Sequence[str]
) -> list[str]:
    """Five levels: the first carries on from `starts` and takes the seeds that meet the condition."""
    lines: list[str] = []
    sources = list(starts)
    for component, suffix in _LEVELS:
        name = f"p{priority}_{group.lower()}_{suffix}"
        lines.append(f".init {name} = {group}{component}")
        for source in sources:
            lines.append(_rule("levels.carry-on"))
            lines.append(f"{name}.before(value, dim, list) :- {source}.accepted(value, dim, list).")
        if component == _LEVELS[0][0]:
            seed = f"seed(value, dim, list, {priority})"
            lines.append(_rule("levels.enter"))
            lines.append(f"{name}.before(value, dim, list) :- {', '.join(filter(None, (seed, condition)))}.")
        for last in earlier:
            lines.append(_rule("levels.unsettled"))
            lines.append(f"{name}.differs(value, dim, list) :- {last}.contested(value, dim, list).")
        sources = [name]
    return lines


def _results(priority: int, ends: Sequence[str], before: Sequence[str]) -> list[str]:
    """The clauses that hand the outcome of a priority to the rest of the rules."""
    body = f"{ends[-1]}.accepted(value, dim, list)"
    if before:
        body += f",\n    !{before[-1]}.accepted(value, dim, list)"
    lines = [_rule("levels.grant"), f"granted(value, dim, list, {priority}) :-\n    {body}."]
    for name in ends:
        lines.append(_rule("levels.contest"))
        lines.append(f"contested_at(value, dim, list, {priority}) :- {name}.contested(value, dim, list).")
    return [*lines, ""]


def _rule(name: str) -> str:
    return f'@[rule = "{name}"]\n@[hide]'
