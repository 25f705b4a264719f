"""Kina: sharding decisions that a person can read, question, review and trust.

`kina.check` is the way in from Python; docs/python.md shows what its result offers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kina.api import Check, Collective, Explanation, Tensor, check
    from kina.diagnostics.finding import ArgumentError, Finding, ProgramError, SetupError, UnknownNameError
    from kina.run.outcome import Run

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Check",
    "Collective",
    "Explanation",
    "Finding",
    "ProgramError",
    "Run",
    "SetupError",
    "Tensor",
    "UnknownNameError",
    "__version__",
    "check",
]

#: Name -> the module that holds it, imported when it is asked for, so that the start is quick.
_HOMES = {
    **dict.fromkeys(("Check", "Collective", "Explanation", "Tensor", "check"), "kina.api"),
    **dict.fromkeys(
        ("ArgumentError", "Finding", "ProgramError", "SetupError", "UnknownNameError"),
        "kina.diagnostics.finding",
    ),
    "Run": "kina.run.outcome",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module `kina` has no attribute `{name}`")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
