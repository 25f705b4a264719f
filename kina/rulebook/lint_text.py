"""What rule files have beside being right: names, sentences, pages, and a size that is read with ease."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import PurePath

from kina.datalog.syntax import Clause, Declaration, Metadata, RuleFile, metadata_text
from kina.diagnostics.finding import Finding, Label
from kina.rulebook.base import clauses, declarations, members
from kina.source import Span

#: Lines of a file, premises of a clause and columns of a relation that a reader keeps in mind.
MOST_LINES, MOST_PREMISES, MOST_COLUMNS = 299, 8, 6
_NAME = re.compile(r"[a-z0-9]+([-_][a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*")
_RELATION = re.compile(r"_?[a-z][a-z0-9]*(_[a-z0-9]+)*")
_HEADER = re.compile(r"(?:[ \t]*(?:\.[^\n]*)?\n)*((?://(?!/)[^\n]*(?:\n|$))+)")


def warning(code: str, message: str, span: Span | None, at: str = "", **parts: object) -> Finding:
    """A finding of severity "warning"."""
    return Finding(code, "warning", message, span, at, **parts)  # type: ignore[arg-type]


def lint_text(files: Sequence[RuleFile], codes: Collection[str]) -> Iterator[Finding]:
    """Every objection (K840 to K847) to how the files are written; `codes` are those that have a page."""
    yield from _names(files)
    for file in files:
        for clause in clauses(file):
            yield from _sentence(clause)
            yield from _code(clause, codes)
            yield from _clause_size(clause)
        for declaration in declarations(file):
            yield from _declaration(declaration)
        yield from _file_size(file)
        yield from _header(file)
    yield from _file_names(files)


def stem(file: RuleFile) -> str:
    """The name of a file without its folder and ending."""
    return PurePath(file.source.name).stem


def _names(files: Sequence[RuleFile]) -> Iterator[Finding]:
    first: dict[str, Span] = {}
    for file in files:
        for clause in clauses(file):
            given = _metadata(clause.metadata, "rule")
            if given is None:
                if clause.body:
                    where = f'write `@[rule = "{stem(file)}.what-it-does"]` above it'
                    yield warning(
                        "K840", f"a clause of `{clause.head.relation}` has no name", clause.head.span, where
                    )
                continue
            name = given.text
            if not _NAME.fullmatch(name):
                yield warning("K841", f"`{name}` is not of the form `{stem(file)}.what-it-does`", given.span)
            elif name.split(".")[0] != stem(file):
                message = f"`{name}` does not begin with the name of its file, `{stem(file)}`"
                yield warning("K841", message, given.span)
            if name in first:
                label = Label(first[name], "named so first")
                yield warning(
                    "K841", f"`{name}` is the name of another clause too", given.span, labels=(label,)
                )
            first.setdefault(name, given.span)


def _sentence(clause: Clause) -> Iterator[Finding]:
    name = metadata_text(clause.metadata, "rule")
    if clause.body and name and not clause.doc.strip():
        message = f"`{name}` has no sentence that says why it is so"
        yield warning("K842", message, clause.head.span, "`///` above the clause begins it")


def _code(clause: Clause, codes: Collection[str]) -> Iterator[Finding]:
    given = _metadata(clause.metadata, "code")
    if given is None:
        return
    if not re.fullmatch(r"K\d{3}", given.text):
        yield warning("K845", f"`{given.text}` is not K and three digits", given.span)
    elif given.text not in codes:
        yield warning("K845", f"`{given.text}` has no page", given.span)


def _clause_size(clause: Clause) -> Iterator[Finding]:
    if len(clause.body) > MOST_PREMISES:
        message = f"a clause has {len(clause.body)} premises, and {MOST_PREMISES} are read with ease"
        yield warning("K846", message, clause.head.span)
    lines = [premise.span.line for premise in clause.body]
    for premise, line in zip(clause.body, lines, strict=True):
        if lines.count(line) > 1:
            yield warning("K846", "two premises stand on one line", premise.span)
            return


def _declaration(declaration: Declaration) -> Iterator[Finding]:
    name, doc = declaration.name, declaration.doc
    if not doc.strip():
        yield warning("K843", f"the relation `{name}` is not documented", declaration.span)
    elif not doc.startswith("Holds if "):
        yield warning("K843", f"the comment of `{name}` does not begin with `Holds if`", declaration.span)
    for column in declaration.columns:
        if doc.strip() and f"`{column.name}`" not in doc:
            yield warning("K843", f"the comment of `{name}` does not name `{column.name}`", column.span)
    yield from _says(declaration)
    if len(declaration.columns) > MOST_COLUMNS:
        message = f"`{name}` has {len(declaration.columns)} columns, and {MOST_COLUMNS} are read with ease"
        yield warning("K846", message, declaration.span)
    if not _RELATION.fullmatch(name) or name.startswith(("not_", "no_")):
        form = "is of lower-case words with `_` between them and says what is the case, not what is not"
        yield warning("K841", f"the name of a relation {form}: `{name}`", declaration.span)


def _says(declaration: Declaration) -> Iterator[Finding]:
    given = _metadata(declaration.metadata, "says")
    columns = {column.name for column in declaration.columns}
    for name in re.findall(r"\{(\w*)\}", given.text) if given is not None else ():
        if name not in columns:
            assert given is not None
            message = f"`says` of `{declaration.name}` names `{name}`, which is no column"
            yield warning("K844", message, given.span)


def _file_size(file: RuleFile) -> Iterator[Finding]:
    lines = file.source.text.count("\n")
    if lines > MOST_LINES:
        message = f"the file has {lines} lines, and {MOST_LINES} are read with ease"
        yield warning("K846", message, line_span(file, MOST_LINES + 1))


def _header(file: RuleFile) -> Iterator[Finding]:
    """The `//` lines at the top say what the file claims, and name its codes."""
    match = _HEADER.match(file.source.text)
    if match is None:
        message = "the file does not begin with `//` lines that say what it claims"
        yield warning("K847", message, line_span(file, 1))
        return
    claimed = set(_codes_in(match[1].replace("\n//", "")))
    named = {metadata_text(clause.metadata, "code") for clause in clauses(file)} - {None}
    span = Span(file.source, match.start(1), match.end(1))
    for code in sorted(claimed - named):
        yield warning("K847", f"the file says that it has {code}, and no clause of it has", span)
    for code in sorted(str(each) for each in named - claimed):
        yield warning("K847", f"the file does not say that it has {code}", span)


def _codes_in(text: str) -> Iterator[str]:
    for low, high in re.findall(r"K(\d{3})(?:-K(\d{3}))?", text):
        yield from (f"K{code:03}" for code in range(int(low), int(high or low) + 1))


def _file_names(files: Iterable[RuleFile]) -> Iterator[Finding]:
    """Soufflé names places by the file's name alone."""
    first: dict[str, str] = {}
    for file in files:
        name = PurePath(file.source.name).name
        if name in first:
            yield warning("K841", f"`{first[name]}` has the same name", line_span(file, 1))
        first.setdefault(name, file.source.name)


def _metadata(metadata: Sequence[Metadata], key: str) -> Metadata | None:
    return next((entry for entry in metadata if entry.key == key), None)


def line_span(file: RuleFile, number: int) -> Span:
    """All of a line."""
    start = file.source.line_starts[min(number, len(file.source.line_starts)) - 1]
    return Span(file.source, start, start + len(file.source.line(number)))


def unused_codes(files: Sequence[RuleFile], codes: Collection[str]) -> tuple[str, ...]:
    """Codes of the families of rules, K2xx and K3xx, that no clause names."""
    named = {
        metadata_text(member.metadata, "code")
        for file in files
        for member in members(file)
        if isinstance(member, Clause)
    }
    return tuple(sorted(code for code in codes if code[:2] in {"K2", "K3"} and code not in named))
