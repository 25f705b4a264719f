"""What the rules derive from programs: every tuple of every relation, and which rules fire.

Values weigh their bytes here, where Kina scales weights so that the sums of large programs fit in 32 bits.
Where bytes do not fit they are scaled here too.
Programs with the same mesh axes and priorities are evaluated in one run, with the names of each set apart by
a number; a run for each would take minutes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kina.additions import Additions
from kina.datalog.engine import solve
from kina.datalog.joins import compile_body, instances, named_wildcards
from kina.datalog.rules import Relation, Rule, Rulebook
from kina.datalog.scope import Scope
from kina.datalog.tables import Row, Tables
from kina.diagnostics.finding import ProgramError
from kina.facts.dump import Facts, dump, value_weights
from kina.pipeline import Options, build
from kina.rulebook.base import RuleBase, own_rules
from kina.source import Source

#: What belongs to one program, and not to the mesh.
_OWN = frozenset({"Value", "Op", "Port"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """The rules of one program and all tuples, given and derived."""

    rulebook: Rulebook
    tables: Tables

    def fires(self, name: str) -> bool:
        """Whether a clause of the rule `name` derives anything."""
        return any(self._derives(rule) for rule in self.rulebook.rules if rule.name == name)

    def rows(self, relation: str) -> list[Row]:
        """The tuples of a relation by its ground name, in order."""
        assert relation in self.rulebook.relations, f"there is no relation `{relation}`"
        return self.tables.ordered(relation)

    def _derives(self, rule: Rule) -> bool:
        body = named_wildcards(rule.body)
        scope = Scope.of(rule.clause, body, self.tables)
        slots = list(scope.blank)
        for _ in instances(compile_body(body, frozenset(), scope), slots):
            row = scope.row(rule.head.arguments)(slots)
            assert self.tables.has(rule.head.relation, row), f"{rule.name} derives {row}, which is not there"
            return True
        return False


@dataclass(slots=True)
class Outcomes:
    """The outcomes of many programs under a rule base, found when the first of their kind is asked for."""

    base: RuleBase = field(default_factory=own_rules)
    solver: str = "clingo"
    facts: dict[str, Facts] = field(default_factory=dict)
    found: dict[str, Outcome] = field(default_factory=dict)

    def of(self, text: str, texts: Iterable[str] = ()) -> Outcome:
        """Everything that the rules derive from the program `text`; `texts` may be asked for too."""
        if text not in self.found:
            kind = _kind(self._facts(text))
            alike = [each for each in dict.fromkeys([text, *texts]) if self._is(each, kind)]
            try:
                solved = self._solved(kind[0], [self._facts(each) for each in alike])
            except _MixedError:
                alike = [text]
                solved = [self._alone(text)]
            self.found.update(zip(alike, solved, strict=True))
        return self.found[text]

    def _alone(self, text: str) -> Outcome:
        """What the rules derive from one program that is evaluated by itself."""
        return self.with_more(text, "", ())

    def with_more(self, text: str, rules: str, more: Iterable[tuple[str, Row]]) -> Outcome:
        """Everything that follows from the program `text`, `more` tuples of inputs and some more `rules`."""
        facts = self._facts(text)
        rulebook = self.base.with_entry(f"{facts.entry}\n{rules}", self.base.added).rulebook
        given = {name: [*rows] for name, rows in facts.given(rulebook.inputs).items()}
        for name, row in more:
            given[name].append(row)
        return Outcome(rulebook, Tables({**given, **self._derived(rulebook, given)}))

    def _is(self, text: str, kind: tuple[str, tuple[object, ...]]) -> bool:
        """Whether a program is of a kind; one with mistakes fails when it is asked for, and no other does."""
        try:
            return _kind(self._facts(text)) == kind
        except ProgramError:
            return False

    def _facts(self, text: str) -> Facts:
        if text not in self.facts:
            # No rules are looked for beside it: those of the rule base are its own.
            added = Additions(self.base.added, self.base.sources)
            program = build(Source("<stdin>", text), Options(), added=added)
            facts = dump(program)
            weights = [value.type.bytes for value in program.values]
            # The largest scaled weight is the largest that there may be.
            if max(weights, default=0) > max(value_weights(program), default=0):
                weights = [*value_weights(program)]
            rows: list[Row] = list(zip(facts.value_names, weights, strict=True))
            self.facts[text] = replace(facts, relations={**facts.relations, "value_weight": rows})
        return self.facts[text]

    def _solved(self, entry: str, programs: Sequence[Facts]) -> list[Outcome]:
        """The outcomes of programs of one kind."""
        rulebook = self.base.with_entry(entry, self.base.added).rulebook
        together: dict[str, dict[Row, None]] = {relation.name: {} for relation in rulebook.inputs}
        for number, facts in enumerate(programs):
            for name in together:
                rows, relation = facts.relations.get(name, []), rulebook.relations[name]
                together[name].update(dict.fromkeys(_numbered(relation, row, number) for row in rows))
        given = {name: list(rows) for name, rows in together.items()}
        parts: list[dict[str, list[Row]]] = [{} for _ in programs]
        everything: dict[str, Sequence[Row]] = {**given, **self._derived(rulebook, given)}
        for name, tuples in everything.items():
            for row in tuples:
                of, own = _apart(rulebook.relations[name], row)
                for part in parts if of is None else [parts[of]]:
                    part.setdefault(name, []).append(own)
        return [Outcome(rulebook, Tables(part)) for part in parts]

    def _derived(self, rulebook: Rulebook, given: Mapping[str, Sequence[Row]]) -> Mapping[str, Sequence[Row]]:
        """The tuples of all relations that are no inputs."""
        wanted = [name for name, relation in rulebook.relations.items() if not relation.is_input]
        return solve(self.solver, rulebook, given, wanted).relations


def _kind(facts: Facts) -> tuple[str, tuple[object, ...]]:
    """What programs of one run have in common: priorities, and the lists of mesh axes that can occur."""
    names = ("mesh_axis", "axes_single", "axes_extended", "axes_joined", "axes_parts")
    return facts.entry, tuple(tuple(sorted(facts.relations[name])) for name in names)


def _numbered(relation: Relation, row: Row, number: int) -> Row:
    columns = zip(relation.columns, row, strict=True)
    return tuple(f"{number} {value}" if column.type in _OWN else value for column, value in columns)


class _MixedError(Exception):
    """A tuple is about two programs: they cannot be evaluated in one run."""


def _apart(relation: Relation, row: Row) -> tuple[int | None, Row]:
    """The number of the program that a tuple is about, None for all, and the tuple in its names."""
    number: int | None = None
    own: list[str | int] = []
    for column, value in zip(relation.columns, row, strict=True):
        if column.type in _OWN:
            prefix, blank, name = str(value).partition(" ")
            if not blank or not prefix.isdecimal() or number not in (None, int(prefix)):
                raise _MixedError
            number, value = int(prefix), name
        own.append(value)
    return number, tuple(own)
