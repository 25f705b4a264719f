"""The nearest of the names that exist, for the help of a message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from kina.diagnostics.finding import Help

#: Names beyond these are not compared: a suggestion must not cost more than the check.
_NAME_LENGTH = 80
_CANDIDATES = 5000


def close(name: str, known: Sequence[str], count: int, cutoff: float) -> list[str]:
    """So many of the names at most that are like this one, first those that only differ in case."""
    if len(name) > _NAME_LENGTH:
        return []
    folded = name.casefold()
    same = [each for each in known if each.casefold() == folded]
    return list(dict.fromkeys([*same, *get_close_matches(name, known, n=count, cutoff=cutoff)]))[:count]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate most like `name`, None if none is like it."""
    found = close(name, sorted(set(candidates))[:_CANDIDATES], 1, 0.6)
    return found[0] if found else None


def near_it(name: str, candidates: Iterable[str]) -> str:
    """The three candidates most like `name` as the help of a message, "" if none is like it."""
    found = close(name, list(candidates), 3, 0.6)
    return "near it: " + ", ".join(f"`{each}`" for each in found) if found else ""


def did_you_mean(name: str, candidates: Iterable[str]) -> tuple[Help, ...]:
    """A help that names the nearest candidate, empty if there is none."""
    guess = nearest(name, candidates)
    return (Help(f"the nearest name is `{guess}`"),) if guess else ()
