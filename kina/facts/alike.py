"""Which ops are alike: of one kind, with the same attributes, between values of the same types."""

from __future__ import annotations

from kina.datalog.clingo_alike import Alike
from kina.facts.dump import operand_port, result_port
from kina.frontend.ir import Op, Program

#: Input relations that say of an op, or of a value at one, nothing that two alike ops differ in.
OWN = (
    "op_kind",
    "op_operand",
    "op_result",
    "op_checked",
    "op_declared",
    "op_list",
    "op_list_negative",
    "op_list_length",
    "op_number",
    "op_word",
    "op_reshape_factor",
    "value_dim",
    "value_rank",
    "value_dtype",
    "value_weight",
    "value_constant",
    "value_splat",
)


def alike_ops(program: Program, names: tuple[str, ...]) -> Alike:
    """The ops of a program, whose values have these encoded names, in groups that are alike."""
    sorts = [(value.type, value.splat, value.id in program.constants) for value in program.values]
    numbers = {sort: number for number, sort in enumerate(dict.fromkeys(sorts))}
    number_of = [numbers[sort] for sort in sorts]
    groups: dict[object, list[tuple[str, ...]]] = {}
    for op in program.ops:
        groups.setdefault(_sort(op, number_of), []).append(_named(op, names))
    return Alike(tuple(tuple(group) for group in groups.values()), OWN)


def _sort(op: Op, number_of: list[int]) -> object:
    """All that the facts of an op depend on but names: equal for ops that are alike."""
    values = op.operands + op.results
    repeated = tuple(map(values.index, values)) if len(set(values)) < len(values) else ()
    types = tuple([type(value) for _, value in op.attributes])
    return op.kind, op.attributes, types, len(op.operands), tuple([number_of[v] for v in values]), repeated


def _named(op: Op, names: tuple[str, ...]) -> tuple[str, ...]:
    name = names[op.results[0]]
    ports = [operand_port(name, pos) for pos in range(len(op.operands))]
    ports += [result_port(name, pos) for pos in range(len(op.results))]
    return (name, *ports, *[names[value] for value in op.operands + op.results])
