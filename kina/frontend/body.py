"""The meaning of declared ops as programs of their own, at the shapes and attributes of one op."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kina.frontend.builder import Builder
from kina.frontend.constants import drop_unused
from kina.frontend.former import Former, Frame, Globals
from kina.frontend.ir import Attribute, Mesh, Program, TensorType
from kina.frontend.names import entry_scope
from kina.frontend.ops import OPS, OpError, OpSpec

_Key = tuple[str, tuple[TensorType, ...], tuple[tuple[str, Attribute], ...]]


@dataclass(frozen=True, slots=True)
class Declarations:
    """The ops that a program declares, with all that their bodies can name."""

    visible: Globals
    library: Globals
    _bodies: dict[_Key, Program] = field(default_factory=dict, compare=False, repr=False)

    @property
    def table(self) -> Mapping[str, OpSpec]:
        """The op table with the ops that are declared."""
        return {**OPS, **{kind: declared.spec for kind, declared in self.visible.ops.items()}}

    def positions(self, kind: str) -> tuple[str, ...]:
        """The attributes of a kind that are positions, in the order of the declaration."""
        form = self.visible.ops[kind].form
        return tuple(name.name for name, each in form.attributes if each.kind.name == "position")

    def body(
        self, kind: str, types: tuple[TensorType, ...], attributes: tuple[tuple[str, Attribute], ...]
    ) -> Program:
        """The body of an op of a kind as a program, for operands of these types and complete attributes.

        Its parameters are the operands, then the positions as scalars of i32. ProgramError where the body is
        wrong at these types.
        """
        key = (kind, types, self.fixed(kind, attributes))
        known = self._bodies.get(key)
        if known is None:
            known = self._bodies[key] = self._formed(kind, types, dict(attributes))
        return known

    def fixed(
        self, kind: str, attributes: tuple[tuple[str, Attribute], ...]
    ) -> tuple[tuple[str, Attribute], ...]:
        """The attributes that a body is made for: all but positions, which it takes as operands."""
        positions = self.positions(kind)
        return tuple([each for each in attributes if each[0] not in positions])

    def _formed(
        self, kind: str, types: tuple[TensorType, ...], attributes: Mapping[str, Attribute]
    ) -> Program:
        from kina.frontend.form_annotations import Annotations
        from kina.frontend.form_op import attach, expand

        declared = self.visible.ops[kind]
        form = declared.form
        builder = Builder()
        frame = Frame({}, entry_scope(kind), self.visible)
        former = Former(builder, Annotations(Mesh(())), self.visible, self.library, frame)
        attach(former, self)
        operands = [
            builder.parameter(former.name_for(name.name), type_, name.span)
            for (name, _), type_ in zip(form.operands, types, strict=True)
        ]
        positions = {
            name: builder.parameter(former.name_for(name), TensorType("i32", ()), form.span)
            for name in self.positions(kind)
        }
        for value in (*operands, *positions.values()):
            former.add_parameter(value)
        try:
            results = expand(former, declared, operands, attributes, positions, form.name.span)
        except OpError as fault:
            raise builder.located(fault, form.name.span) from None
        return drop_unused(
            Program(
                mesh=Mesh(()),
                entry=kind,
                values=tuple(builder.values),
                ops=tuple(builder.ops),
                parameters=tuple(former.parameters),
                results=results,
                annotations=(),
                declared=self,
                span=form.span,
            )
        )
