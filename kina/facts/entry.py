"""The entry file of one program: the rule base, and one block of levels for each priority."""

from __future__ import annotations

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


def entry_text(priorities: Sequence[int], derived: bool, extra_rules: Iterable[str] = ()) -> str:
    """The text of the entry file for the priorities that occur, lowest first.

    With `derived`, each priority runs its levels a second time, into what differentiation made.
    `extra_rules` are names of further rule files to include.
    """
    lines = [
        "// Written by Kina: the rule base and the levels of one program.",
        '.include "base.dl"',
        *(f'.include "{name}"' for name in extra_rules),
        "",
    ]
    previous: str | None = None
    ended: tuple[str, ...] = ()
    for number, priority in enumerate(priorities):
        block, lasts, previous = _block(priority, derived, previous, ended)
        lines += block
        lines += _results(priority, previous, lasts, number, ended)
        ended = (*ended, *lasts)
    return "\n".join(lines) + "\n"


def _block(
    priority: int, derived: bool, previous: str | None, ended: tuple[str, ...]
) -> tuple[list[str], tuple[str, ...], str]:
    """The levels of one priority, their last ones, and the very last."""
    lines: list[str] = []
    lasts: list[str] = []
    for group in ("Written", "Derived") if derived else ("Written",):
        for component, suffix in _LEVELS:
            name = f"p{priority}_{group.lower()}_{suffix}"
            lines.append(f".init {name} = {group}{component}")
            if previous is not None:
                lines.append(_rule("levels.carry-on"))
                lines.append(f"{name}.before(value, dim, list) :- {previous}.accepted(value, dim, list).")
            if group == "Written" and suffix == "shape_forward":
                lines.append(_rule("levels.enter"))
                lines.append(f"{name}.before(value, dim, list) :- seed(value, dim, list, {priority}).")
            for last in ended:
                lines.append(_rule("levels.unsettled"))
                lines.append(f"{name}.differs(value, dim, list) :- {last}.contested(value, dim, list).")
            previous = name
        assert previous is not None
        lasts.append(previous)
    assert previous is not None
    return lines, tuple(lasts), previous


def _results(
    priority: int, last: str, lasts: tuple[str, ...], number: int, ended: tuple[str, ...]
) -> list[str]:
    """The clauses that hand the outcome of a priority to the rest of the rules."""
    lines = [_rule("levels.grant")]
    body = f"{last}.accepted(value, dim, list)"
    if number:
        body += f",\n    !{ended[-1]}.accepted(value, dim, list)"
    lines.append(f"granted(value, dim, list, {priority}) :-\n    {body}.")
    for name in lasts:
        lines.append(_rule("levels.contest"))
        lines.append(f"contested_at(value, dim, list, {priority}) :- {name}.contested(value, dim, list).")
    lines.append("")
    return lines


def _rule(name: str) -> str:
    return f'@[rule = "{name}"]\n@[hide]'
