"""What the rules say of one op, read from the relations of `rules/sharding.dl`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from kina.audit.instance import Instance
from kina.audit.merge import merge
from kina.datalog.compiled import Compiled
from kina.datalog.tables import Row
from kina.facts.dump import operand_port, result_port
from kina.frontend.ir import Mesh
from kina.frontend.ops import OPS
from kina.plan.decisions import Localised
from kina.rulebook.evaluate import Evaluation, evaluate

#: The relations that say what an op allows.
RELATIONS = (
    "factor",
    "factor_within",
    "factor_reduced",
    "dim_whole",
    "linear_alone",
    "linear_together",
    "counted_once",
)


@dataclass(frozen=True, slots=True)
class OnDim:
    """A dim of a port that holds `factor` below `major` elements; without `size` the factor is all of it."""

    port: int
    dim: int
    factor: int
    major: int = 1
    size: int | None = None


@dataclass(frozen=True, slots=True)
class OpRule:
    """The rules of one op. Ports are numbered: operands first, then results.

    `reduced` pairs factors with reductions, `alone` and `together` ports with reductions; `once` are
    the operands that count once in a pending result. `strays` are tuples about ports that the op has not,
    or about dims that its ports have not.
    """

    dims: tuple[OnDim, ...]
    reduced: tuple[tuple[int, str], ...]
    whole: tuple[tuple[int, int], ...]
    alone: tuple[tuple[int, str], ...]
    together: tuple[tuple[int, str], ...]
    once: tuple[int, ...]
    strays: tuple[tuple[str, Row], ...] = ()
    keeps_shapes: bool = False

    def size(self, on: OnDim, shapes: Sequence[tuple[int, ...]]) -> int:
        """The size of the factor at a dim, for ports of these shapes."""
        return shapes[on.port][on.dim] if on.size is None else on.size


@dataclass(frozen=True, slots=True)
class Derived:
    """A batch of instances with what the rules say of each; `ops` are their numbers in the evaluation."""

    instances: tuple[Instance, ...]
    rules: tuple[OpRule, ...]
    ops: tuple[int, ...]
    evaluation: Evaluation


def derive(instances: Sequence[Instance], rules: Compiled, solver: str = "auto") -> Derived:
    """What the rules say of each instance, in one run of the engine.

    Raises ProgramError if a rule file is at fault, SetupError if the engine is.
    """
    evaluation = evaluate(merge([each.program for each in instances], Mesh(())), rules, solver)
    ends = accumulate(len(instance.program.ops) for instance in instances)
    ops = tuple(end - 1 for end in ends)
    read = tuple(_op_rule(instance, op, evaluation) for instance, op in zip(instances, ops, strict=True))
    made = tuple(
        replace(instance, follows=_follows(instance, op, evaluation))
        for instance, op in zip(instances, ops, strict=True)
    )
    return Derived(made, read, ops, evaluation)


def _follows(instance: Instance, op: int, evaluation: Evaluation) -> tuple[Localised, ...]:
    """The attributes of a declared op that follow dims which it has."""
    if instance.op.kind in OPS:
        return ()
    count = len(instance.op.operands)
    types = instance.types
    ports = {port: n for n, port in enumerate(port_names(instance, evaluation.facts.op_names[op]))}
    found = []
    for _, name, index, port, dim in sorted(evaluation.rows("attribute_follows", op)):
        number = ports.get(str(port))
        if number is None or not 0 <= int(dim) < types[number].rank:
            continue
        side, pos = ("operand", number) if number < count else ("result", number - count)
        found.append(Localised(str(name), int(index), side, pos, int(dim)))
    return tuple(found)


def port_names(instance: Instance, name: str) -> tuple[str, ...]:
    """The ids of the ports of the op with the encoded name `name`, operands first."""
    operands = tuple(operand_port(name, pos) for pos in range(len(instance.op.operands)))
    return (*operands, *(result_port(name, pos) for pos in range(len(instance.op.results))))


@dataclass(frozen=True, slots=True)
class _Reader:
    """The tuples of one op, with ports as numbers; those that do not fit the op are left out."""

    rows: Mapping[str, Sequence[Row]]
    ports: Mapping[str, int]
    ranks: tuple[int, ...]

    def fits(self, relation: str, row: Row) -> bool:
        """Whether the port of a tuple is one of the op, and has the dim."""
        if relation == "factor_reduced":
            return True
        port = self.ports.get(str(row[1]))
        if port is None:
            return False
        return relation not in _ON_DIM or int(row[2]) < self.ranks[port]

    def of(self, relation: str) -> list[Row]:
        return [row for row in self.rows[relation] if self.fits(relation, row)]

    def pairs(self, relation: str) -> tuple[tuple[int, str], ...]:
        return tuple(sorted((self.ports[str(row[1])], str(row[2])) for row in self.of(relation)))

    def dims(self) -> tuple[OnDim, ...]:
        whole = [
            OnDim(self.ports[str(port)], int(dim), int(factor)) for _, port, dim, factor in self.of("factor")
        ]
        parts = [
            OnDim(self.ports[str(port)], int(dim), int(factor), int(major), int(size))
            for _, port, dim, factor, major, size in self.of("factor_within")
        ]
        return tuple(sorted((*whole, *parts), key=lambda on: (on.port, on.dim, on.major, on.factor)))


_ON_DIM = frozenset({"factor", "factor_within", "dim_whole"})


def _op_rule(instance: Instance, op: int, evaluation: Evaluation) -> OpRule:
    names = port_names(instance, evaluation.facts.op_names[op])
    rows = {relation: sorted(evaluation.rows(relation, op)) for relation in RELATIONS}
    reader = _Reader(
        rows,
        {port: number for number, port in enumerate(names)},
        tuple(type_.rank for type_ in instance.types),
    )
    return OpRule(
        reader.dims(),
        tuple(sorted((int(row[1]), str(row[2])) for row in rows["factor_reduced"])),
        tuple(sorted((reader.ports[str(row[1])], int(row[2])) for row in reader.of("dim_whole"))),
        reader.pairs("linear_alone"),
        reader.pairs("linear_together"),
        tuple(sorted(reader.ports[str(row[1])] for row in reader.of("counted_once"))),
        tuple(
            (relation, row)
            for relation in RELATIONS
            for row in rows[relation]
            if not reader.fits(relation, row)
        ),
        bool(evaluation.rows("shape_keeping", op)),
    )
