"""Writing results: whole or not at all, with a plain message when the surroundings do not allow it."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from kina.diagnostics.finding import SetupError


def write_text(path: Path, text: str) -> None:
    """Put `text` into `path`, through a file beside it, so that a failure leaves what was there.

    A symbolic link stays one, and a device (`/dev/stdout`) is written directly.
    Raises SetupError if the file cannot be written.
    """
    try:
        target = resolved(path)
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise SetupError(f"cannot write `{path}`: it is a folder")
            target.write_text(text, encoding="utf-8", newline="\n")
            return
        _replace(target, text)
    except OSError as problem:
        raise _unwritable(path, problem) from problem


def resolved(path: Path) -> Path:
    """Where a path to write to leads. SetupError if its links lead nowhere but to each other."""
    try:
        return path.resolve()
    except RuntimeError:
        raise SetupError(f"cannot write `{path}`: too many levels of symbolic links") from None


#: The names of files that people write.
_SOURCES = (".kina", ".dl")


def result_path(path: str) -> Path:
    """Where a result goes. SetupError if a program or a rule file is there, which it would replace."""
    target = Path(path)
    if target.suffix in _SOURCES and target.is_file():
        raise SetupError(f"`{path}` is a source file, which the result would replace", "name another file")
    return target


def write_folder(folder: Path, files: Mapping[str, str]) -> None:
    """Put all `files`, by name, into `folder`, which is made if it is not there.

    A new folder appears complete or not at all. Raises SetupError if it cannot be written.
    """
    if folder.exists():
        if not folder.is_dir():
            raise SetupError(f"cannot write into `{folder}`: it is not a folder")
        for name, text in files.items():
            write_text(folder / name, text)
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as problem:
        raise _unwritable(folder, problem) from problem
    try:
        for name, text in files.items():
            (draft / name).write_text(text, encoding="utf-8", newline="\n")
        draft.chmod(0o777 & ~_umask())
        draft.rename(folder)
    except OSError as problem:
        raise _unwritable(folder, problem) from problem
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_stdout(text: str) -> None:
    """Print `text`; a reader that has gone away is no error, a full disk is a SetupError."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
    except OSError as problem:
        _discard_stdout()
        raise SetupError(f"cannot write to the standard output: {reason(problem)}") from problem


def write_stderr(text: str) -> None:
    """Print `text` on the standard error stream; where that is closed there is nobody to tell."""
    with contextlib.suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def reason(problem: OSError) -> str:
    """What the system says of a failed call, as part of a sentence."""
    return (problem.strerror or str(problem)).lower()


def _replace(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}-", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        draft.chmod(target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    """The umask of the process, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _unwritable(path: Path, problem: OSError) -> SetupError:
    return SetupError(f"cannot write `{path}`: {reason(problem)}")


def _discard_stdout() -> None:
    """Send what is still buffered nowhere: the flush at exit would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
