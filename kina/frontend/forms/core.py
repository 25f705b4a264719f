"""What a surface form is: parameters, documentation, and a function that emits ops."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kina.frontend.builder import Builder, Call


@dataclass(frozen=True, slots=True)
class Form:
    """A surface form. `signature` and `doc` are for people, `words` are bare words that it takes."""

    name: str
    signature: str
    doc: str
    build: Callable[[Builder, Call], tuple[int, ...]]
    words: tuple[str, ...] = ()
