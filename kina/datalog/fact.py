"""Tuples as engines take and give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Fact = tuple[str | int, ...]

#: The tuples of each relation.
Facts = Mapping[str, Sequence[Fact]]
