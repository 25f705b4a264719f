"""A proof as an indented tree of sentences with the rule and its place beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kina.diagnostics.cells import cells, cut, pad, printable, wrap
from kina.diagnostics.finding import ProofStep
from kina.diagnostics.style import Style

#: Rows that the tree of a proof takes in its short form.
SHORT_ROWS = 24
#: Tree levels that are drawn by indentation; deeper ones carry their depth as a number.
_LEVELS = 12
#: A run of alike steps is folded from this many on.
_FOLD = 3
#: The longest period of repeated steps that is looked for.
_PERIOD = 40


@dataclass(frozen=True, slots=True)
class _Line:
    """`depth` counts from 0; `last` says whether the step is the last premise of the one above."""

    bars: tuple[bool, ...]
    depth: int
    last: bool
    says: str
    rule: str
    place: str


@dataclass(slots=True)
class _Tree:
    proof: tuple[ProofStep, ...]
    full: bool
    relevant: frozenset[int]
    lines: list[_Line] = field(default_factory=list)
    folded: int = 0
    shown: set[int] = field(default_factory=set)


def proof_lines(proof: Sequence[ProofStep], width: int, style: Style, most: int = SHORT_ROWS) -> list[str]:
    """The heading of a proof and its tree, each line at most `width` columns where sentences allow.

    In its short form the tree takes at most `most` rows: where it starts and where it ends.
    """
    tree = _Tree(tuple(proof), style.proof == "full", _leads_to_given(proof))
    _grow(tree)
    given = sum(1 for step in proof if step.given_at is not None)
    steps = len(tree.shown)
    count = f"{steps} step{'s' if steps != 1 else ''}"
    heading = f"{count}, {given} of them given by you"
    if tree.folded:
        heading += f"; {tree.folded} alike are folded (`--proof full` opens them)"
    rows = _table(tree.lines, width, style)
    return [heading, *_flat(rows if tree.full else _without_middle(rows, most))]


def _flat(rows: Sequence[Sequence[str]]) -> list[str]:
    return [part for parts in rows for part in parts]


def _without_middle(rows: list[list[str]], most: int) -> list[list[str]]:
    """The lines of a tree, those in the middle left out where all take more than `most` rows."""
    if sum(map(len, rows)) <= most:
        return rows
    head, tail = 1, 1
    taken = len(rows[0]) + len(rows[-1]) + 1
    while head + tail < len(rows):
        upper = head <= 2 * tail
        more = len(rows[head] if upper else rows[-tail - 1])
        if taken + more > most:
            break
        taken += more
        head, tail = (head + 1, tail) if upper else (head, tail + 1)
    left_out = len(rows) - head - tail
    return [*rows[:head], [f"… {left_out} more lines (`--proof full` shows them)"], *rows[len(rows) - tail :]]


def _leads_to_given(proof: Sequence[ProofStep]) -> frozenset[int]:
    """The steps that rest on something the user wrote; all steps if none does."""
    users: dict[int, list[int]] = {}
    for step in proof:
        for premise in step.premises:
            users.setdefault(premise, []).append(step.id)
    found = {step.id for step in proof if step.given_at is not None}
    waiting = list(found)
    while waiting:
        above = [number for number in users.get(waiting.pop(), ()) if number not in found]
        found.update(above)
        waiting += above
    return frozenset(found) if found else frozenset(range(len(proof)))


def _visible_premises(tree: _Tree, step: ProofStep) -> list[int]:
    """The premises that are shown below a step, each once.

    The full form has them all. In the short form, in place of a hidden one stand its own, and how the
    program's ops connect is left out: what rests on nothing that the user wrote.
    """
    if tree.full:
        return list(dict.fromkeys(step.premises))
    out: dict[int, None] = {}
    seen: set[int] = set()
    stack = list(reversed(step.premises))
    while stack:
        number = stack.pop()
        if number in seen or number not in tree.relevant:
            continue
        seen.add(number)
        premise = tree.proof[number]
        if premise.hidden and premise.given_at is None:
            stack.extend(reversed(premise.premises))
        else:
            out[number] = None
    return list(out)


def _grow(tree: _Tree) -> None:
    """Lay the steps out depth first, with a stack of our own: proofs are deeper than Python's."""
    stack: list[tuple[int, tuple[bool, ...], int, bool]] = [(0, (), 0, True)]
    while stack:
        number, bars, depth, last = stack.pop()
        step = tree.proof[number]
        premises = _visible_premises(tree, step)
        if number in tree.shown and premises:
            _add(tree, step, bars, depth, last, times=1, again=True)
            continue
        run, times = _fold(tree, number)
        below = bars if not depth else (*bars, not last)[:_LEVELS]
        for index, member in enumerate(run):
            lead = _inside(below, index) if index else bars
            count = times if len(run) == 1 else 1
            _add(tree, tree.proof[member], lead, depth + index, last or index > 0, count)
        tree.shown.update(run)
        end = _run_end(tree, run, times)
        level = depth + len(run)
        if len(run) > 1:
            _repeat_line(tree, len(run), times, _inside(below, len(run)), level)
            level += 1
        children = _visible_premises(tree, tree.proof[end])
        under = _inside(below, level - depth)
        for position in range(len(children) - 1, -1, -1):
            stack.append((children[position], under, level, position == len(children) - 1))


def _inside(below: tuple[bool, ...], index: int) -> tuple[bool, ...]:
    """The bars left of the `index`-th step of a run in which each has one premise."""
    return (*below, *([False] * min(index - 1, _LEVELS)))


def _chain(tree: _Tree, number: int) -> list[int]:
    """The steps from `number` down as long as each has one visible premise that is derived."""
    chain = [number]
    while True:
        premises = _visible_premises(tree, tree.proof[chain[-1]])
        if len(premises) != 1 or not tree.proof[premises[0]].rule or premises[0] in tree.shown:
            return chain
        chain.append(premises[0])


def _fold(tree: _Tree, number: int) -> tuple[list[int], int]:
    """The steps to print from `number` on, and how often their rules repeat from there."""
    step = tree.proof[number]
    if tree.full or not step.rule:
        return [number], 1
    chain = _chain(tree, number)
    rules = [tree.proof[member].rule for member in chain]
    for period in range(1, min(_PERIOD, len(rules) // _FOLD) + 1):
        times = 1
        while rules[times * period : (times + 1) * period] == rules[:period]:
            times += 1
        if times >= _FOLD:
            return chain[:period], times
    return [number], 1


def _run_end(tree: _Tree, run: list[int], times: int) -> int:
    """The last step of a folded run; what is skipped counts as folded and shown."""
    end = run[-1]
    for _ in range(len(run) * (times - 1)):
        end = _visible_premises(tree, tree.proof[end])[0]
        tree.shown.add(end)
        tree.folded += 1
    return end


def _add(
    tree: _Tree,
    step: ProofStep,
    bars: tuple[bool, ...],
    depth: int,
    last: bool,
    times: int,
    again: bool = False,
) -> None:
    says = step.says + (" (shown above)" if again else "")
    rule, place = step.rule, step.rule_at
    if not rule and step.given_at is not None:
        rule, place = "given", str(step.given_at)
    elif not rule:
        rule = "table" if step.rule_at else "program"
    if times > 1:
        rule += f" ×{times}"
    tree.lines.append(_Line(bars, depth, last, printable(says), rule, printable(place)))


def _repeat_line(tree: _Tree, period: int, times: int, bars: tuple[bool, ...], depth: int) -> None:
    says = f"… the same {period} steps, {times - 1} times more"
    tree.lines.append(_Line(bars, depth, True, says, "", ""))


def _lead(line: _Line) -> tuple[str, str]:
    """What stands left of a sentence, on its first line and on those that continue it."""
    if not line.depth:
        return "", ""
    bars = line.bars
    number = ""
    if line.depth > _LEVELS:
        bars = bars[: _LEVELS - 1]
        number = f"({line.depth}) "
    stem = "".join("│  " if bar else "   " for bar in bars)
    follow = stem + ("   " if line.last else "│  ") + " " * len(number)
    return stem + ("└─ " if line.last else "├─ ") + number, follow


def _table(lines: Sequence[_Line], width: int, style: Style) -> list[list[str]]:
    """The rows of each line: sentence, rule, place. The place column needs 100 columns, the rule's 80."""
    rule_width = max((cells(line.rule) for line in lines), default=0)
    place_width = max((cells(line.place) for line in lines), default=0)
    widest = max((cells(_lead(line)[0] + line.says) for line in lines), default=0)
    columns = 2 if style.width >= 100 else 1 if style.width >= 80 else 0
    taken = (0, rule_width + 2, rule_width + place_width + 4)
    while columns and width - taken[columns] < min(widest, 40):
        columns -= 1
    room = min(widest, width - taken[columns]) if columns else width
    return [_row(line, room, columns, rule_width, style) for line in lines]


def _row(line: _Line, room: int, columns: int, rule_width: int, style: Style) -> list[str]:
    first, follow = _lead(line)
    parts = wrap(line.says, max(room - cells(first), 16))
    rows = [first + parts[0], *(follow + part for part in parts[1:])]
    if columns >= 1 and line.rule:
        beside = pad(line.rule, rule_width) + "  " + line.place if columns == 2 else line.rule
        rows[0] = pad(rows[0], room) + "  " + style.paint(cut(beside, 0, 200).rstrip(), "dim")
    return rows
