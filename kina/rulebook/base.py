"""A rule base: the files of a folder in reading order, and the same rules as engines take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kina.datalog.added import AddedFile
from kina.datalog.compiled import Compiled, compile_text, compiled
from kina.datalog.modules import parse_file, parse_text
from kina.datalog.rules import Rulebook
from kina.datalog.syntax import Clause, Component, Declaration, Include, Once, RuleFile, metadata_text
from kina.datalog.trees import parse
from kina.diagnostics.finding import Finding, ProgramError
from kina.facts.entry import entry_text
from kina.frontend.ops import OPS, OpSpec
from kina.paths import rules_path
from kina.source import Source

if TYPE_CHECKING:
    from kina.frontend.body import Declarations

#: What the rules of an op may say; `sharding.dl` declares these, and every other rule reads them.
OP_RELATIONS = (
    "factor",
    "factor_within",
    "factor_reduced",
    "dim_whole",
    "shape_keeping",
    "linear_alone",
    "linear_together",
    "counted_once",
    "attribute_follows",
)
#: What an attribute does, by the relation that says so.
ATTRIBUTE_RELATIONS = {
    "attribute_guards": "guards",
    "attribute_localised": "localised",
    "attribute_indifferent": "does not matter",
}

#: A program, which there has to be for ops to be declared.
_STUB = "(mesh (x 2))\n(defn only_for_the_ops_of_rule_files ((a (tensor f32 [2]))) a)\n"


@dataclass(frozen=True)
class RuleBase:
    """The rule files of `folder`, which holds a `base.dl` that includes the others, and `added` ones.

    With a file `alone` these are its rules and those of the files that it includes, and no others.
    `beside` are the Kina files that belong to the added ones.
    """

    folder: Path
    alone: Source | None = None
    added: tuple[AddedFile, ...] = ()
    beside: tuple[Source, ...] = field(default=(), repr=False)

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """The Kina files that declare ops: those beside files of the folder, then those of added ones.

        SetupError if one cannot be opened, ProgramError if one is not text.
        """
        if self.alone is not None:
            return self.beside
        from kina.frontend.reader import load

        own = (file for file in sorted(self.folder.glob("*.kina")) if file.with_suffix(".dl").is_file())
        loaded = (load(str(file)) for file in own)
        named = (Source(f"{self.folder.name}/{Path(each.name).name}", each.text) for each in loaded)
        return (*named, *self.beside)

    @cached_property
    def declared(self) -> Declarations | None:
        """The ops that Kina files beside rule files declare, None if there is no such file.

        ProgramError if one declares ops wrongly.
        """
        if not self.sources:
            return None
        from kina.frontend.form import form
        from kina.frontend.reader import read

        beside = [read(source) for source in self.sources]
        return form(read(Source("ops.kina", _STUB)), beside=beside).declared

    @property
    def table(self) -> Mapping[str, OpSpec]:
        """The op table, with the declared ops."""
        return OPS if self.declared is None else self.declared.table

    @cached_property
    def compiled(self) -> Compiled:
        """The rules with the levels of one priority. ProgramError (K8xx) if a file is at fault."""
        if self.alone is not None:
            return compiled(parse_text(self.alone.text, self.alone.name, (self.folder,)))
        return self.with_entry(entry_text((0,), False, [file.name for file in self.added]), self.added)

    def with_entry(self, entry: str, added: tuple[AddedFile, ...] = ()) -> Compiled:
        """The rules with the levels and `added` files of the text of an entry file; a file alone has none."""
        if self.alone is not None:
            return self.compiled
        return compile_text(entry, "main.dl", (self.folder,), added)

    @property
    def rulebook(self) -> Rulebook:
        """The same rules with their syntax trees."""
        return self.compiled.rulebook

    @cached_property
    def files(self) -> tuple[RuleFile, ...]:
        """Every file in reading order, as `base.dl` includes them; one that it does not include comes last.

        ProgramError (K801 to K804), with all that is wrong, if one is no rule file.
        """
        if self.alone is not None:
            return (parse(self.alone),)
        parsed: dict[str, RuleFile] = {}
        faults: list[Finding] = []
        for path in sorted(self.folder.glob("*.dl")):
            try:
                parsed[path.name] = parse_file(path, (self.folder,))
            except ProgramError as problem:
                faults += problem.findings
        if faults:
            raise ProgramError(*faults)
        names = dict.fromkeys([*_reading_order(parsed, "base.dl"), *parsed])
        own = (parse(file.source) for file in self.added)
        return (*(parsed[name] for name in names if name in parsed), *own)


def _reading_order(parsed: Mapping[str, RuleFile], base: str) -> list[str]:
    """The files that `base` includes; a file of includes alone among them stands before those it names."""
    order: dict[str, None] = {}
    waiting = [base]
    while waiting:
        name = waiting.pop()
        if name in order or name not in parsed:
            continue
        order[name] = None
        items = parsed[name].items
        if name == base or all(isinstance(item, Include | Once) for item in items):
            waiting += [item.path for item in items if isinstance(item, Include)][::-1]
    return [name for name in order if name != base]


@cache
def own_rules() -> RuleBase:
    """The rule base that Kina decides by."""
    return RuleBase(rules_path())


def members(file: RuleFile) -> Iterator[Declaration | Clause]:
    """The declarations and clauses of a file, those of components too, in the order of the text."""
    for item in file.items:
        parts = item.items if isinstance(item, Component) else (item,)
        yield from (part for part in parts if isinstance(part, Declaration | Clause))


def clauses(file: RuleFile) -> Iterator[Clause]:
    """The clauses of a file, those of components too."""
    return (member for member in members(file) if isinstance(member, Clause))


def declarations(file: RuleFile) -> Iterator[Declaration]:
    """The declarations of relations of a file, those of components too."""
    return (member for member in members(file) if isinstance(member, Declaration))


def rule_name(clause: Clause) -> str:
    """The name of a clause's rule, empty if it has none."""
    return metadata_text(clause.metadata, "rule") or ""
