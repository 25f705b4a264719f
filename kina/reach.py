"""What can be reached from somewhere: along rules, ops or tuples."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)


def reached(start: Iterable[Node], leads: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """All nodes that any number of leads away from `start` comes to, none included."""
    found = set(start)
    queue = list(found)
    while queue:
        fresh = [node for node in dict.fromkeys(leads.get(queue.pop(), ())) if node not in found]
        found.update(fresh)
        queue += fresh
    return found
