"""The two rule bases of a comparison: folders, or what a git revision has of one. Nothing of them is run."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from kina.diagnostics.finding import SetupError

#: What makes a folder a rule base.
BASE_FILE = "base.dl"
#: Seconds that git may take, and bytes and files of a rule base at most.
_PATIENCE, _MOST_BYTES, _MOST_FILES = 60, 20_000_000, 2_000


@dataclass(frozen=True, slots=True)
class Side:
    """One rule base: its folder, and how it is called."""

    folder: Path
    label: str


@contextmanager
def sides(base: str, head: str | None, own: Path) -> Iterator[tuple[Side, Side]]:
    """The rule bases that `base` and `head` name, `own` being the one without a name; copies go away after.

    Raises SetupError if one is neither a folder with rules nor a revision that has some.
    """
    with tempfile.TemporaryDirectory(prefix="kina-") as kept:
        yield (
            _side(base, own, Path(kept) / "base"),
            Side(own, "the working tree") if head is None else _side(head, own, Path(kept) / "head"),
        )


def _side(name: str, own: Path, target: Path) -> Side:
    for folder in (Path(name), Path(name) / "rules"):
        # An empty name is one that was forgotten, and not the working folder.
        if name and _is_file(folder / BASE_FILE):
            return Side(folder.resolve(), name)
    return _revision(name, own, target)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _revision(name: str, own: Path, target: Path) -> Side:
    root = _root(name)
    commit = _git(root, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"])
    if commit is None:
        raise SetupError(
            f"`{name}` is no folder with rules, and no revision of {root}",
            "a folder holds a `base.dl`; a revision is a branch, a tag or a commit",
        )
    sha = commit.decode("ascii").strip()
    place = _place(own, root)
    files = _listed(root, sha, place)
    if not any(path == f"{place}/{BASE_FILE}" for path, _ in files):
        raise SetupError(f"the revision `{name}` has no `{place}/{BASE_FILE}`")
    folder = target / "rules"
    _written(root, files, place, folder)
    return Side(folder, f"{name} ({sha[:10]})")


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
    own, root = own.resolve(), root.resolve()
    return own.relative_to(root).as_posix() if own.is_relative_to(root) and own != root else "rules"


def _listed(root: Path, sha: str, place: str) -> list[tuple[str, str]]:
    """The rule files of a commit, with the names of their contents; links and submodules are left out."""
    listing = _git(root, ["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", sha, f"{place}/"])
    found = []
    for line in (listing or b"").split(b"\0"):
        head, _, path = line.partition(b"\t")
        fields = head.split()
        name = path.decode("utf-8", "replace")
        if len(fields) == 3 and fields[0] in (b"100644", b"100755") and name.endswith(".dl"):
            found.append((name, fields[2].decode("ascii")))
    if len(found) > _MOST_FILES:
        raise SetupError(f"the revision has more than {_MOST_FILES} rule files")
    return found


def _written(root: Path, files: Sequence[tuple[str, str]], place: str, folder: Path) -> None:
    total = 0
    for path, blob in files:
        inner = PurePosixPath(path).relative_to(place)
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
