"""The body of the emitted function while it grows: lines, names of values, scalar constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from kina.mlir.emit_text import identifier, number
from kina.mlir.syntax import TensorType


@dataclass(frozen=True, slots=True)
class Tensor:
    """A value of the emitted function: its name with `%`, its type on one device, and the type's text."""

    name: str
    type: TensorType
    text: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    @property
    def element(self) -> str:
        return self.type.dtype


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text: the macro that lays it out, and everything that it prints."""

    form: str
    fields: dict[str, object]


@dataclass(slots=True)
class Lines:
    """Collects lines; every name is given out once, every collective gets a channel of its own."""

    lines: list[Line] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    counter: int = 0
    channels: int = 0
    scalars: dict[tuple[str, str], Tensor] = field(default_factory=dict)
    #: the types by element and shape: programs have few different ones
    types: dict[tuple[str, tuple[int, ...]], tuple[TensorType, str]] = field(default_factory=dict)

    def name(self, wish: str = "") -> str:
        """A new name with `%`, like `wish` if that is free."""
        plain = identifier(wish) if wish else ""
        if not plain:
            plain = str(self.counter)
            self.counter += 1
        while plain in self.taken:
            self.counter += 1
            plain = f"{plain}_{self.counter}"
        self.taken.add(plain)
        return f"%{plain}"

    def tensor(self, name: str, element: str, shape: tuple[int, ...]) -> Tensor:
        key = (element, shape)
        known = self.types.get(key)
        if known is None:
            type_ = TensorType(element, shape)
            known = self.types[key] = (type_, str(type_))
        return Tensor(name, *known)

    def put(
        self, form: str, element: str, shape: tuple[int, ...], fields: dict[str, object], wish: str = ""
    ) -> Tensor:
        """A line with one result, which the macro gets as `result` and `type`."""
        made = self.tensor(self.name(wish), element, shape)
        fields["result"] = made.name
        fields["type"] = made.text
        self.lines.append(Line(form, fields))
        return made

    def alike(self, kind: str, operands: Sequence[Tensor], wish: str = "") -> Tensor:
        """An elementwise op whose operands and result have one type."""
        first = operands[0]
        return self.put(
            "plain",
            first.element,
            first.shape,
            {"kind": kind, "operands": ", ".join(each.name for each in operands)},
            wish,
        )

    def typed(
        self,
        kind: str,
        operands: Sequence[Tensor],
        element: str,
        shape: tuple[int, ...],
        clauses: str = "",
        wish: str = "",
    ) -> Tensor:
        """An op in the pretty form with the types of its operands and its result."""
        return self.put(
            "typed",
            element,
            shape,
            {
                "kind": kind,
                "operands": ", ".join(each.name for each in operands),
                "clauses": clauses,
                "inputs": ", ".join(each.text for each in operands),
            },
            wish,
        )

    def compare(self, direction: str, left: Tensor, right: Tensor, wish: str = "") -> Tensor:
        word = "UNSIGNED" if left.element in ("i1", "ui32") else "SIGNED"
        if left.element[0] in "fb":
            word = "FLOAT"
        fields: dict[str, object] = {
            "direction": direction,
            "left": left.name,
            "right": right.name,
            "compare_type": word,
            "input": left.text,
        }
        return self.put("compare", "i1", left.shape, fields, wish)

    def constant(self, text: str, element: str, shape: tuple[int, ...], wish: str = "") -> Tensor:
        """A constant of the dense elements `text`."""
        return self.put("constant", element, shape, {"elements": text}, wish)

    def scalar(self, value: str, element: str) -> Tensor:
        """A constant of rank 0; each value is written once."""
        key = (number(value, element), element)
        if key not in self.scalars:
            self.scalars[key] = self.constant(key[0], element, ())
        return self.scalars[key]

    def filled(self, value: str, like: Tensor) -> Tensor:
        """A constant of the type of `like` that repeats one element."""
        return self.constant(number(value, like.element), like.element, like.shape)

    def channel(self) -> int:
        self.channels += 1
        return self.channels
