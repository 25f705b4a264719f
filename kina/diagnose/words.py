"""Ops in the words of the user's program: by the form that was written, not by what it becomes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kina.frontend.ir import Op, Program

#: The head of a form, behind `(@ (@ …` where it is annotated.
_HEAD = re.compile(r"(?:\(\s*@\s*)*\(\s*([^\s()\[\]\"|;,@]+)")


@dataclass(frozen=True)
class OpWords:
    """How messages name the ops of one program."""

    program: Program

    @cached_property
    def _kinds(self) -> Mapping[tuple[str, int, int], frozenset[str]]:
        """The kinds of the ops that each form became, without those of its gradient."""
        found: defaultdict[tuple[str, int, int], set[str]] = defaultdict(set)
        for op in self.program.ops:
            if op.origin == "written":
                found[_place(op)].add(op.kind)
        return {place: frozenset(kinds) for place, kinds in found.items()}

    def of(self, op: Op) -> str:
        """The form that became the op, `exp`; with its kind where that is one of several, `add` of `gelu`."""
        head = _HEAD.match(op.span.text)
        if head is None:
            return f"`{op.kind}`"
        if op.origin == "derived":
            return f"`{op.kind}` in the gradient of `{head[1]}`"
        if len(self._kinds[_place(op)]) == 1 or head[1] == op.kind:
            return f"`{head[1]}`"
        return f"`{op.kind}` of `{head[1]}`"


def _place(op: Op) -> tuple[str, int, int]:
    return op.span.file, op.span.start, op.span.end
