"""What a run of an engine needs of checked rules, kept between runs: most runs read no rule file's syntax."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from kina import __version__
from kina.datalog import cache as kept
from kina.datalog.fact import Facts
from kina.datalog.live import Live, RuleParts, kept_parts, live

if TYPE_CHECKING:
    from kina.datalog.added import AddedFile
    from kina.datalog.rules import Rulebook

Rules: TypeAlias = "Rulebook | Compiled"


class Column(NamedTuple):
    """The declared type of a column and what is underneath, "number" or "symbol"."""

    type: str
    base: str


class Table(NamedTuple):
    """A relation without its documentation."""

    name: str
    columns: tuple[Column, ...]
    is_input: bool
    is_output: bool
    hidden: bool


class Asp(NamedTuple):
    """Rules as an answer set program, one a line, in which `c0`, `c1`, ... stand for the `constants`.

    `lines` has the id of the rule that each line writes, -1 for none. `given` are relations that it
    reads and does not derive, besides the inputs.
    """

    text: str
    lines: tuple[int, ...]
    constants: tuple[str, ...]
    given: tuple[str, ...]

    def only(self, rules: Collection[int]) -> Asp:
        """The lines of these rules, and those of no rule."""
        chosen = {*rules, -1}
        texts = self.text.splitlines(keepends=True)
        kept = [(text, line) for text, line in zip(texts, self.lines, strict=True) if line in chosen]
        return self._replace(text="".join(text for text, _ in kept), lines=tuple(line for _, line in kept))


@dataclass(frozen=True)
class Compiled:
    """Checked rules as the engines take them.

    `entry` is the text of the entry file, and `search` its rule path; `added` are the files that it includes
    beside those. `key` is empty where nothing is kept, and `read` gives the rules with their syntax trees.
    """

    entry: str
    search: tuple[str, ...]
    tables: Mapping[str, Table]
    key: str = ""
    added: tuple[AddedFile, ...] = ()
    read: Callable[[], Rulebook] = field(kw_only=True, repr=False)

    @cached_property
    def rulebook(self) -> Rulebook:
        """The rules with their syntax trees, parsed now if they were not before."""
        return self.read()

    @property
    def inputs(self) -> tuple[Table, ...]:
        return tuple(table for table in self.tables.values() if table.is_input)

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(name for name, table in self.tables.items() if table.is_output)

    def asp(
        self, outputs: Collection[str], keys: Collection[str], given: Collection[str] = frozenset()
    ) -> Asp:
        """The rules that derive `outputs` from inputs and `given` relations, as clingo takes them.

        They are joined by `keys` (`clingo_order`).
        """
        key = self._key("asp", sorted(outputs), sorted(keys), sorted(given))
        found = _kept_asp(kept.read(key)) if key else None
        if found is not None:
            return found
        from kina.datalog.clingo_text import translate

        made = translate(self.rulebook, outputs, frozenset(keys), frozenset(given))
        if key:
            kept.write(key, made)
        return made

    @cached_property
    def parts(self) -> tuple[RuleParts, ...]:
        """The rules by their parts."""
        key = self._key("parts")
        found = kept_parts(kept.read(key)) if key else ()
        if found:
            return found
        from kina.datalog.souffle_text import write_parts

        made = write_parts(self.rulebook)
        if key:
            kept.write(key, made)
        return made

    def keep_parts(self) -> None:
        """See to it that the next run finds the parts, while the syntax trees are at hand."""
        _ = self.parts

    def live(self, facts: Facts) -> Live:
        """The rules that can fire on the facts."""
        return live(self.parts, {table.name: facts.get(table.name, ()) for table in self.inputs})

    def op_local(self, own: Collection[str]) -> frozenset[str]:
        """The relations that follow from single ops' facts in the input relations `own` (`local`)."""
        key = self._key("local", sorted(own))
        found = kept.read(key) if key else None
        if isinstance(found, list) and all(isinstance(name, str) for name in found):
            return frozenset(found)
        from kina.datalog.local import op_local

        made = op_local(self.rulebook, own)
        if key:
            kept.write(key, sorted(made))
        return made

    def _key(self, what: str, *parts: Sequence[str]) -> str:
        """Under which `what` is kept; empty where nothing is."""
        names = [name.encode() for part in parts for name in (*part, "")]
        return self.key and kept.digest([self.key.encode(), what.encode(), *names])


def compiled(rules: Rules) -> Compiled:
    """Rules that were parsed, as the engines take them."""
    if isinstance(rules, Compiled):
        return rules
    return Compiled(rules.entry.text, rules.search, _tables(rules), added=rules.added, read=lambda: rules)


@cache
def compile_text(
    text: str, name: str, search: tuple[Path, ...], added: tuple[AddedFile, ...] = ()
) -> Compiled:
    """The rules of a generated entry file, checked by `modules.parse_text` now or in an earlier run.

    Raises ProgramError (K8xx) for faults in the files.
    """

    def read() -> Rulebook:
        from kina.datalog.modules import parse_text

        return parse_text(text, name, search, added)

    key = _key(text, name, search, added)
    tables = _kept_tables(kept.read(key)) if key else {}
    if tables:
        return Compiled(text, tuple(map(str, search)), tables, key, added, read=read)
    rulebook = read()
    tables = _tables(rulebook)
    if key:
        kept.write(key, list(tables.values()))
    return Compiled(text, rulebook.search, tables, key, added, read=lambda: rulebook)


def _key(text: str, name: str, search: Sequence[Path], added: Sequence[AddedFile]) -> str:
    """Names all that the outcome depends on: the entry, every rule file within reach, and Kina itself.

    Where the files lie does not matter, but for the name of their folder, by which messages call them: the
    rules of a revision are copied anew for each comparison. Empty if one of the files cannot be read.
    """
    parts = [__version__.encode(), name.encode(), text.encode()]
    for file in added:
        # Names of files stand in messages, and come from the system as they are.
        words = (file.name, file.source.name, file.source.text)
        parts += [word.encode("utf-8", "surrogateescape") for word in words]
    try:
        for folder, pattern in ((Path(__file__).parent, "*.py"), *((each, "*.dl") for each in search)):
            parts.append(os.fsencode(folder.resolve().name))
            for path in sorted(folder.rglob(pattern)):
                parts += [os.fsencode(path.relative_to(folder)), path.read_bytes()]
    except OSError:
        return ""
    return kept.digest(parts)


def _tables(rulebook: Rulebook) -> dict[str, Table]:
    return {
        name: Table(
            name,
            tuple(Column(column.type, column.base) for column in relation.columns),
            relation.is_input,
            relation.is_output,
            relation.hidden,
        )
        for name, relation in rulebook.relations.items()
    }


def _kept_tables(data: Any) -> dict[str, Table]:
    """The tables as they were kept; none if it is something else that was kept."""
    try:
        return {
            name: Table(name, tuple(Column(*column) for column in columns), *flags)
            for name, columns, *flags in data or ()
        }
    except (TypeError, ValueError):
        return {}


def _kept_asp(data: Any) -> Asp | None:
    match data:
        case [str(text), list(lines), list(constants), list(given)]:
            numbers = tuple([line for line in lines if isinstance(line, int)])
            return Asp(text, numbers, tuple(map(str, constants)), tuple(map(str, given)))
    return None
