"""The nearest of the names that exist, for the help of a message."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from kina.diagnostics.finding import Help

#: Names beyond these are not compared: a suggestion must not cost more than the check.
_NAME_LENGTH = 80
_CANDIDATES = 5000


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, None if none is like it."""
    if len(name) > _NAME_LENGTH:
        return None
    known = sorted(set(candidates))[:_CANDIDATES]
    found = get_close_matches(name, known, n=1, cutoff=0.6)
    return found[0] if found else None


def near_it(name: str, candidates: Iterable[str]) -> str:
    """The three candidates most like `name` as the help of a message, "" if none is like it."""
    found = dict.fromkeys(get_close_matches(name, list(candidates), n=3))
    return "near it: " + ", ".join(f"`{each}`" for each in found) if found else ""


def did_you_mean(name: str, candidates: Iterable[str]) -> tuple[Help, ...]:
    """A help that names the nearest candidate, empty if there is none."""
    guess = nearest(name, candidates)
    return (Help(f"the nearest name is `{guess}`"),) if guess else ()
