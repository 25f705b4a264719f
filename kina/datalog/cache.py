"""Data kept between runs in the user's cache folder; what is not whole is as if it were not there.

The folder is `KINA_CACHE`, else `kina` in `XDG_CACHE_HOME`, else `~/.cache/kina`. With `KINA_CACHE=off`
nothing is kept.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

#: So many texts are kept, and then the oldest go: a rule base is fifty, and there may be several.
KEPT = 256


def digest(parts: Iterable[bytes]) -> str:
    """A hash of the parts and of where each ends."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"%d\n" % len(part))
        whole.update(part)
    return whole.hexdigest()


def read(key: str) -> object | None:
    """The data under a key; None if there is none that is whole."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        head, _, body = (folder / f"{key}.json").read_bytes().partition(b"\n")
        if head.decode("ascii") != digest([key.encode(), body]):
            return None
        data: object = json.loads(body)
    except (OSError, ValueError):
        return None
    return data


def write(key: str, data: object) -> None:
    """Keep the data under a key, in one step; silently nothing if the folder cannot be written."""
    folder = cache_folder()
    if folder is None:
        return
    body = json.dumps(data, separators=(",", ":")).encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(digest([key.encode(), body]).encode() + b"\n" + body)
            Path(name).replace(folder / f"{key}.json")
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        _prune(folder)
    except OSError:
        return


def cache_folder() -> Path | None:
    """Where data is kept, whether or not the folder exists; None if nothing is to be kept."""
    chosen = os.environ.get("KINA_CACHE")
    if chosen:
        return None if chosen == "off" else Path(chosen)
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if base.is_absolute():
        return base / "kina"
    try:
        return Path.home() / ".cache" / "kina"
    except RuntimeError:
        return None


def _prune(folder: Path) -> None:
    files = sorted(folder.glob("*.json"), key=lambda file: file.stat().st_mtime_ns)
    for file in files[:-KEPT]:
        file.unlink(missing_ok=True)
