"""Printed names: unique in a program, and telling where in it a value stands."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Names:
    """The names given so far. The second value of a name gets `#2`, the third `#3`."""

    taken: set[str] = field(default_factory=set)
    _last: dict[str, int] = field(default_factory=dict)

    def fresh(self, name: str) -> str:
        """`name`, or `name#2`, `name#3`, … if it is taken; the name given is taken from now on."""
        taken = self.taken
        if name not in taken:
            taken.add(name)
            return name
        count = self._last.get(name, 1) + 1
        while f"{name}#{count}" in taken:
            count += 1
        self._last[name] = count
        unique = f"{name}#{count}"
        taken.add(unique)
        return unique

    def release(self, name: str) -> None:
        """Makes `name`, which a value had and has no longer, free again."""
        self.taken.discard(name)
        base, _, number = name.rpartition("#")
        # Only the last number is given again: looking for gaps would take a step for each name.
        if number == str(self._last.get(base)):
            self._last[base] -= 1


@dataclass(frozen=True, slots=True)
class Scope:
    """Where values are being made. `own` goes before names of values, `inner` before those of calls.

    In the entry `own` is its name and a dot and `inner` is empty; elsewhere both are the path of the
    call or the repetition and a dot: `layer[3].attention.`.
    """

    own: str
    inner: str

    def inside(self, path: str) -> Scope:
        """The scope of a call or repetition whose whole path is `path`."""
        return Scope(f"{path}.", f"{path}.")


def entry_scope(function: str) -> Scope:
    """The scope of the entry's own values."""
    return Scope(f"{function}.", "")
