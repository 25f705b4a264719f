"""Appends ops and values to a program that is being made; the one mutable thing of formation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from kina.diagnostics.finding import Finding, Help, Label, ProgramError
from kina.frontend.ir import Attribute, Op, TensorType, Value
from kina.frontend.ops import OPS, OpError, OpSpec, check_type, complete, infer
from kina.source import Span

#: A number, a flag, a word or text, or a list of these, nested at will.
Literal = int | float | bool | str | tuple["Literal", ...]

#: Ops that only repeat or move elements: the result repeats the one element that the operand repeats.
_KEEPS_SPLAT = frozenset({"broadcast_in_dim", "reshape", "transpose", "reverse", "slice"})


@dataclass(frozen=True, slots=True)
class Arg:
    """An evaluated argument of a surface form: values, or a literal if `literal` is not None.

    An expression with several results gives several values; mostly it is one.
    Bare words that are dtypes or in `kina.frontend.forms.WORDS` are literals of type str.
    """

    span: Span
    values: tuple[int, ...] = ()
    literal: Literal | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """A surface form with evaluated arguments: `(name arg... :keyword arg ...)`."""

    name: str
    args: tuple[Arg, ...]
    keywords: Mapping[str, Arg]
    span: Span


def _same_name(base: str) -> str:
    return base


def _same_span(span: Span) -> Span:
    return span


def _no_expansion(_: Op) -> tuple[int, ...]:
    raise KeyError("no op is declared")


@dataclass(slots=True)
class Builder:
    """A program under construction. `values[i].id == i` and `ops[i].id == i` always hold.

    `name_for` turns a base name into the unique printed one; `span_for` maps a place in library code
    to the user's call; `origin` is what new ops are marked with. While a surface form is built `head`
    is its name, and names of new values wait until it is known which of them the form returns.
    `table` is the op table with the ops that the program declares; `expand` appends the body of one of
    these and gives its results.
    """

    values: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    name_for: Callable[[str], str] = _same_name
    span_for: Callable[[Span], Span] = _same_span
    origin: str = "written"
    head: str | None = None
    table: Mapping[str, OpSpec] = field(default_factory=lambda: OPS)
    expand: Callable[[Op], tuple[int, ...]] = _no_expansion
    _cache: dict[object, tuple[tuple[tuple[str, Attribute], ...], tuple[TensorType, ...]]] = field(
        default_factory=dict, repr=False
    )

    def type_of(self, value: int) -> TensorType:
        """The type of a value."""
        return self.values[value].type

    def parameter(self, name: str, type_: TensorType, span: Span) -> int:
        """A new value that no op makes; `name` is the printed name.

        ProgramError K117 if a size is out of limits.
        """
        try:
            check_type(type_, "the type")
        except OpError as fault:
            raise self.located(fault, span) from None
        return self._append(name, type_, self.span_for(span), None)

    def emit(
        self,
        kind: str,
        operands: Sequence[int],
        attributes: Mapping[str, Attribute],
        span: Span,
        names: Sequence[str | None] = (),
    ) -> tuple[int, ...]:
        """Append an op and give the ids of its results.

        Attributes are completed with their defaults and types inferred; ProgramError with a located
        finding if the op cannot take them. `names` are base names of the results; without them the
        name of the surface form is used, or the kind outside of any.
        """
        full, result_types = self.resolved(kind, operands, attributes, span)
        place = self.span_for(span)
        splat = self._splat(kind, operands, attributes)
        results = tuple(
            [
                self._append(self._new_name(kind, names[i] if i < len(names) else None), type_, place, splat)
                for i, type_ in enumerate(result_types)
            ]
        )
        self.ops.append(Op(len(self.ops), kind, tuple(operands), results, full, place, self.origin))
        return results

    def resolved(
        self, kind: str, operands: Sequence[int], attributes: Mapping[str, Attribute], span: Span
    ) -> tuple[tuple[tuple[str, Attribute], ...], tuple[TensorType, ...]]:
        """The completed attributes of an op and its result types; ProgramError if it cannot be."""
        types = tuple([self.values[operand].type for operand in operands])
        key = (kind, types, tuple(attributes.items()))
        known = self._cache.get(key)
        if known is None:
            try:
                completed = complete(kind, types, attributes, self.table)
                known = (completed, infer(kind, types, dict(completed), self.table))
            except OpError as fault:
                raise self.located(fault, span, operands, kind) from None
            self._cache[key] = known
        return known

    def rename(self, value: int, name: str) -> None:
        """Give a value another printed name."""
        old = self.values[value]
        self.values[value] = Value(value, name, old.type, old.span, old.splat)

    def located(
        self, fault: OpError, span: Span, operands: Sequence[int] = (), kind: str = ""
    ) -> ProgramError:
        """The fault as a finding at `span`; inside library code, at the user's call with a note."""
        place = self.span_for(span)
        message = fault.message
        if kind and self.head is not None:
            # People wrote the form, not the kind it becomes.
            message = message.replace(f"`{kind}`", f"`{self.head}`")
        notes = () if place == span else (f"inside `{_first_line(span)}` at {span}",)
        labels = list(fault.labels)
        for operand in dict.fromkeys(operands):
            value = self.values[operand]
            # A label on the form itself, or on what encloses it, would say nothing.
            if value.span.source == place.source and not _overlap(value.span, place) and len(labels) < 4:
                labels.append(Label(value.span, f"`{value.name}` is {value.type}"))
        helps = (Help(fault.help),) if fault.help else ()
        return ProgramError(
            Finding(fault.code, "error", message, place, labels=tuple(labels), notes=notes, helps=helps)
        )

    def _append(self, name: str, type_: TensorType, span: Span, splat: str | None) -> int:
        self.values.append(Value(len(self.values), name, type_, span, splat))
        return len(self.values) - 1

    def _new_name(self, kind: str, base: str | None) -> str:
        if base is not None:
            return self.name_for(base)
        return "" if self.head is not None else self.name_for(kind)

    def _splat(self, kind: str, operands: Sequence[int], attributes: Mapping[str, Attribute]) -> str | None:
        if kind == "constant":
            value = attributes.get("value")
            return value if isinstance(value, str) and value else None
        return self.values[operands[0]].splat if kind in _KEEPS_SPLAT else None


def _first_line(span: Span) -> str:
    text = span.text.split("\n", 1)[0]
    return text if len(text) <= 40 else text[:37] + "..."


def _overlap(left: Span, right: Span) -> bool:
    return left.start < right.end and right.start < left.end
