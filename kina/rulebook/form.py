"""The rule of one op as an einsum: `(i,j),(j,k)->(i,k)`, read off what the rules derive of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count

from kina.facts.dump import operand_port, result_port
from kina.frontend.ir import Op
from kina.rulebook.evaluate import Evaluation

#: What stands for a dim that stays whole, for one of size 1 without a rule, and for any other without one.
WHOLE, SINGLE, UNRULED = "_", "1", "?"
_LETTERS = "ijklmnopqrstuvwxyzabcdefgh"


@dataclass(frozen=True, slots=True)
class Role:
    """A factor by its letter: "parallel", "reduced" by `reduction`, or "free", in results only.

    A factor in operands only that nothing reduces is "shared".
    """

    letter: str
    role: str
    reduction: str = ""

    def __str__(self) -> str:
        return f"{self.role} by {self.reduction}" if self.reduction else self.role


@dataclass(frozen=True, slots=True)
class Linearity:
    """The kinds of pending value that one operand may bring to the result, alone or together with others.

    `once` holds if the operand must count once in a pending result.
    """

    alone: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    once: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """What the rules say of one op, in letters that do not depend on how they number factors."""

    einsum: str
    roles: tuple[Role, ...]
    linearity: tuple[Linearity, ...]
    keeps_shapes: bool

    @property
    def pending(self) -> tuple[tuple[str, str], ...]:
        """The kinds of pending result with the letters of the factors that leave it."""
        found: dict[str, list[str]] = {}
        for role in self.roles:
            if role.reduction:
                found.setdefault(role.reduction, []).append(role.letter)
        return tuple((kind, ",".join(letters)) for kind, letters in found.items())


def form_of(evaluation: Evaluation, op: Op) -> Form:
    """The rule of an op of the evaluated program."""
    ports = _Ports.of(evaluation, op)
    letters = ports.letters()
    sides = [
        ",".join(f"({','.join(ports.dim(port, dim, letters) for dim in range(rank))})" for port, rank in side)
        for side in (ports.operands, ports.results)
    ]
    return Form(
        "->".join(sides),
        tuple(ports.roles(letters)),
        tuple(_linearity(evaluation, op, port) for port, _ in ports.operands),
        bool(evaluation.rows("shape_keeping", op.id)),
    )


@dataclass(frozen=True, slots=True)
class _Ports:
    """The ports of an op with their ranks, and what stands on each of their dims."""

    operands: tuple[tuple[str, int], ...]
    results: tuple[tuple[str, int], ...]
    factors: Mapping[tuple[str, int], tuple[int, ...]]
    whole: frozenset[tuple[str, int]]
    partial: frozenset[tuple[str, int]]
    single: frozenset[tuple[str, int]]
    reduced: Mapping[int, tuple[str, ...]]

    @staticmethod
    def of(evaluation: Evaluation, op: Op) -> _Ports:
        name = evaluation.facts.op_names[op.id]
        types = evaluation.program.type_of
        sides = [(operand_port, op.operands), (result_port, op.results)]
        operands, results = (
            tuple((port(name, pos), types(value).rank) for pos, value in enumerate(values))
            for port, values in sides
        )
        sizes = {
            (port(name, pos), dim): size
            for port, values in sides
            for pos, value in enumerate(values)
            for dim, size in enumerate(types(value).shape)
        }
        placed: dict[tuple[str, int], list[tuple[int, int]]] = {}
        held: dict[tuple[str, int], int] = {}
        for _, port, dim, factor in evaluation.rows("factor", op.id):
            placed.setdefault((str(port), int(dim)), []).append((0, int(factor)))
        for _, port, dim, factor, major, size in evaluation.rows("factor_within", op.id):
            place = (str(port), int(dim))
            placed.setdefault(place, []).append((int(major), int(factor)))
            held[place] = held.get(place, 1) * int(size)
        reduced: dict[int, list[str]] = {}
        for _, factor, reduction in evaluation.rows("factor_reduced", op.id):
            reduced.setdefault(int(factor), []).append(str(reduction))
        return _Ports(
            operands,
            results,
            {place: tuple(factor for _, factor in sorted(found)) for place, found in placed.items()},
            frozenset((str(port), int(dim)) for _, port, dim in evaluation.rows("dim_whole", op.id)),
            frozenset(place for place, size in held.items() if size < sizes[place]),
            frozenset(place for place, size in sizes.items() if size == 1),
            {factor: tuple(kinds) for factor, kinds in reduced.items()},
        )

    def letters(self) -> dict[int, str]:
        """A letter for each factor, in the order of operands, results and dims."""
        names = _names()
        found: dict[int, str] = {}
        for port, rank in (*self.operands, *self.results):
            for dim in range(rank):
                for factor in self.factors.get((port, dim), ()):
                    if factor not in found:
                        found[factor] = next(names)
        return found

    def dim(self, port: str, dim: int, letters: Mapping[int, str]) -> str:
        """What stands for one dim: letters major to minor, and `_` where what they leave over stays whole."""
        place = (port, dim)
        found = "·".join(letters[factor] for factor in self.factors.get(place, ()))
        if place in self.whole or place in self.partial:
            return "·".join(filter(None, (found, WHOLE)))
        return found or (SINGLE if place in self.single else UNRULED)

    def roles(self, letters: Mapping[int, str]) -> Iterator[Role]:
        """The role of each factor that has a letter; a reduced one that the results keep is parallel too."""
        for factor, letter in letters.items():
            brought, kept = (
                any(factor in self.factors.get((port, dim), ()) for port, rank in side for dim in range(rank))
                for side in (self.operands, self.results)
            )
            if kept:
                yield Role(letter, "parallel" if brought else "free")
            for kind in self.reduced.get(factor, ()):
                yield Role(letter, "reduced", kind)
            if not kept and factor not in self.reduced:
                yield Role(letter, "shared")


def _names() -> Iterator[str]:
    for number in count():
        turn, index = divmod(number, len(_LETTERS))
        yield f"{_LETTERS[index]}{turn}" if turn else _LETTERS[index]


def _linearity(evaluation: Evaluation, op: Op, port: str) -> Linearity:
    def kinds(relation: str) -> tuple[str, ...]:
        return tuple(
            str(kind) for _, place, kind in sorted(evaluation.rows(relation, op.id)) if place == port
        )

    once = any(place == port for _, place in evaluation.rows("counted_once", op.id))
    return Linearity(kinds("linear_alone"), kinds("linear_together"), once)
