"""From an entry file to a checked `Rulebook`: includes, component instances, checks, strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kina.datalog.added import AddedFile
from kina.datalog.added_check import check_added, check_directives, check_ends
from kina.datalog.check import check
from kina.datalog.flatten import flatten
from kina.datalog.rules import Rulebook
from kina.datalog.stratify import stratify
from kina.datalog.syntax import Include, Once, RuleFile
from kina.datalog.trees import parse
from kina.diagnostics.finding import Finding, ProgramError, SetupError, error
from kina.source import Source, Span


def load_rules(entry: Path, search: Sequence[Path]) -> Rulebook:
    """The rules of the file `entry` and all that it includes, from its folder or the folders of `search`.

    Raises SetupError if `entry` cannot be opened, ProgramError (K8xx) for every fault in the files.
    """
    return _load(_opened(entry, search), entry.parent, search, entry.resolve())


def parse_file(path: Path, search: Sequence[Path]) -> RuleFile:
    """The syntax tree of one file, named in messages as it is where `search` is the rule path.

    Raises SetupError if it cannot be opened, ProgramError if it is not text or not in the language.
    """
    return parse(_opened(path, search))


def parse_text(text: str, name: str, search: Sequence[Path], added: Sequence[AddedFile] = ()) -> Rulebook:
    """The rules of a generated entry file, whose includes are `added` files or in the folders of `search`."""
    return _load(Source(name, text), None, search, None, added)


def _opened(path: Path, search: Sequence[Path]) -> Source:
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise SetupError(f"cannot read `{path}`: {fault.strerror or fault}") from None
    return Source(_shown(path, search), _decode(data, _shown(path, search), None))


def _load(
    source: Source,
    folder: Path | None,
    search: Sequence[Path],
    path: Path | None,
    added: Sequence[AddedFile] = (),
) -> Rulebook:
    loader = _Loader(tuple(search) if folder is None else (folder, *search), tuple(added))
    loader.add(source, folder, path)
    types, relations, rules = flatten(tuple(loader.files))
    own = [file.source for file in added]
    findings = check_directives(own, loader.files) or check(types, relations, rules)
    findings = findings or check_added(own, relations, rules)
    if findings:
        raise ProgramError(*findings)
    strata = stratify(relations, rules)
    if endless := check_ends(own, rules, strata):
        raise ProgramError(*endless)
    return Rulebook(
        entry=source,
        search=tuple(str(each) for each in search),
        files=tuple(file.source for file in loader.files),
        types=types,
        relations=relations,
        rules=rules,
        strata=strata,
        added=tuple(added),
    )


@dataclass(slots=True)
class _Loader:
    """Reads files depth first, each before the items that follow its include, as Soufflé does."""

    allowed: tuple[Path, ...]
    added: tuple[AddedFile, ...] = ()
    added_paths: frozenset[str] = field(init=False)
    files: list[RuleFile] = field(default_factory=list)
    once: set[Path] = field(default_factory=set)
    open_files: set[Path] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.added_paths = frozenset(file.real for file in self.added)

    def add(self, source: Source, folder: Path | None, path: Path | None) -> None:
        """Adds a file and its includes without recursion; an include chain may be as long as it likes."""
        stack = [_Frame(parse(source), folder, path)]
        self._enter(stack[0])
        while stack:
            frame = stack[-1]
            include = frame.next_include()
            if include is None:
                self.files.append(frame.file)
                if frame.path is not None:
                    self.open_files.discard(frame.path)
                stack.pop()
                continue
            extra = self._added(include, frame)
            if extra is not None:
                stack.append(_Frame(parse(extra.source), Path(extra.real).parent, Path(extra.real)))
                self._enter(stack[-1])
                continue
            found = self._find(include, frame.folder)
            if found in self.once or str(found) in self.added_paths:
                # An added file stands in the entry file, before those that include it.
                continue
            if found in self.open_files:
                raise ProgramError(error("K804", f"`{include.path}` includes itself", include.span))
            text = _read(found, include)
            shown = _shown(found, self.allowed)
            child = _Frame(parse(Source(shown, text)), found.parent, found)
            if not child.once and any(file.source.name == shown for file in self.files):
                raise ProgramError(
                    error(
                        "K804",
                        f"`{include.path}` is included twice and does not begin with `.once`",
                        include.span,
                    )
                )
            self._enter(child)
            stack.append(child)

    def _enter(self, frame: _Frame) -> None:
        if frame.path is None:
            return
        self.open_files.add(frame.path)
        if frame.once:
            self.once.add(frame.path)

    def _added(self, include: Include, frame: _Frame) -> AddedFile | None:
        """The added file that the entry file includes here."""
        if frame.folder is not None:
            return None
        return next((file for file in self.added if file.name == include.path), None)

    def _find(self, include: Include, folder: Path | None) -> Path:
        places = self.allowed if folder is None else (folder, *self.allowed)
        candidates = [place / include.path for place in places]
        existing = next((path for path in candidates if path.exists()), None)
        if existing is None:
            raise ProgramError(error("K804", f"there is no file `{include.path}`", include.span))
        real = existing.resolve()
        if not any(real.is_relative_to(place.resolve()) for place in places):
            raise ProgramError(
                error(
                    "K804",
                    f"`{include.path}` is outside the folder of this file and the rule path",
                    include.span,
                )
            )
        return real


@dataclass(slots=True)
class _Frame:
    """A file whose includes are being followed."""

    file: RuleFile
    folder: Path | None
    path: Path | None
    position: int = 0

    @property
    def once(self) -> bool:
        return any(isinstance(item, Once) for item in self.file.items)

    def next_include(self) -> Include | None:
        while self.position < len(self.file.items):
            item = self.file.items[self.position]
            self.position += 1
            if isinstance(item, Include):
                return item
        return None


def _read(path: Path, include: Include) -> str:
    try:
        data = path.read_bytes()
    except OSError as fault:
        message = f"cannot read `{include.path}`: {(fault.strerror or str(fault)).lower()}"
        raise ProgramError(error("K804", message, include.span)) from None
    return _decode(data, include.path, include.span)


def _decode(data: bytes, name: str, at: Span | None) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise ProgramError(_not_text(name, fault.start, at)) from None
    if "\0" in text:
        raise ProgramError(_not_text(name, text.index("\0"), at))
    return text


def _not_text(name: str, offset: int, at: Span | None) -> Finding:
    code = "K801" if at is None else "K804"
    return error(code, f"`{name}` is not text in UTF-8: byte {offset} is not a character", at)


def _shown(path: Path, search: Sequence[Path]) -> str:
    """The name of a file in messages: folder of the rule path and the way from there, else as the user
    wrote it.
    """
    real = path.resolve()
    holding = [place.resolve() for place in search if real.is_relative_to(place.resolve())]
    if not holding:
        return path.as_posix()
    folder = max(holding, key=lambda place: len(place.parts))
    return f"{folder.name.lstrip('_')}/{real.relative_to(folder).as_posix()}"
