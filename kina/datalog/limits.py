"""What both engines say when they run out of time."""

from __future__ import annotations

from kina.diagnostics.finding import SetupError


def out_of_time(engine: str, seconds: float) -> SetupError:
    """The error that the rules did not finish within the limit."""
    message = f"the rules do not finish within {seconds:g} s in {engine}"
    return SetupError(
        message, "a rule that counts upward without a bound never ends; other rules may need longer"
    )
