"""Reshapes that gather (K312), and what needs no gather: the dims kept apart, or another one split."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from operator import mul

from kina.diagnose.case import LARGE, Case, Fact, axis_words, distinct
from kina.diagnose.edits import with_dim
from kina.diagnose.repairs import Trial
from kina.diagnostics.finding import Edit, Finding, Help
from kina.facts.reshape import common_factors
from kina.frontend.ir import Op, Program, Value

_NAME = re.compile(r"[A-Za-z_][\w\-]*")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def gathered_to_reshape(case: Case, trial: Trial) -> Iterator[Finding]:
    """A note for each dim that a reshape gathers, unless its size says already why."""
    small = {(fact[0], fact[4], fact[5]) for fact in case.rows("stopped_by_size")}
    rows = (fact for fact in case.rows("gathered_to_reshape") if fact[:3] not in small)
    for fact in distinct(rows, lambda fact: case.value(fact[0]).span):
        user, name, dim, axis = fact
        value, result = case.value(name), case.value(user)
        size = value.type.shape[int(dim)]
        yield Finding(
            "K312",
            "note",
            f"`reshape` gathers `{case.short(value)}` over `{case.axes[str(axis)]}`:"
            f" dim {dim} ({size}) {_misplaced(value.type.shape, result.type.shape, int(dim))}",
            result.span,
            f"{value.type.bytes:,} bytes whole on each device",
            helps=tuple(_helps(case, fact, trial)),
            proof=case.proof("gathered_to_reshape", fact),
            rule="remarks.gather-to-reshape",
            more=("`kina explain K312`",),
        )


def _misplaced(before: tuple[int, ...], after: tuple[int, ...], dim: int) -> str:
    """Why a dim of `before` cannot stay split in a reshape to `after`."""
    factors = common_factors(before, after)
    own = [factor for factor in factors if factor.side == 0 and factor.dim == dim]
    shapes = tuple(f"[{','.join(map(str, shape))}]" for shape in (before, after))
    if not own:
        minor = f"is minor in {shapes[0]} and " if prod(before[:dim]) > 1 else ""
        return (
            f"{minor}has no factor boundary in common with {shapes[1]}, so its shards are no run of the"
            " flat tensor"
        )
    place = next(f for f in factors if f.side == 1 and f.number == own[0].number)
    if own[0].major == 1 and place.major > 1:
        return f"is the minor part of dim {place.dim} of {shapes[1]}, whose major part is not split"
    return f"shares only {own[0].size} elements with dim {place.dim} of {shapes[1]}"


def _helps(case: Case, fact: Fact, trial: Trial) -> Iterator[Help]:
    """What was tried and moves less; where nothing did, what is so in general."""
    apart: list[Help] = []
    elsewhere: list[Help] = []
    if len(case.program.ops) <= LARGE:
        apart, elsewhere = [*_kept_apart(case, fact, trial)], [*_split_elsewhere(case, fact, trial)]
    yield from (*apart, *elsewhere)
    use = _only_use(case.program, case.value(fact[0]).id)
    if not apart and use is not None and use.kind == "dot_general":
        yield Help("keep the dims apart: `einsum` contracts them as they are, and needs no gather")
    elif not apart and not elsewhere:
        yield Help("split a dim above it: its shards are runs of the flat tensor")


# -- another dim split


def _split_elsewhere(case: Case, fact: Fact, trial: Trial) -> Iterator[Help]:
    """The annotation that splits the dim, put on one that is more major."""
    notes = case.origins(case.proof("gathered_to_reshape", fact))
    if len(notes) != 1 or notes[0].dim is None:
        return
    name = case.short(case.program.values[notes[0].value])
    for dim in range(notes[0].dim):
        edits = (with_dim(notes[0], dim),)
        found = trial(edits)
        if found.passed and not found.gathers(fact):
            words = f"split `{name}` on dim {dim} over {axis_words(notes[0].axes)}, not on dim {notes[0].dim}"
            yield Help(f"{words}; {found.plan}", edits, verified=True)
            return


# -- dims kept apart


@dataclass(frozen=True, slots=True)
class _Flat:
    """A product of something flattened: `before` is flattened, multiplied with `other`, and unflattened."""

    before: Value
    product: Op
    other: Value
    side: int
    after: Op


def _kept_apart(case: Case, fact: Fact, trial: Trial) -> Iterator[Help]:
    """The product written as an `einsum` of what was flattened, where its result is given the dims back."""
    flat = _flattened(case, case.producers[case.value(fact[0]).id])
    if flat is None:
        return
    form = _einsum(case.program, flat)
    if form is None:
        return
    edits = (Edit(flat.after.span, form),)
    found = trial(edits)
    if found.passed and found.program is not None and _means(found.program, form, flat):
        yield Help(
            f"keep the dims apart, which `einsum` takes as they are; {found.plan}", edits, verified=True
        )


def _flattened(case: Case, reshape: Op) -> _Flat | None:
    program = case.program
    product = _only_use(program, reshape.results[0])
    if product is None or product.kind != "dot_general":
        return None
    after = _only_use(program, product.results[0])
    if after is None or after.kind != "reshape":
        return None
    side = product.operands.index(reshape.results[0])
    other = program.values[product.operands[1 - side]]
    return _Flat(program.values[reshape.operands[0]], product, other, side, after)


def _only_use(program: Program, value: int) -> Op | None:
    uses = [op for op in program.ops if value in op.operands]
    single = len(uses) == 1 and uses[0].operands.count(value) == 1 and value not in program.results
    return uses[0] if single else None


def _einsum(program: Program, flat: _Flat) -> str | None:
    """The form; None if a contracted dim was flattened, dims do not come back, or names are not plain."""
    merged = program.type_of(flat.product.operands[flat.side]).shape
    groups = _groups(flat.before.type.shape, merged)
    names = [_identifier(value) for value in (flat.before, flat.other)]
    if groups is None or None in names or len(merged) + flat.before.type.rank + flat.other.type.rank > 26:
        return None
    free = iter(_LETTERS)
    own = [[next(free) for _ in group] for group in groups]
    letters: list[list[list[str]]] = [[], []]
    letters[flat.side] = own
    letters[1 - flat.side] = [[next(free)] for _ in flat.other.type.shape]
    result = _result_letters(flat.product, letters)
    if result is None:
        return None
    sizes = {
        letter: size
        for group, dims in zip(own, groups, strict=True)
        for letter, size in zip(group, dims, strict=True)
    }
    sizes |= {
        group[0]: size for group, size in zip(letters[1 - flat.side], flat.other.type.shape, strict=True)
    }
    if tuple(sizes[letter] for letter in result) != program.type_of(flat.after.results[0]).shape:
        return None
    sides = ["".join(letter for group in own for letter in group) for own in letters]
    order = names if flat.side == 0 else names[::-1]
    equation = f"{sides[0]},{sides[1]}->{''.join(result)}"
    used = "".join(dict.fromkeys(filter(str.isalpha, equation)))
    equation = equation.translate(str.maketrans(used, _LETTERS[: len(used)]))
    return f'(einsum "{equation}" {order[0]} {order[1]})'


def _groups(before: tuple[int, ...], after: tuple[int, ...]) -> list[tuple[int, ...]] | None:
    """The sizes of `before` that each dim of `after` is the product of, None if it is otherwise."""
    ends = list(accumulate(before, mul))
    groups: list[tuple[int, ...]] = []
    start, done = 0, 1
    for size in after:
        done *= size
        if done not in ends:
            return None
        end = ends.index(done) + 1
        groups.append(before[start:end])
        start = end
    return groups if start == len(before) else None


def _result_letters(product: Op, letters: list[list[list[str]]]) -> list[str] | None:
    """The letters of the result of a dot_general; those of contracted and of matched dims are made equal."""
    batching, contracting = [
        [_dims(product, f"{side}_{name}_dimensions") for side in ("lhs", "rhs")]
        for name in ("batching", "contracting")
    ]
    for left, right in (batching, contracting):
        for one, two in zip(left, right, strict=True):
            if len(letters[0][one]) != 1 or len(letters[1][two]) != 1:
                return None
            letters[1][two] = letters[0][one]
    bound = [{*batching[side], *contracting[side]} for side in (0, 1)]
    found = [letter for dim in batching[0] for letter in letters[0][dim]]
    for side in (0, 1):
        free = [group for dim, group in enumerate(letters[side]) if dim not in bound[side]]
        found += [letter for group in free for letter in group]
    return found


def _dims(op: Op, name: str) -> tuple[int, ...]:
    value = op.attribute(name)
    assert isinstance(value, tuple)
    return value


def _identifier(value: Value) -> str | None:
    """The name that a program calls a value by, if it has a plain one."""
    name = value.name.rpartition(".")[2]
    return name if _NAME.fullmatch(name) else None


def _means(program: Program, form: str, flat: _Flat) -> bool:
    """Whether the form, where it now stands, takes the two tensors that it is meant for."""
    made = [op for op in program.ops if op.span.text == form]
    inside = {value for op in made for value in op.results}
    taken = {program.values[value].name for op in made for value in op.operands if value not in inside}
    return taken == {flat.before.name, flat.other.name}
