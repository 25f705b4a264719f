"""The page of a rule, put together from its comments: `kina explain RULE`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kina.datalog.syntax import (
    Atom,
    Clause,
    Component,
    Declaration,
    Negation,
    RuleFile,
    aggregates,
    metadata_text,
)
from kina.datalog.trees import parse
from kina.facts.entry import entry_text
from kina.paths import rules_path
from kina.source import Source


@dataclass(frozen=True, slots=True)
class _Named:
    clause: Clause
    file: str

    @property
    def name(self) -> str:
        return metadata_text(self.clause.metadata, "rule") or ""


def rule_names(added: Sequence[Source] = ()) -> tuple[str, ...]:
    """The names of all rules, those of `added` files too, in the order of files and clauses."""
    return tuple(dict.fromkeys(named.name for named in _rules(_files(added=added))))


def rule_page(name: str, of: Sequence[RuleFile] | None = None, added: Sequence[Source] = ()) -> str | None:
    """What the rule base, or an `added` file, says of the rule `name`: its reason, its text, its relations.

    `of` are the files of another rule base than Kina's own. None if there is no such rule. ProgramError if an
    added file is none.
    """
    files = _files(of, added)
    found = [named for named in _rules(files) if named.name == name]
    if not found:
        return None
    documents = {declared.name: declared.doc for file in files for declared in _declarations(file)}
    out = [f"# {name}", ""]
    said: list[str] = []
    for named in found:
        above = _above(named.clause)
        out += above if above != said else []
        out += [f"{named.file}:{named.clause.span.line}", "", "```prolog", _dedented(named.clause), "```", ""]
        said = above
    # those of a level are documented once for all levels
    used = dict.fromkeys(name.rpartition(".")[2] for named in found for name in _relations(named.clause))
    out += ["## Relations", ""]
    out += [f"- `{relation}`: {_meaning(documents.get(relation, ''))}" for relation in used]
    return "\n".join(out) + "\n"


def _files(of: Sequence[RuleFile] | None = None, added: Sequence[Source] = ()) -> list[RuleFile]:
    """The rule files, the added ones, and an entry file with the rules that link the levels of a program."""
    files = of or [
        parse(Source(f"rules/{file.name}", file.read_text(encoding="utf-8")))
        for file in sorted(rules_path().glob("*.dl"))
    ]
    entry = Source("main.dl", entry_text((0, 1), True))
    return [*files, *(parse(source) for source in (entry, *added))]


def _rules(files: list[RuleFile]) -> Iterator[_Named]:
    for file in files:
        for item in file.items:
            inside = item.items if isinstance(item, Component) else (item,)
            for part in inside:
                if isinstance(part, Clause) and metadata_text(part.metadata, "rule"):
                    yield _Named(part, file.source.name)


def _declarations(file: RuleFile) -> Iterator[Declaration]:
    for item in file.items:
        inside = item.items if isinstance(item, Component) else (item,)
        yield from (part for part in inside if isinstance(part, Declaration))


def _above(clause: Clause) -> list[str]:
    """What is said of a clause above its text."""
    code = metadata_text(clause.metadata, "code")
    hidden = metadata_text(clause.metadata, "hide") is not None
    out = [clause.doc.strip(), ""] if clause.doc else []
    if code:
        out += [f"It objects with {code}: `kina explain {code}` says more.", ""]
    if hidden:
        out += ["Short proofs leave this step out.", ""]
    return out


def _dedented(clause: Clause) -> str:
    """The text of a clause without the indentation that a component gives it."""
    indent = clause.span.column - 1
    first, *rest = clause.span.text.split("\n")
    return "\n".join([first, *(line[indent:] if not line[:indent].strip() else line for line in rest)])


def _relations(clause: Clause) -> Iterator[str]:
    """The relations of a clause, head first."""
    yield clause.head.relation
    for premise in clause.body:
        match premise:
            case Atom(relation=name) | Negation(atom=Atom(relation=name)):
                yield name
            case _:
                for aggregate in aggregates(premise):
                    yield from (part.relation for part in aggregate.body if isinstance(part, Atom))


def _meaning(doc: str) -> str:
    """A declaration's comment in one line, without its example."""
    return " ".join(doc.partition("\nExample:")[0].split()) or "not documented"
