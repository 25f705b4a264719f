"""How a report is laid out for its reader: width, colour, length of proofs."""

from __future__ import annotations

from dataclasses import dataclass

#: Role of a piece of text -> SGR parameters.
_COLOURS = {
    "error": "1;31",
    "warning": "1;33",
    "note": "1;36",
    "label": "34",
    "strong": "1",
    "dim": "2",
    "added": "32",
    "removed": "31",
}


@dataclass(frozen=True, slots=True)
class Style:
    """`width` in terminal columns, whether to use `colour`, and `proof`: "short" or "full"."""

    width: int = 100
    colour: bool = False
    proof: str = "short"

    def paint(self, text: str, role: str) -> str:
        """`text` in the colour of `role`, unchanged without colour or without such a role."""
        if not self.colour or not text or role not in _COLOURS:
            return text
        return f"\x1b[{_COLOURS[role]}m{text}\x1b[0m"
