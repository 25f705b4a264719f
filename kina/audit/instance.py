"""One op with everything that it is applied to: what the audit places on devices and executes."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kina.frontend.body import Declarations
from kina.frontend.builder import Builder
from kina.frontend.ir import Attribute, Mesh, Op, Program, TensorType, Value
from kina.frontend.names import Names
from kina.frontend.ops import OPS, OpSpec
from kina.frontend.spec import check_ir
from kina.plan.decisions import Localised
from kina.source import Source, Span

PLACE = Span(Source("audit", "(op)"), 0, 4)


@dataclass(frozen=True, slots=True)
class Domain:
    """Which elements an operand may hold. `kind` is one of

    - "general": any, of both signs, with ties and zeros
    - "positive": above zero
    - "nonzero": not zero, of both signs
    - "whole": floats without a fraction, of both signs
    - "index": whole numbers, some outside of `low` to `high`
    - "inside": whole numbers from `low` to `high`
    - "unique": whole numbers from `low` to `high`, none of them twice
    - "special": infinities and NaN among others
    - "huge": as large as the type has them
    """

    kind: str = "general"
    low: int = 0
    high: int = 0


GENERAL = Domain()


@dataclass(frozen=True, slots=True)
class Instance:
    """A program of one op, and of the constants that it takes; its results are those of the op.

    `domains` belong to the parameters, `labels` name dims of ports, operands first, for people. `follows` are
    the attributes that change with what is split, by the rules. What is right for an `odd` one is right by
    chance.
    """

    program: Program
    domains: tuple[Domain, ...]
    labels: tuple[tuple[str, ...], ...] = ()
    follows: tuple[Localised, ...] = ()
    odd: bool = False

    @property
    def spec(self) -> OpSpec:
        """The row of the op table."""
        declared = self.program.declared
        return (OPS if declared is None else declared.table)[self.op.kind]

    @property
    def op(self) -> Op:
        """The op that is audited: the last one."""
        return self.program.ops[-1]

    @property
    def operand_types(self) -> tuple[TensorType, ...]:
        return tuple(self.program.type_of(value) for value in self.op.operands)

    @property
    def result_types(self) -> tuple[TensorType, ...]:
        return tuple(self.program.type_of(value) for value in self.op.results)

    @property
    def values(self) -> tuple[int, ...]:
        """The operands and results, one for each port."""
        return (*self.op.operands, *self.op.results)

    @property
    def types(self) -> tuple[TensorType, ...]:
        """The types of operands and results."""
        return tuple(self.program.type_of(value) for value in self.values)

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of operands and results."""
        return tuple(type_.shape for type_ in self.types)

    @property
    def elements(self) -> int:
        """How many elements all operands and results have: the size of a counter-example."""
        return sum(type_.elements for type_ in self.types)

    def label(self, port: int, dim: int) -> str:
        """What dim `dim` of the port is called; empty if it has no name of its own."""
        if port < len(self.labels) and dim < len(self.labels[port]):
            return self.labels[port][dim]
        return ""


def alone(instance: Instance) -> Program:
    """A program of the op alone, with a parameter for each operand, the constants among them too."""
    types = instance.types
    count = len(instance.operand_types)
    values = tuple(Value(number, f"v{number}", type_, PLACE) for number, type_ in enumerate(types))
    parameters, results = tuple(range(count)), tuple(range(count, len(types)))
    op = replace(instance.op, id=0, operands=parameters, results=results)
    return replace(
        instance.program,
        values=values,
        ops=(op,),
        parameters=parameters,
        results=results,
    )


@dataclass(slots=True)
class Maker:
    """An instance in the making; `sizes` are those that dims are drawn from."""

    rng: random.Random
    sizes: tuple[int, ...]
    builder: Builder = field(default_factory=lambda: Builder(name_for=Names().fresh))
    declarations: Declarations | None = None
    parameters: list[int] = field(default_factory=list)
    domains: list[Domain] = field(default_factory=list)

    def size(self) -> int:
        """A size of a dim."""
        return self.rng.choice(self.sizes)

    def shape(self, low: int = 0, high: int = 3) -> tuple[int, ...]:
        """A shape with `low` to `high` dims."""
        return tuple(self.size() for _ in range(self.rng.randint(low, high)))

    def parameter(self, dtype: str, shape: Sequence[int], domain: Domain = GENERAL) -> int:
        """An operand whose elements are drawn."""
        name = f"p{len(self.parameters)}"
        value = self.builder.parameter(name, TensorType(dtype, tuple(shape)), PLACE)
        self.parameters.append(value)
        self.domains.append(domain)
        return value

    def constant(self, dtype: str, shape: Sequence[int], element: str) -> int:
        """An operand that repeats one element."""
        given: dict[str, Attribute] = {"value": element, "dtype": dtype, "shape": tuple(shape)}
        return self.builder.emit("constant", (), given, PLACE)[0]

    def instance(
        self,
        kind: str,
        operands: Sequence[int] = (),
        attributes: Mapping[str, Attribute] | None = None,
        labels: Sequence[Sequence[str]] = (),
    ) -> Instance:
        """The instance of `kind`. ProgramError if the op cannot take these operands."""
        results = self.builder.emit(kind, operands, attributes or {}, PLACE)
        program = Program(
            Mesh(()),
            "audit",
            tuple(self.builder.values),
            tuple(self.builder.ops),
            tuple(self.parameters),
            results,
            (),
            declared=self.declarations,
        )
        check_ir(program)
        return Instance(program, tuple(self.domains), tuple(tuple(each) for each in labels))
