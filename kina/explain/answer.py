"""What is said in reply to a question: a statement, where it holds, and the proofs it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from kina.diagnostics.finding import Label, ProofStep
from kina.source import Span


@dataclass(frozen=True, slots=True)
class Evidence:
    """A proof, and what it is a proof of, in words; empty where its root says it."""

    title: str
    proof: tuple[ProofStep, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One statement about a tensor or a collective.

    `kind` is "is", "pending", "collective", "no" for a question whose premise does not hold, or a reason
    of `kina.explain.reasons`. `question` is its subject as it is asked for, `wo.0@model`. A `brief` one, of
    several, is printed without the source.
    """

    kind: str
    question: str
    statement: str
    at: Span
    below: str = ""
    labels: tuple[Label, ...] = ()
    lines: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    brief: bool = False

    @property
    def holds(self) -> bool:
        """Whether the premise of the question holds."""
        return self.kind != "no"
