"""The two rule bases of a comparison: folders, or what a git revision has of one. Nothing of them is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from kina.diagnostics.finding import SetupError
from kina.paths import is_file
from kina.source import Source

if TYPE_CHECKING:
    from kina.rulebook.base import RuleBase

#: What makes a folder a rule base.
BASE_FILE = "base.dl"
#: Seconds that git may take, and bytes and files of a rule base at most.
_PATIENCE, _MOST_BYTES, _MOST_FILES = 60, 20_000_000, 2_000


@dataclass(frozen=True, slots=True)
class Side:
    """One rule base: its folder, how it is called, and the files that are `added` to it.

    What lies below `kept` goes away after the comparison, and is called as it is below that.
    """

    folder: Path
    label: str
    added: tuple[str, ...] = ()
    kept: Path | None = None

    def rules(self) -> RuleBase:
        """The rules. SetupError if a file cannot be read, ProgramError if one declares ops wrongly."""
        from kina.rulebook.base import RuleBase

        base = RuleBase(self.folder)
        if not self.added:
            return base
        from kina.rulebook.declared import with_added

        found = with_added(base, self.added)
        files = tuple(replace(file, source=self._called(file.source)) for file in found.added)
        return replace(found, added=files, beside=tuple(map(self._called, found.beside)))

    def _called(self, source: Source) -> Source:
        path = Path(source.name)
        if self.kept is None or not path.is_relative_to(self.kept):
            return source
        return Source(path.relative_to(self.kept).as_posix(), source.text)


@contextmanager
def sides(base: str, head: str | None, own: Path, rules: Sequence[str] = ()) -> Iterator[tuple[Side, Side]]:
    """The rule bases that `base` and `head` name, `own` being the one without a name; copies go away after.

    The files and folders `rules` are added to both, as they were in a revision. Raises SetupError if a name
    is neither a folder with rules, nor a rule file, nor a revision that has some.
    """
    with tempfile.TemporaryDirectory(prefix="kina-") as kept:
        first = _side(base, own, Path(kept) / "base", rules)
        if head is None:
            yield first, _working(own, rules, first)
        else:
            yield first, _side(head, own, Path(kept) / "head", rules)


def _side(name: str, own: Path, target: Path, rules: Sequence[str]) -> Side:
    places = (Path(name), Path(name) / "rules") if name else ()
    for folder in places:
        # An empty name is one that was forgotten, and not the working folder.
        if is_file(folder / BASE_FILE):
            return Side(Path(os.path.realpath(folder)), name, tuple(rules))
    for path in places:
        if _has_rules(path):
            return Side(own, name, (str(path), *rules))
    return _revision(name, own, target, rules)


def _working(own: Path, rules: Sequence[str], base: Side) -> Side:
    """The rules that are used, with the folder `rules` of the checkout if a revision has one to compare."""
    label = "the working tree"
    if base.kept is None:
        return Side(own, label, tuple(rules))
    root = _root(base.label)
    folder = root / "rules"
    beside = (
        os.path.realpath(folder) != os.path.realpath(own)
        and not is_file(folder / BASE_FILE)
        and _has_rules(folder)
    )
    given = [each for each in rules if _exists(Path(each)) or not _has_rules(base.kept / _within(root, each))]
    return Side(own, label, (*((str(folder),) if beside else ()), *given))


def _within(root: Path, path: str) -> Path:
    """Where a checkout has a file or folder; its own path if it is elsewhere. A link is what it is called."""
    named = Path(path)
    if named.suffix == ".dl":
        real = Path(os.path.realpath(named.parent), named.name)
    else:
        real = Path(os.path.realpath(named))
    return real.relative_to(root) if real.is_relative_to(root) else real


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _has_rules(path: Path) -> bool:
    """Whether there is a rule file, or a folder of such files."""
    try:
        return any(path.glob("*.dl")) if path.is_dir() else path.suffix == ".dl" and path.is_file()
    except (OSError, ValueError):
        return False


def _revision(name: str, own: Path, target: Path, rules: Sequence[str]) -> Side:
    root = _root(name)
    commit = _git(root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"])
    if commit is None:
        raise SetupError(
            f"`{name}` is no folder with rules, no rule file, and no revision of {root}",
            "a folder holds rule files; a revision is a branch, a tag or a commit",
        )
    sha = commit.decode("ascii").strip()
    place = _place(own, root)
    label = f"{name} ({sha[:10]})"
    files = _listed(root, sha, f"{place}/")
    _written(root, files, target)
    given, found = _given(root, sha, target, rules)
    if any(path == f"{place}/{BASE_FILE}" for path, _ in files):
        return Side(target / place, label, given, target)
    added = (str(target / place),) if _has_rules(target / place) else ()
    if not (added or found):
        raise SetupError(f"the revision `{name}` has no `{place}/{BASE_FILE}`, and no rule file in `{place}`")
    return Side(own, label, (*added, *given), target)


def _given(root: Path, sha: str, target: Path, rules: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Rule files and folders as a commit has them, and whether they are in the checkout at all.

    One that is elsewhere is taken as it is, and one that the commit does not have is left out.
    """
    given: list[str] = []
    inside = False
    for each in rules:
        place = _within(root, each)
        if place.is_absolute():
            given.append(each)
            continue
        inside = True
        folder = place.parent if place.suffix == ".dl" else place
        _written(root, _listed(root, sha, f"{folder.as_posix()}/" if folder.parts else ""), target)
        if _has_rules(target / place):
            given.append(str(target / place))
    return tuple(given), inside


def _root(name: str) -> Path:
    """The top of the checkout that the working folder is in."""
    found = _git(Path.cwd(), ["rev-parse", "--show-toplevel"])
    if found is None or not found.strip():
        raise SetupError(
            f"`{name}` is no folder with rules, and this is no git repository to look for a revision in",
            "a folder of rules holds a `base.dl`",
        )
    return Path(os.fsdecode(found.rstrip(b"\n")))


def _place(own: Path, root: Path) -> str:
    """Where a checkout has its rules: as the one that is used, if that is in it."""
    own, root = Path(os.path.realpath(own)), Path(os.path.realpath(root))
    return own.relative_to(root).as_posix() if own.is_relative_to(root) and own != root else "rules"


def _listed(root: Path, sha: str, place: str) -> list[tuple[str, str]]:
    """The rule files below `place` in a commit, and the files beside them that declare ops, with the names of
    their contents; links and submodules are left out."""
    below = [place] if place else []
    listing = _git(root, ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", sha, *below])
    found = []
    for line in (listing or b"").split(b"\0"):
        head, _, path = line.partition(b"\t")
        fields = head.split()
        name = path.decode("utf-8", "replace")
        if len(fields) == 3 and fields[0] in (b"100644", b"100755") and name.endswith((".dl", ".kina")):
            found.append((name, fields[2].decode("ascii")))
    if len(found) > _MOST_FILES:
        raise SetupError(f"the revision has more than {_MOST_FILES} rule files")
    return found


def _written(root: Path, files: Sequence[tuple[str, str]], folder: Path) -> None:
    total = 0
    for path, blob in files:
        inner = PurePosixPath(path)
        if ".." in inner.parts or "\ufffd" in path:
            raise SetupError(f"the revision has a rule file with the odd name `{path}`")
        data = _git(root, ["cat-file", "blob", blob])
        if data is None:
            raise SetupError(f"git cannot show `{path}` of the revision")
        total += len(data)
        if total > _MOST_BYTES:
            raise SetupError(f"the rules of the revision are larger than {_MOST_BYTES:,} bytes")
        target = folder / inner
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def _git(folder: Path, arguments: Sequence[str]) -> bytes | None:
    """What git prints, None if it does not do it. SetupError if git is not there or does not end."""
    program = shutil.which("git")
    if program is None:
        raise SetupError("git is not found", "name two folders of rules instead of revisions")
    surroundings = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    surroundings |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(
            [program, "-c", "core.fsmonitor=false", "--no-pager", *arguments],
            cwd=folder,
            env={**surroundings, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        raise SetupError(f"git did not answer within {_PATIENCE} seconds") from None
    except ValueError:
        return None
    if done.returncode and b"dubious ownership" in done.stderr:
        raise SetupError("git refuses to read a repository that belongs to somebody else")
    return done.stdout if done.returncode == 0 else None
