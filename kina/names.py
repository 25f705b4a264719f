"""Names that a user gives: what they stand for among those that are known, and which of these are near."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kina.diagnostics.finding import UnknownNameError
from kina.frontend.suggest import close

#: Names that a message lists.
_LISTED = 5


def matching(name: str, known: Collection[str], entry: str = "") -> list[str]:
    """The full name, else that of the entry's own, else all names that end so after a dot."""
    for exact in (name, f"{entry}.{name}"):
        if exact in known:
            return [exact]
    return [full for full in known if full.endswith(f".{name}")] if name else []


def the_one(name: str, known: Collection[str], entry: str, what: str) -> str:
    """The full name that `name` stands for. UnknownNameError, with names near it, if not exactly one does."""
    found = matching(name, known, entry)
    if len(found) == 1:
        return found[0]
    if found:
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        listed = ", ".join(f"`{each}`" for each in found[:_LISTED])
        raise UnknownNameError(f"`{name}` is the name of {len(found)} {what}s", f"say which: {listed}{more}")
    # full names first, then their last parts
    names = dict.fromkeys([*known, *(each.rpartition(".")[2] for each in known)])
    if len(known) <= _LISTED:
        names = dict.fromkeys(known)
    raise UnknownNameError(f"there is no {what} `{name}`", near(name, names))


def near(name: str, known: Iterable[str], words: str = "near it:") -> str:
    """A help that names what is near; all of them if they are few, "" if nothing is."""
    names = list(known)
    found = names if len(names) <= _LISTED else close(name, names, 3, 0.5)
    return f"{words} " + ", ".join(f"`{each}`" for each in found) if found else ""
