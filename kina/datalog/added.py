"""Rule files that are added to the rule base: their texts, and those of the files that they include."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kina.diagnostics.finding import Finding, ProgramError, SetupError, error
from kina.source import Source, Span

#: Bytes of an added rule file, at most; a rule base of fifty files has a fifth of it.
SIZE_LIMIT = 1_000_000
#: Added files and those that they include, at most.
FILE_LIMIT = 200

_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"[^"\\\n\r\t]*"|\.include\b|[^\s]', re.S)
_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class AddedFile:
    """A rule file beside the rule base. `name` is what the entry file includes, `real` the path that it has.

    `alone` is its text without the includes of other added files, which the entry file includes before it.
    """

    name: str
    real: str
    source: Source
    alone: str = field(repr=False)


def read_added(paths: Sequence[str], taken: Collection[str]) -> tuple[AddedFile, ...]:
    """The rule files at `paths` and all of their folders that they include, each after those it includes.

    `taken` are names that files of the rule base have. SetupError if one of `paths` cannot be opened,
    ProgramError K801 if one is not text.
    """
    found: dict[str, tuple[Source, str]] = {}
    for path in paths:
        _visit(path, found)
    names = _names(list(found), taken)
    return tuple(AddedFile(names[real], real, *texts) for real, texts in found.items())


def _visit(path: str, found: dict[str, tuple[Source, str]]) -> None:
    """Puts a file and what it includes, first, into `found` by their real paths."""
    start = Path(os.path.realpath(path))
    if str(start) in found:
        return
    open_files = {str(start): _open(path, start)}
    stack = [(start, iter(_local(open_files[str(start)], start)))]
    while stack:
        real, remaining = stack[-1]
        inner = next(remaining, None)
        if inner is None:
            stack.pop()
            source = open_files[str(real)]
            found[str(real)] = (source, _alone(source, real))
            continue
        target, written = inner
        if str(target) in found or str(target) in open_files:
            continue
        if len(open_files) + len(found) >= FILE_LIMIT:
            raise ProgramError(error("K804", f"`{path}` includes more than {FILE_LIMIT} files", None))
        shown = Path(open_files[str(real)].name).parent / written
        open_files[str(target)] = _open(shown.as_posix(), target)
        stack.append((target, iter(_local(open_files[str(target)], target))))


def _open(shown: str, real: Path) -> Source:
    try:
        if real.exists() and not real.is_file():
            raise SetupError(f"`{shown}` is no file")
        if real.stat().st_size > SIZE_LIMIT:
            raise SetupError(f"`{shown}` is larger than a rule file can be: {SIZE_LIMIT:,} bytes")
        data = real.read_bytes()
    except OSError as fault:
        said = (fault.strerror or str(fault)).lower()
        raise SetupError(f"the rule file `{shown}` cannot be read: {said}") from None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        raise ProgramError(_not_text(shown, data, fault.start)) from None
    if "\0" in text:
        raise ProgramError(_not_text(shown, data, data.index(0)))
    return Source(shown, text.replace("\r\n", "\n"))


def _not_text(shown: str, data: bytes, offset: int) -> Finding:
    before = Source(shown, data[:offset].decode("utf-8", "replace"))
    end = len(before.text)
    return error(
        "K801", f"`{shown}` is not text in UTF-8: byte {offset} is not a character", Span(before, end, end)
    )


def includes(text: str) -> Iterator[tuple[str, int, int]]:
    """The paths of the include directives of a rule file, with the characters that each stands on."""
    begun = -1
    for token in _TOKEN.finditer(text):
        word = token.group()
        if word.startswith(("//", "/*")):
            continue
        if begun >= 0 and word.startswith('"') and len(word) > 1:
            yield word[1:-1], begun, token.end()
        begun = token.start() if word == ".include" else -1


def _local(source: Source, real: Path) -> list[tuple[Path, str]]:
    """The files of its folder that a file includes: as real paths, and as they are written."""
    found = []
    for path, _, _ in includes(source.text):
        target = _target(real, path)
        if target is not None:
            found.append((target, path))
    return found


def _target(real: Path, path: str) -> Path | None:
    """The real path of an include, None if no file of the folder is meant."""
    try:
        target = Path(os.path.realpath(real.parent / path))
        return target if target.is_file() and target.is_relative_to(real.parent) else None
    except (OSError, ValueError):
        return None


def _alone(source: Source, real: Path) -> str:
    """The text with blanks for the includes of its folder, so that every place stays where it is."""
    text = source.text
    for path, start, end in list(includes(text)):
        if _target(real, path) is not None:
            blank = "".join(char if char == "\n" else " " for char in text[start:end])
            text = text[:start] + blank + text[end:]
    return text


def _names(paths: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """A name for each file that no other file has, like its own and free of what a path may not hold."""
    used = {name.lower() for name in taken} | {"main.dl"}
    names: dict[str, str] = {}
    for path in paths:
        stem = _PLAIN.sub("_", Path(path).name.removesuffix(".dl")) or "rules"
        name, count = f"{stem}.dl", 1
        while name.lower() in used:
            count += 1
            name = f"{stem}-{count}.dl"
        used.add(name.lower())
        names[path] = name
    return names
