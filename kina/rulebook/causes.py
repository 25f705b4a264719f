"""Which changed clause made that something is derived, or is not any more: read off proofs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kina.datalog.proofs import Prover
from kina.datalog.rules import Rulebook, needed
from kina.datalog.tables import Row
from kina.diagnostics.finding import ProofStep
from kina.rulebook.changes import RuleChange
from kina.rulebook.delta import Delta

Tuple = tuple[str, Row]


class Reasons:
    """Proofs in one rule base, searched for the clauses that the other has not."""

    def __init__(
        self,
        rulebook: Rulebook,
        rows: Mapping[str, Collection[Row]],
        changes: Sequence[RuleChange],
        effect: Delta,
        is_base: bool,
    ) -> None:
        self._rulebook = rulebook
        self._prover = Prover(rulebook, rows)
        self._changes = changes
        self._effect = effect
        places = {change.base_at if is_base else change.head_at: change.name for change in changes}
        self._at = {place: name for place, name in places.items() if place}
        self._below: dict[str, frozenset[str]] = {}

    def of(self, tuples: Iterable[Tuple]) -> tuple[str, ...]:
        """The changed rules that proofs of the tuples use, or that decide what such a proof finds absent."""
        found: dict[str, None] = {}
        for relation, row in tuples:
            for step in self._prover.prove(relation, row):
                found.update(dict.fromkeys(self._in(step)))
        return tuple(found)

    def _in(self, step: ProofStep) -> Iterable[str]:
        if step.rule_at in self._at:
            return (self._at[step.rule_at],)
        name = step.relation.removeprefix("!")
        if name == step.relation or name not in self._rulebook.relations:
            return ()
        if name not in self._below:
            self._below[name] = needed(self._rulebook, {name})
        declared = {self._rulebook.relations[each].declared for each in self._below[name]}
        return [
            change.name
            for change in self._changes
            if change.relation in declared and change.name in self._effect.rules
        ]
