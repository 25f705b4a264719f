"""Everything that findings are made from: the program, what the rules derived of it, and proofs on demand."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from kina.diagnose.words import OpWords
from kina.diagnostics.finding import ProofStep
from kina.facts.axes import axes_word
from kina.facts.names import encode
from kina.frontend.ir import Annotation, Op, Program, Value
from kina.source import TEXT

Fact = tuple[str | int, ...]
Relations = Mapping[str, Sequence[Fact]]

#: Ops from which on a program is large: what takes a search or a run of its own is then done by less, or not.
LARGE = 2000

#: The relations that findings are made from.
OUTPUTS = (
    "conflict",
    "contested_at",
    "uses_differ",
    "stopped_by_annotation",
    "stopped_by_size",
    "demand_unmet",
    "unruled",
    "role_clash",
    "dim_misplaced",
    "attribute_unsettled",
    "gathered_to_reshape",
    "gathered_to_move",
    "gathered_whole",
)


@dataclass(frozen=True)
class Case:
    """One solved program.

    `prove` gives the proof of a tuple of any relation, leaves last, and `outline` one that may leave out how
    ops connect. `leaves` are the facts that any proof of the tuple can rest on, but by hidden relations.
    """

    program: Program
    relations: Relations
    prove: Callable[[str, Fact], tuple[ProofStep, ...]] = field(repr=False)
    hidden: Callable[[str], bool] = field(repr=False)
    outline: Callable[[str, Fact], tuple[ProofStep, ...]] | None = field(default=None, repr=False)
    leaves: Callable[[str, Fact], frozenset[tuple[str, Fact]]] | None = field(default=None, repr=False)

    @cached_property
    def values(self) -> dict[str, Value]:
        return {encode(value.name): value for value in self.program.values}

    @cached_property
    def producers(self) -> dict[int, Op]:
        """The op that makes each value that is no parameter."""
        return {value: op for op in self.program.ops for value in op.results}

    @cached_property
    def axes(self) -> dict[str, str]:
        return {encode(axis.name): axis.name for axis in self.program.mesh.axes}

    @cached_property
    def _words(self) -> OpWords:
        return OpWords(self.program)

    def op_words(self, op: Op) -> str:
        """An op as a message names it."""
        return self._words.of(op)

    def rows(self, relation: str) -> Sequence[Fact]:
        return self.relations.get(relation, ())

    def value(self, name: str | int) -> Value:
        return self.values[str(name)]

    def axis_list(self, word: str | int) -> tuple[str, ...]:
        return tuple(self.axes[axis] for axis in str(word).split(","))

    def command(self, target: str, negated: bool = False) -> str:
        """The command that asks about a tensor, dim and axis of the program, as a shell reads it.

        A program that was given as text has no file to name: for it the call from Python.
        """
        file = (self.program.span or self.program.values[0].span).file
        if file == TEXT:
            option = ", negated=True" if negated else ""
            return f"result.why({json.dumps(target, ensure_ascii=False)}{option})"
        return f"kina why {shlex.quote(file)} {shlex.quote(target)}{' --not' if negated else ''}"

    def short(self, value: Value) -> str:
        """The name of a value as a message says it: without the entry's own name before it."""
        prefix = self.program.entry + "."
        return value.name.removeprefix(prefix)

    @cached_property
    def _notes(self) -> dict[tuple[str, int, str], Annotation]:
        sizes = {axis.name: axis.size for axis in self.program.mesh.axes}
        return {
            (
                encode(self.program.values[note.value].name),
                note.dim or 0,
                axes_word(tuple(axis for axis in note.axes if sizes[axis] > 1)),
            ): note
            for note in self.program.annotations
            if note.kind == "sharded"
        }

    def annotation(self, step: ProofStep) -> Annotation | None:
        """The user's annotation that a leaf of a proof stands for."""
        if step.relation == "given_sharded":
            name, dim, word, _ = step.columns
            return self._notes.get((str(name), int(dim), str(word)))
        if step.relation not in ("given_fixed", "given_replicated", "given_pending"):
            return None
        value = self.value(step.columns[0]).id
        kinds = {
            "given_fixed": ("closed", "sharded"),
            "given_replicated": ("replicated",),
            "given_pending": ("pending",),
        }[step.relation]
        return next((n for n in self.program.annotations if n.value == value and n.kind in kinds), None)

    def proof(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """Why a tuple holds, its leaves placed where the user wrote the annotations.

        Tuples of hidden relations, which narrow rules and explain nothing, are left out with all that
        only they rest on.
        """
        return self._telling(self.prove(relation, fact))

    def _telling(self, proof: Sequence[ProofStep]) -> tuple[ProofStep, ...]:
        steps = [self.placed(step) for step in proof]
        return _renumbered(steps, 0, lambda step: step.id != 0 and self.hidden(step.relation))

    def sketch(self, relation: str, fact: Fact) -> tuple[ProofStep, ...]:
        """The same, perhaps without the steps that say how ops connect."""
        return self._telling((self.outline or self.prove)(relation, fact))

    def supporters(self, relation: str, fact: Fact) -> tuple[Annotation, ...]:
        """Every split by the user that some proof of a tuple rests on, in the order of the program."""
        assert self.leaves is not None
        rows = [row for name, row in self.leaves(relation, fact) if name == "given_sharded"]
        found = {id(self._notes.get((str(row[0]), int(row[1]), str(row[2])))) for row in rows}
        return tuple(note for note in self.program.annotations if id(note) in found)

    def placed(self, step: ProofStep) -> ProofStep:
        note = self.annotation(step) if not step.premises else None
        return replace(step, given_at=note.span) if note is not None else step

    def origins(self, proof: Sequence[ProofStep]) -> tuple[Annotation, ...]:
        """The splits by the user that a proof rests on, in the order of the program."""
        found = [note for step in proof if not step.premises and (note := self.annotation(step)) is not None]
        splits = [note for note in found if note.kind == "sharded"]
        order = {id(note): number for number, note in enumerate(self.program.annotations)}
        return tuple(sorted({id(note): note for note in splits}.values(), key=lambda note: order[id(note)]))


def _renumbered(
    steps: Sequence[ProofStep], root: int, drop: Callable[[ProofStep], bool]
) -> tuple[ProofStep, ...]:
    """The steps that `root` rests on without those to drop, numbered anew in their order."""
    reached = {root}
    queue = [root]
    for number in queue:
        for premise in steps[number].premises:
            if premise not in reached and not drop(steps[premise]):
                reached.add(premise)
                queue.append(premise)
    numbers = {old: new for new, old in enumerate(sorted(reached))}
    return tuple(
        replace(step, id=numbers[step.id], premises=tuple(numbers[p] for p in step.premises if p in numbers))
        for step in steps
        if step.id in numbers
    )


def subproof(steps: Sequence[ProofStep], root: int) -> tuple[ProofStep, ...]:
    """The proof of one step of a proof, that step first."""
    order = [root]
    seen = {root}
    for number in order:
        fresh = [premise for premise in steps[number].premises if premise not in seen]
        seen.update(fresh)
        order += dict.fromkeys(fresh)
    numbers = {old: new for new, old in enumerate(order)}
    return tuple(
        replace(steps[old], id=new, premises=tuple(numbers[premise] for premise in steps[old].premises))
        for old, new in numbers.items()
    )


def distinct(facts: Iterable[Fact], told: Callable[[Fact], object]) -> Iterator[Fact]:
    """Of facts that are told alike, as in repeated layers, the first: what is told is a key.

    They are set apart before anything is proved or tried, which takes long.
    """
    seen = set()
    for fact in facts:
        key = told(fact)
        if key not in seen:
            seen.add(key)
            yield fact


def axis_words(axes: Sequence[str]) -> str:
    """Axes as a message says them: `a`, or (`a`, `b`)."""
    if len(axes) == 1:
        return f"`{axes[0]}`"
    return "(" + ", ".join(f"`{axis}`" for axis in axes) + ")"


def plural(count: int, word: str) -> str:
    """The count and the word in singular or plural."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"
