"""What changed clauses do to single ops, as far as anything else can notice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kina.datalog.rules import Rulebook, dependencies
from kina.frontend.ir import Program
from kina.rulebook.base import OP_RELATIONS, RuleBase
from kina.rulebook.causes import Reasons
from kina.rulebook.changes import RuleChange
from kina.rulebook.delta import delta
from kina.rulebook.evaluate import evaluate, op_cone

#: What rules can read of an op without looking at what is around it.
_OWN_INPUTS = frozenset(
    {
        *("op_kind", "op_operand", "op_result", "op_reshape_factor"),
        *("op_list", "op_list_negative", "op_list_length", "op_number", "op_word"),
        *("value_dim", "value_rank", "value_dtype", "value_splat"),
    }
)


def speak_of_ops(base: RuleBase, head: RuleBase, changes: Sequence[RuleChange]) -> bool:
    """Whether all that the changed clauses do is to say something of single ops, by these ops alone."""
    heads = {change.relation for change in changes}
    for rulebook in (base.rulebook, head.rulebook):
        cone = set(op_cone(rulebook))
        inputs = {name for name in cone if rulebook.relations[name].is_input}
        changed = {name for name, relation in rulebook.relations.items() if relation.declared in heads}
        tables = {name for name in changed if not _about_ops(rulebook, name)}
        if not inputs <= _OWN_INPUTS or not changed <= cone or tables & _read_outside(rulebook, cone):
            return False
    return True


def op_effects(
    program: Program, base: RuleBase, head: RuleBase, changes: Sequence[RuleChange], solver: str
) -> Mapping[int, tuple[str, ...]]:
    """The ops of a program of which the rules say something else now, each with the rules that changed it.

    Raises SetupError if the engine cannot be used.
    """
    sides = [evaluate(program, each.compiled, solver) for each in (base, head)]
    names = [_noticed(each.rules.rulebook) for each in sides]
    effect = delta(base.compiled, head.compiled, changes, sides[0].facts, solver)
    reasons = [
        Reasons(each.rules.rulebook, each.tables.rows, changes, effect, is_base)
        for each, is_base in zip(sides, (True, False), strict=True)
    ]
    found: dict[int, tuple[str, ...]] = {}
    for op in program.ops:
        rows = [
            {(name, row) for name in noticed for row in side.rows(name, op.id)}
            for side, noticed in zip(sides, names, strict=True)
        ]
        lost, gained = sorted(rows[0] - rows[1]), sorted(rows[1] - rows[0])
        if lost or gained:
            rules = dict.fromkeys([*reasons[0].of(lost), *reasons[1].of(gained)])
            found[op.id] = tuple(rules) or effect.rules
    return found


def _noticed(rulebook: Rulebook) -> tuple[str, ...]:
    """The relations about ops that Kina or rules about more than one op read."""
    cone = set(op_cone(rulebook))
    read = _read_outside(rulebook, cone) | set(OP_RELATIONS)
    return tuple(
        name for name in rulebook.relations if name in cone and name in read and _about_ops(rulebook, name)
    )


def _read_outside(rulebook: Rulebook, cone: set[str]) -> set[str]:
    """The relations that clauses outside the cone read."""
    return {
        name
        for rule in rulebook.rules
        if rule.head.relation not in cone
        for name, _ in dependencies(rule.clause)
    }


def _about_ops(rulebook: Rulebook, name: str) -> bool:
    relation = rulebook.relations[name]
    return not relation.is_input and bool(relation.columns) and relation.columns[0].type == "Op"
