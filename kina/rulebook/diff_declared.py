"""What differs in the ops that two rule bases declare: those of one alone, and what is declared otherwise."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kina.additions import Additions
from kina.datalog.added import AddedFile
from kina.frontend.ast import OpForm
from kina.frontend.ir import Program
from kina.rulebook.base import RuleBase


def declared_changes(base: RuleBase, head: RuleBase) -> Mapping[str, tuple[str, str, str]]:
    """For each kind that is not declared alike what became of it: "gained", "lost" or "changed".

    With it stand how it was and how it is declared, "" for not at all.
    """
    before, after = _forms(base), _forms(head)
    found: dict[str, tuple[str, str, str]] = {}
    for kind in (*after, *(kind for kind in before if kind not in after)):
        old, new = before.get(kind), after.get(kind)
        if old is None or new is None:
            what = "gained" if old is None else "lost"
            found[kind] = (what, signature(old) if old else "", signature(new) if new else "")
        elif old != new:
            same = signature(old) == signature(new)
            found[kind] = ("changed", "", "its body") if same else ("changed", signature(old), signature(new))
    return found


def _forms(base: RuleBase) -> dict[str, OpForm]:
    if base.declared is None:
        return {}
    return {kind: declared.form for kind, declared in base.declared.visible.ops.items()}


def signature(form: OpForm) -> str:
    """The operands, attributes and results of a declaration as they are written, on one line."""
    parts = [f"({each.name.name} {_plain(each.type.span.text)})" for each in form.params]
    results = ", ".join(_plain(each.span.text) for each in form.results)
    return f"({' '.join(parts)}) -> {results}"


def _plain(text: str) -> str:
    return " ".join(text.split())


def cause(kind: str) -> str:
    """How a declaration is called among the rules that make a difference."""
    return f"(defop {kind} …)"


def own_additions(beside: Additions, base: RuleBase, compared: Sequence[RuleBase]) -> Additions:
    """What a program has under one of the rule bases that are `compared`: the files of that one, and those
    `beside` the program that none of them has."""
    taken = {file.real for each in compared for file in each.added}
    rules = list(base.added)
    for file in beside.rules:
        if file.real not in taken:
            rules.append(_renamed(file, {each.name for each in rules}))
    declared = {source.name for each in compared for source in each.sources} | {
        f"{real.removesuffix('.dl')}.kina" for real in taken
    }
    sources = (source for source in beside.sources if not _is_one(source.name, declared))
    return Additions(tuple(rules), (*base.sources, *sources))


def _is_one(name: str, paths: set[str]) -> bool:
    return name in paths or os.path.realpath(name) in paths


def _renamed(file: AddedFile, taken: set[str]) -> AddedFile:
    """The file under a name that no other one has."""
    name, count = file.name, 1
    while name in taken:
        count += 1
        name = f"{file.name.removesuffix('.dl')}-{count}.dl"
    return replace(file, name=name)


def alike(one: Program, two: Program) -> bool:
    """Whether two programs have the same tensors and ops."""
    return [(value.name, value.type) for value in one.values] == [
        (value.name, value.type) for value in two.values
    ] and [(op.kind, op.operands, op.results, op.attributes) for op in one.ops] == [
        (op.kind, op.operands, op.results, op.attributes) for op in two.ops
    ]
