"""What rule files have beside being right: names, sentences, pages. A lint returns what it objects to."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path, PurePath

from kina.datalog.rules import Rulebook
from kina.datalog.souffle_engine import SouffleInstall
from kina.datalog.syntax import Clause, Component, Declaration, RuleFile, metadata_text
from kina.diagnostics.finding import SetupError

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.[a-z][a-z0-9]*(-[a-z0-9]+)*")
LONGEST = 300


def clauses(files: Iterable[RuleFile]) -> Iterator[Clause]:
    """All clauses, those of components too, each once."""
    for file in files:
        for item in file.items:
            parts = item.items if isinstance(item, Component) else (item,)
            yield from (part for part in parts if isinstance(part, Clause))


def declarations(files: Iterable[RuleFile]) -> Iterator[Declaration]:
    """All declarations of relations, those of components too, each once."""
    for file in files:
        for item in file.items:
            parts = item.items if isinstance(item, Component) else (item,)
            yield from (part for part in parts if isinstance(part, Declaration))


def lint_files(files: Sequence[RuleFile], codes: Collection[str]) -> tuple[str, ...]:
    """Every objection to the files; `codes` are the error codes that have a page."""
    found = [*_lint_names(files), *_lint_declarations(files), *_lint_codes(files, codes), *_lint_sizes(files)]
    return tuple(found)


def _lint_names(files: Sequence[RuleFile]) -> Iterator[str]:
    first: dict[str, Clause] = {}
    for clause in clauses(files):
        name = metadata_text(clause.metadata, "rule")
        if name is None:
            if clause.body:
                yield f"{clause.span}: a clause has no `@[rule]`"
            continue
        stem = PurePath(clause.span.file).stem
        if not _NAME.fullmatch(name):
            yield f"{clause.span}: `{name}` is not `file.what-it-does` in kebab-case"
        elif name.split(".")[0] != stem:
            yield f"{clause.span}: `{name}` does not begin with the name of its file, `{stem}`"
        if name in first:
            yield f"{clause.span}: `{name}` is the name of {first[name].span} too"
        first.setdefault(name, clause)
        if clause.body and not clause.doc:
            yield f"{clause.span}: `{name}` has no sentence"


def _lint_declarations(files: Sequence[RuleFile]) -> Iterator[str]:
    for declaration in declarations(files):
        if not declaration.doc.startswith("Holds if "):
            yield f"{declaration.span}: the comment of `{declaration.name}` does not begin with `Holds if`"
        columns = {column.name for column in declaration.columns}
        for column in declaration.columns:
            if f"`{column.name}`" not in declaration.doc:
                yield f"{declaration.span}: the comment of `{declaration.name}` does not name `{column.name}`"
        says = metadata_text(declaration.metadata, "says")
        for name in re.findall(r"\{(\w*)\}", says or ""):
            if name not in columns:
                yield f"{declaration.span}: `says` of `{declaration.name}` names `{name}`, which is no column"


def _lint_codes(files: Sequence[RuleFile], codes: Collection[str]) -> Iterator[str]:
    for clause in clauses(files):
        code = metadata_text(clause.metadata, "code")
        if code is not None and not re.fullmatch(r"K\d{3}", code):
            yield f"{clause.span}: `{code}` is not K and three digits"
        elif code is not None and code not in codes:
            yield f"{clause.span}: `{code}` has no page"


def _lint_sizes(files: Sequence[RuleFile]) -> Iterator[str]:
    names: dict[str, str] = {}
    for file in files:
        lines = file.source.text.count("\n")
        if lines >= LONGEST:
            yield f"{file.source.name}: {lines} lines, and fewer than {LONGEST} are read with ease"
        name = PurePath(file.source.name).name
        if name in names:
            yield f"{file.source.name}: {names[name]} has the same name"
        names[name] = file.source.name


def unused_codes(files: Sequence[RuleFile], codes: Collection[str]) -> tuple[str, ...]:
    """Codes of the families of rules, K2xx and K3xx, that no clause names."""
    named = {metadata_text(clause.metadata, "code") for clause in clauses(files)}
    return tuple(sorted(code for code in codes if code[:2] in {"K2", "K3"} and code not in named))


def lost_rules(install: SouffleInstall, rulebook: Rulebook) -> tuple[str, ...]:
    """Names of rules that are not in the program that Soufflé compiles: merged with another, or dead."""
    names = {rule.name for rule in rulebook.rules if rule.name and rule.body}
    with tempfile.TemporaryDirectory(prefix="kina-") as folder:
        entry = Path(folder) / "main.dl"
        outputs = "".join(
            f".output {name}\n" for name, each in rulebook.relations.items() if not each.is_output
        )
        entry.write_text(f"{rulebook.entry.text}\n{outputs}", encoding="utf-8")
        command = [install.path, "--no-preprocessor", "-w", "-t", "none", "--show=transformed-ast"]
        for place in rulebook.search:
            command += ["-I", str(Path(place).resolve())]
        done = subprocess.run(
            [*command, str(entry)],
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=120,
            cwd=folder,
        )
    if done.returncode:
        raise SetupError(f"Soufflé does not compile the rules: {done.stderr[:300]}")
    compiled = set(re.findall(r'rule = "([^"]+)"', done.stdout))
    return tuple(sorted(names - compiled))
