"""What `kina rules list` and `kina rules show` know, as JSON."""

from __future__ import annotations

import json
from typing import Any

from kina.datalog.rules import Rule, Rulebook
from kina.rulebook.catalogue import OpEntry, Shown
from kina.rulebook.usage import Usage, declared

Json = dict[str, Any]


def render(**parts: object) -> str:
    """One line: an object with a version and the parts."""
    return json.dumps({"version": 1, **parts}, ensure_ascii=False) + "\n"


def op_json(entry: OpEntry, rulebook: Rulebook) -> Json:
    """All that rules say of an op."""
    return {
        "op": entry.kind,
        "doc": entry.doc,
        "operands": list(entry.operands),
        "forms": [_form(entry, shown) for shown in entry.forms],
        "attributes": [
            {"name": each.name, "doc": each.doc, "roles": list(each.roles), "at": list(each.places)}
            for each in entry.attributes
        ],
        "clauses": [rule_json(rule, rulebook) for rule in (*entry.facts, *entry.clauses)],
    }


def _form(entry: OpEntry, shown: Shown) -> Json:
    form = shown.form
    return {
        "einsum": form.einsum,
        "factors": [
            {"factor": role.letter, "role": role.role, "reduction": role.reduction or None}
            for role in form.roles
        ],
        "pending": [{"kind": kind, "factors": letters.split(",")} for kind, letters in form.pending],
        "linear": [
            {
                "operand": name,
                "alone": list(each.alone),
                "together": list(each.together),
                "counts_once": each.once,
            }
            for name, each in zip(entry.operands, form.linearity, strict=False)
        ],
        "keeps_shapes": form.keeps_shapes,
        "instances": [instance.text for instance in shown.instances],
    }


def rule_json(rule: Rule, rulebook: Rulebook) -> Json:
    """A clause: its name, null if it has none, what it derives, where it stands, and why."""
    return {
        "rule": rule.name or None,
        "relation": declared(rulebook, rule.head.relation),
        "at": rule.place,
        "doc": " ".join(rule.doc.split()),
        "code": rule.code,
        "text": rule.clause.span.text,
    }


def relation_json(usage: Usage) -> Json:
    """A relation with its columns and the names and places of the clauses that make and read it."""
    relation = usage.relation
    return {
        "relation": usage.name,
        "columns": [{"name": column.name, "type": column.type} for column in relation.columns],
        "doc": relation.doc,
        "says": relation.says,
        "at": relation.place,
        "input": relation.is_input,
        "output": relation.is_output,
        "level": usage.level,
        "made_by": [_place(rule) for rule in usage.makers],
        "read_by": [{**_place(use.rule), "against": use.against} for use in usage.readers],
    }


def _place(rule: Rule) -> Json:
    return {"rule": rule.name or None, "at": rule.place}
