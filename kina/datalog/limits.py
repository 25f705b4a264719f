"""What both engines say when they run out of time."""

from __future__ import annotations

from kina.diagnostics.finding import Finding, error


def out_of_time(engine: str, seconds: float) -> Finding:
    """The finding (K815) that the rules did not finish within the limit."""
    message = f"the rules do not finish within {seconds:g} s in {engine}"
    return error("K815", message, None, notes=("a rule that counts upward without a bound never ends",))
