"""Rules and ops from outside Kina: files that the user names, a folder beside the program, packages."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path

from kina.datalog.added import AddedFile, read_added
from kina.diagnostics.finding import SetupError
from kina.paths import rules_path
from kina.source import Source

#: Rule files near a program that are looked at for an op, and bytes of a file that declares it, at most.
_MOST_NEAR, _LARGEST_NEAR = 200, 1_000_000
#: The entry points by which an installed package names a folder of rules.
GROUP = "kina.rules"


@dataclass(frozen=True, slots=True)
class Additions:
    """What is added to a program: rule files, and the Kina files that declare their ops."""

    rules: tuple[AddedFile, ...] = ()
    sources: tuple[Source, ...] = ()


def additions(program: str, given: Sequence[str]) -> Additions:
    """What belongs to the program in the file `program`, "" for none, beside itself.

    That is the rule files in `given`, those in the folder `rules` next to it, and those of packages.

    A file `ops.kina` beside a rule file `ops.dl` belongs to it. SetupError if a file or a package cannot be
    read, ProgramError if one is not text.
    """
    paths = [*_packaged(), *_beside(program), *(path for each in given for path in _expanded(each))]
    if not paths:
        return Additions()
    from kina.frontend.reader import load

    rules = read_added(paths, [file.name for file in rules_path().glob("*.dl")])
    declared = dict.fromkeys(_declaring(path) for path in paths)
    return Additions(rules, tuple(load(path) for path in declared if path))


def _declaring(path: str) -> str:
    """The Kina file that declares the ops of a rule file, "" if there is none."""
    beside = Path(path).with_suffix(".kina")
    return str(beside) if beside.is_file() else ""


def _expanded(path: str) -> Iterator[str]:
    """A rule file, or those of a folder in the order of their names."""
    if not path:
        raise SetupError("`--rules` is empty", "it names a rule file or a folder of such files")
    if not Path(path).is_dir():
        if not path.endswith(".dl"):
            raise SetupError(
                f"`{path}` is no rule file", "rule files end in `.dl`; a folder stands for its own"
            )
        yield path
        return
    found = _rule_files(Path(path))
    if not found:
        raise SetupError(f"the folder `{path}` holds no rule file", "rule files end in `.dl`")
    yield from found


def _rule_files(folder: Path) -> list[str]:
    return sorted(str(file) for file in folder.glob("*.dl") if file.is_file())


def _beside(program: str) -> list[str]:
    """The rule files in the folder `rules` next to a program; a rule base of its own is none of them."""
    if not Path(program).is_file():
        # A text that has a name and no file has no folder.
        return []
    folder = Path(program).parent / "rules"
    try:
        own = os.path.realpath(folder) == str(rules_path())
        if own or not folder.is_dir() or (folder / "base.dl").is_file():
            return []
        return _rule_files(folder)
    except OSError as fault:
        said = (fault.strerror or str(fault)).lower()
        raise SetupError(f"the folder `{folder}` cannot be read: {said}") from None


def bringing(program: str, op: str) -> str:
    """A rule file near a program beside which a Kina file declares the op, "" if there is none.

    It is looked for in the folder of the program and in those inside it; what cannot be read is passed over.
    """
    folder = Path(program).parent
    if not Path(program).is_file():
        return ""
    declares = re.compile(rf"\(\s*defop\s+{re.escape(op)}[\s()]")
    found = (file for pattern in ("*.dl", "*/*.dl") for file in sorted(folder.glob(pattern)))
    for file in islice(found, _MOST_NEAR):
        if declares.search(_text_of(file.with_suffix(".kina"))):
            return str(file)
    return ""


def _text_of(file: Path) -> str:
    """The text of a small file, "" where it cannot be read."""
    try:
        if not file.is_file() or file.stat().st_size > _LARGEST_NEAR:
            return ""
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


@cache
def _packaged() -> tuple[str, ...]:
    """The rule files of installed packages, by the names of their entry points."""
    if not any(_mentions(Path(place)) for place in sys.path):
        return ()
    from importlib.metadata import entry_points

    found: list[str] = []
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        found += _package_files(entry.name, entry.module)
    return tuple(found)


def _mentions(place: Path) -> bool:
    """Whether a package in a folder of `sys.path` names entry points of the group.

    Importing the module that answers this would take a good part of the time of a check.
    """
    try:
        infos = [each / "entry_points.txt" for each in place.iterdir() if each.name.endswith("-info")]
        return any(f"[{GROUP}]".encode() in info.read_bytes() for info in infos if info.is_file())
    except OSError:
        return False


def _package_files(name: str, module: str) -> list[str]:
    """The rule files in the folder of a package, found without running its code."""
    folder = _folder(module)
    found = _rule_files(folder) if folder is not None else []
    if not found:
        what = f"the entry point `{name}` of `{GROUP}` names `{module}`"
        raise SetupError(f"{what}, which is no folder of an installed package that holds rule files")
    return found


def _folder(module: str) -> Path | None:
    """The folder of a package: that of its first part, found without being imported, and the rest."""
    from importlib.machinery import PathFinder

    first, *rest = module.split(".")
    spec = PathFinder.find_spec(first)
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    return next((Path(place, *rest) for place in places if Path(place, *rest).is_dir()), None)
