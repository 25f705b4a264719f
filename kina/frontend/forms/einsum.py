"""einsum: sums of products by index letters, for any number of operands.

Operands are contracted two at a time, the pair with the smallest product first, so that a vector is
multiplied into the smaller of two matrices before they meet, and the contraction keeps one shared factor.
"""

from __future__ import annotations

import string as letters_of
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.parameters import string, tensors

MOST_OPERANDS = 32
#: Letters of an equation: enough for that many operands of the largest rank.
_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class _Term:
    """A value and the letter of each of its dims."""

    value: int
    letters: str


def _einsum(bound: Bound) -> tuple[int, ...]:
    values = [bound.as_value(arg, "operands") for arg in bound.args("operands")]
    inputs, output = _parse(bound, bound.text("equation"), len(values))
    sizes = _sizes(bound, inputs, values)
    terms = [_Term(value, letters) for value, letters in zip(values, inputs, strict=True)]
    while len(terms) > 1:
        left, right = _cheapest(terms, output, sizes)
        rest = [term for term in terms if term is not left and term is not right]
        kept = {*output, *(letter for term in rest for letter in term.letters)}
        terms = [*rest, _contract(bound, left, right, kept, output if not rest else "", sizes)]
    return (_arrange(bound, _sum_away(bound, terms[0], set(output)), output).value,)


# Reading the equation.


def _parse(bound: Bound, equation: str, count: int) -> tuple[list[str], str]:
    if len(equation) > _LONGEST:
        message = f"the equation has {len(equation):,} characters; at most {_LONGEST:,} are taken"
        bound.refuse("K110", message, bound.arg("equation").span)
    if "..." in equation:
        problem = "has `...`, but each dim is named by a letter"
        _fault(bound, problem, "name the dims that `...` stands for: `...j,jk->...k` is `abj,jk->abk`")
    text = "".join(equation.split())
    before, arrow, output = text.partition("->")
    inputs = before.split(",")
    for letter in sorted(set(text) - set(letters_of.ascii_letters + ",->")):
        _fault(bound, f"has `{letter}`, but an index is a letter, and `,` and `->` stand between operands")
    if "-" in before or ">" in before or set(output) & set(",->"):
        _fault(bound, "has one `->` at most, before the indices of the result")
    if len(inputs) != count:
        _fault(bound, f"has indices for {len(inputs)} operands, but {count} are given")
    if count > MOST_OPERANDS:
        _fault(bound, f"has {count} operands, but at most {MOST_OPERANDS} are taken")
    for letters in inputs:
        for letter in sorted({each for each in letters if letters.count(each) > 1}):
            _fault(bound, f"has `{letter}` twice in `{letters}`: a diagonal is not taken")
    if not arrow:
        joined = "".join(inputs)
        output = "".join(sorted(letter for letter in set(joined) if joined.count(letter) == 1))
    for letter in output:
        if output.count(letter) > 1:
            _fault(bound, f"has `{letter}` twice in the result")
        if not any(letter in letters for letters in inputs):
            _fault(bound, f"has `{letter}` in the result, but in no operand")
    return inputs, output


def _fault(bound: Bound, problem: str, help_: str = "") -> None:
    bound.refuse("K110", f"`{bound.text('equation')}` {problem}", bound.arg("equation").span, help_)


def _sizes(bound: Bound, inputs: Sequence[str], values: Sequence[int]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    where: dict[str, str] = {}
    for letters, value in zip(inputs, values, strict=True):
        type_ = bound.builder.type_of(value)
        if len(letters) != type_.rank:
            bound.refuse("K111", f"`{letters}` names {len(letters)} dims, but its operand is {type_}")
        for dim, letter in enumerate(letters):
            here = f"{type_.shape[dim]} at dim {dim} of {type_}"
            if sizes.setdefault(letter, type_.shape[dim]) != type_.shape[dim]:
                bound.refuse(
                    "K111", f"`{letter}` of `{bound.call.name}` has two sizes: {where[letter]} and {here}"
                )
            where.setdefault(letter, here)
    return sizes


# Contracting.


def _cheapest(terms: Sequence[_Term], output: str, sizes: Mapping[str, int]) -> tuple[_Term, _Term]:
    """The pair of terms whose product is smallest; of equals the first by letters, not by place."""
    uses: dict[str, int] = dict.fromkeys(output, 1)
    for term in terms:
        for letter in term.letters:
            uses[letter] = uses.get(letter, 0) + 1

    def cost(pair: tuple[_Term, _Term]) -> tuple[int, str, str]:
        both = set(pair[0].letters) | set(pair[1].letters)
        kept = [x for x in both if uses[x] > (x in pair[0].letters) + (x in pair[1].letters)]
        first, second = sorted(term.letters for term in pair)
        return prod(sizes[letter] for letter in kept), first, second

    return min(combinations(terms, 2), key=cost)


def _contract(
    bound: Bound, left: _Term, right: _Term, kept: set[str], output: str, sizes: Mapping[str, int]
) -> _Term:
    """The product of two terms, summed over the letters that nothing else needs."""
    left = _sum_away(bound, left, kept | set(right.letters))
    right = _sum_away(bound, right, kept | set(left.letters))
    shared = [letter for letter in left.letters if letter in right.letters]
    if all(letter in kept for letter in shared):
        return _multiply(bound, left, right, output, sizes)
    batch = _ordered([letter for letter in shared if letter in kept], output)
    free = {term: [x for x in term.letters if x not in shared] for term in (left, right)}
    # Of the two orders of the operands the one whose result needs no transpose.
    if "".join([*batch, *free[right], *free[left]]) == output != "".join([*batch, *free[left], *free[right]]):
        left, right = right, left
    summed = [letter for letter in left.letters if letter in right.letters and letter not in kept]
    value = bound.emit(
        "dot_general",
        (left.value, right.value),
        lhs_batching_dimensions=_dims(left, batch),
        rhs_batching_dimensions=_dims(right, batch),
        lhs_contracting_dimensions=_dims(left, summed),
        rhs_contracting_dimensions=_dims(right, summed),
    )
    return _Term(value, "".join([*batch, *free[left], *free[right]]))


def _ordered(letters: list[str], output: str) -> list[str]:
    """The letters in the order of the output, those that it lacks behind."""
    return [x for x in output if x in letters] + [x for x in letters if x not in output]


def _dims(term: _Term, letters: Iterable[str]) -> tuple[int, ...]:
    return tuple([term.letters.index(letter) for letter in letters])


def _multiply(bound: Bound, left: _Term, right: _Term, output: str, sizes: Mapping[str, int]) -> _Term:
    """The elementwise product, both terms broadcast to the letters of either."""
    both = {*left.letters, *right.letters}
    if output:
        order = "".join([letter for letter in output if letter in both])
    else:
        large, small = (left, right) if len(left.letters) >= len(right.letters) else (right, left)
        order = large.letters + "".join([letter for letter in small.letters if letter not in large.letters])
    spread = [_spread(bound, term, order, sizes) for term in (left, right)]
    return _Term(bound.emit("multiply", spread), order)


def _spread(bound: Bound, term: _Term, order: str, sizes: Mapping[str, int]) -> int:
    if term.letters == order:
        return term.value
    term = _arrange(bound, term, "".join([letter for letter in order if letter in term.letters]))
    if term.letters == order:
        return term.value
    shape = tuple([sizes[letter] for letter in order])
    dims = tuple([order.index(letter) for letter in term.letters])
    return bound.emit("broadcast_in_dim", (term.value,), broadcast_dimensions=dims, shape=shape)


def _sum_away(bound: Bound, term: _Term, kept: set[str]) -> _Term:
    gone = [dim for dim, letter in enumerate(term.letters) if letter not in kept]
    if not gone:
        return term
    value = bound.emit("reduce", (term.value,), dimensions=tuple(gone), kind="sum")
    return _Term(value, "".join([letter for letter in term.letters if letter in kept]))


def _arrange(bound: Bound, term: _Term, order: str) -> _Term:
    if term.letters == order:
        return term
    return _Term(bound.emit("transpose", (term.value,), permutation=_dims(term, order)), order)


FORMS = (
    Form(
        "einsum",
        (string("equation"), tensors("operands")),
        'sums of products by index letters, as in `(einsum "bsd,dhe->bshe" x w)`; '
        "letters that the result lacks are summed over",
        _einsum,
    ),
)
