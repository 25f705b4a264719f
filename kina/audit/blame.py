"""Which rules allow a placement: those that derive the tuples that it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kina.audit.allowed import Allowed
from kina.audit.op_rule import Derived, OnDim, port_names
from kina.datalog.proofs import Prover
from kina.datalog.tables import Row
from kina.facts.names import encode


@dataclass(slots=True)
class Blame:
    """The rules behind placements of one batch."""

    derived: Derived
    prover: Prover = field(init=False)
    known: dict[tuple[str, Row], str] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        evaluation = self.derived.evaluation
        self.prover = Prover(evaluation.rules.rulebook, evaluation.tables)

    def rules(self, number: int, allowed: Allowed) -> tuple[str, ...]:
        """The names of the rules that allow a placement of instance `number`, in order."""
        return tuple(sorted({self.rule(*goal) for goal in self._goals(number, allowed)}))

    def rule(self, relation: str, row: Row) -> str:
        """The name of the rule that derives a tuple."""
        goal = relation, row
        if goal not in self.known:
            self.known[goal] = self.prover.prove(relation, row)[0].rule
        return self.known[goal]

    def _goals(self, number: int, allowed: Allowed) -> Iterator[tuple[str, Row]]:
        rule, evaluation = self.derived.rules[number], self.derived.evaluation
        op = evaluation.facts.op_names[self.derived.ops[number]]
        ports = port_names(self.derived.instances[number], op)
        factors = {factor for factor, _ in allowed.split}
        for on in rule.dims:
            if on.factor in factors:
                yield _dim_goal(op, ports[on.port], on)
        for factor, reduction in rule.reduced:
            if factor in factors:
                yield "factor_reduced", (op, factor, reduction)
                yield from (("counted_once", (op, ports[port])) for port in rule.once)
        states = (*allowed.placement.operands, *allowed.placement.results)
        for each in self.derived.instances[number].follows:
            place = each.position + (0 if each.side == "operand" else len(allowed.placement.operands))
            if states[place].layout[each.dim]:
                name = encode(each.name)
                yield "attribute_follows", (op, name, each.index, ports[place], each.dim)
        passing = allowed.passing
        if passing is not None:
            relation = "linear_together" if passing.together else "linear_alone"
            yield from ((relation, (op, ports[port], passing.reduction)) for port in passing.ports)


def _dim_goal(op: str, port: str, on: OnDim) -> tuple[str, Row]:
    if on.size is None:
        return "factor", (op, port, on.dim, on.factor)
    return "factor_within", (op, port, on.dim, on.factor, on.major, on.size)
