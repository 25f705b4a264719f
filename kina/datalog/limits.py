"""What both engines say when they run out of time."""

from __future__ import annotations

from kina.diagnostics.finding import SetupError

#: Seconds for rules of which some are added to the rule base, where the caller gives no limit: Kina's own
#: rules need less for the largest programs, and those of others may multiply whatever there is.
ADDED_RULES = 120.0


def out_of_time(engine: str, seconds: float) -> SetupError:
    """The error that the rules did not finish within the limit."""
    message = f"the rules do not finish within {seconds:g} s in {engine}"
    return SetupError(
        message, "a rule that counts upward without a bound never ends; other rules may need longer"
    )
