"""Layouts that Kina changes when a program is written otherwise, by the same rewritings of its typed IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kina.frontend.ir import Op, Program
from kina.pipeline import Options, build, decide
from kina.source import Source

COMMUTATIVE = ("add", "multiply", "maximum")
Found = dict[str, list[int]]


def variants(text: str, most: int) -> tuple[int, bool, Found]:
    """How many layouts there are, whether a conflict is reported, and what each variant changes.

    Of each kind at most `most` single rewritings are tried, evenly spaced, and then all of them at once.
    """
    program = build(Source("step.kina", text), Options())
    before, conflict = layouts(program)
    found: Found = {
        "swap": [_changed(before, each) for each in _chosen(swaps(program), most)],
        "respell": [_changed(before, each) for each in _chosen(respellings(program), most)],
        "rename": [_changed(before, renamed(program))],
    }
    for kind, every in (("swap", swaps(program)), ("respell", respellings(program))):
        together = program
        for each in every:
            number = next(n for n, op in enumerate(each.ops) if op != program.ops[n])
            together = _with(together, each.ops[number])
        found[kind].append(_changed(before, together))
    return len(before), conflict, found


def layouts(program: Program) -> tuple[list[tuple[object, ...]], bool]:
    """What is decided of every value, in order; and whether that was settled because requests contradict."""
    source = program.values[0].span.source
    _, decisions = decide(source, program, Options(on_conflict="cost"))
    pending = decisions.pending
    found: list[tuple[object, ...]] = [
        (layout, pending.get(number, ())) for number, layout in enumerate(decisions.layouts)
    ]
    return found, any(finding.code.startswith("K2") for finding in decisions.findings)


def _changed(before: Sequence[object], program: Program) -> int:
    after, _ = layouts(program)
    return sum(one != two for one, two in zip(before, after, strict=True))


def _chosen(every: Iterator[Program], most: int) -> list[Program]:
    found = list(every)
    step = max(1, len(found) // most)
    return found[::step][:most]


def _with(program: Program, op: Op) -> Program:
    return replace(program, ops=(*program.ops[: op.id], op, *program.ops[op.id + 1 :]))


def swaps(program: Program) -> Iterator[Program]:
    """Each commutative op with two operands, the other way round."""
    for op in program.ops:
        if op.kind in COMMUTATIVE and op.operands[0] != op.operands[1]:
            yield _with(program, replace(op, operands=op.operands[::-1]))


def respellings(program: Program) -> Iterator[Program]:
    """Each op that adds dims of size 1: a broadcast as a reshape, a reshape as a broadcast."""
    for op in program.ops:
        if op.kind not in ("reshape", "broadcast_in_dim"):
            continue
        before, after = (program.type_of(number).shape for number in (op.operands[0], op.results[0]))
        sizes = [size for size in before if size > 1]
        if (
            1 in before
            or len(sizes) == 0
            or len(after) <= len(before)
            or sizes != [n for n in after if n > 1]
        ):
            continue
        dims = tuple(dim for dim, size in enumerate(after) if size > 1)
        if op.kind == "reshape":
            made = replace(op, kind="broadcast_in_dim", attributes=(("broadcast_dimensions", dims),))
        else:
            made = replace(op, kind="reshape", attributes=())
        yield _with(program, made)


def renamed(program: Program) -> Program:
    """The program with its values named in the reverse order of their names."""
    names = sorted(value.name for value in program.values)
    other = dict(zip(names, reversed([f"v{number:06}" for number in range(len(names))]), strict=True))
    return replace(program, values=tuple(replace(v, name=other[v.name]) for v in program.values))
