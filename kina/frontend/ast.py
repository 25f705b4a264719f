"""The surface syntax tree: what a Kina file says, form by form, with the place of every node.

Spans take no part in comparison, so two trees are equal if they say the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kina.source import Source, Span


@dataclass(frozen=True, slots=True)
class Ref:
    """A name that stands for a value, a compile-time constant or a word such as `f32`."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    value: int | float
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Text:
    value: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Listing:
    """`[a b c]`, a compile-time list."""

    items: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Keyword:
    """`:name value` in a call."""

    name: str
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """`(head arg… :keyword value …)`: an op, a function or compile-time arithmetic."""

    head: str
    args: tuple[Expr, ...]
    keywords: tuple[Keyword, ...]
    head_span: Span = field(compare=False, repr=False)
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Binding:
    """`(name value)`, or `((a b) value)` where `value` gives several results."""

    names: tuple[Ref, ...]
    destructures: bool
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Let:
    bindings: tuple[Binding, ...]
    body: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Values:
    """`(values a b)`: several results."""

    items: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class If:
    """`(if condition then otherwise)`, decided at compile time."""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AxisName:
    """A mesh axis, or another word, as an annotation writes it."""

    name: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AxisList:
    """`(a,b)` in an annotation: mesh axes, major to minor."""

    names: tuple[AxisName, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AnnotationItem:
    """`key=value` in an annotation."""

    key: str
    value: Number | AxisName | AxisList
    key_span: Span = field(compare=False, repr=False)
    span: Span = field(compare=False, repr=False)


#: The annotations that there are, and the keys that each takes.
ANNOTATION_KEYS = {
    "sharded": ("axis", "mesh", "priority"),
    "replicated": ("mesh",),
    "closed": (),
    "pending": ("mesh", "kind"),
}


@dataclass(frozen=True, slots=True)
class AnnotationForm:
    """`@name` or `@name(key=value, …)`."""

    name: str
    items: tuple[AnnotationItem, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Annotated:
    """`(@ value @annotation …)`."""

    value: Expr
    annotations: tuple[AnnotationForm, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TypeForm:
    """`(tensor dtype [size…])`."""

    dtype: Ref
    shape: tuple[Expr, ...]
    shape_span: Span = field(compare=False, repr=False)
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter: its type if declared, or the default of a compile-time parameter."""

    name: Ref
    type: TypeForm | None
    default: Expr | None
    annotations: tuple[AnnotationForm, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Instance:
    """`(index (param @annotation …) …)`: annotations on the parameters of one repetition only."""

    index: Expr
    params: tuple[tuple[Ref, tuple[AnnotationForm, ...]], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Repeat:
    """`(repeat (name index count) ((state init) …) :params (…) :at (…) body…)`."""

    name: Ref
    index: Ref
    count: Expr
    carried: tuple[Binding, ...]
    params: tuple[Param, ...]
    instances: tuple[Instance, ...]
    body: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


Expr = Ref | Number | Text | Listing | Apply | Let | Values | If | Annotated | Repeat


@dataclass(frozen=True, slots=True)
class Function:
    """`(defn name (param…) @annotation… body…)`; `annotations` stand on the result."""

    name: Ref
    params: tuple[Param, ...]
    annotations: tuple[AnnotationForm, ...]
    body: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AttributeForm:
    """`(kind choice… :default value :least n :most n)`: what an attribute of a declared op may be."""

    kind: Ref
    choices: tuple[Ref, ...]
    default: Expr | None
    least: Expr | None
    most: Expr | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OpParam:
    """An operand of a declared op, by its type, or an attribute."""

    name: Ref
    type: TypeForm | AttributeForm
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OpForm:
    """`(defop name (param…) result body…)`: an op of the program's own, its result types and its meaning."""

    name: Ref
    params: tuple[OpParam, ...]
    results: tuple[TypeForm, ...]
    body: tuple[Expr, ...]
    span: Span = field(compare=False, repr=False)

    @property
    def operands(self) -> tuple[tuple[Ref, TypeForm], ...]:
        """The operands with their declared types."""
        return tuple((each.name, each.type) for each in self.params if isinstance(each.type, TypeForm))

    @property
    def attributes(self) -> tuple[tuple[Ref, AttributeForm], ...]:
        """The attributes with what they may be."""
        return tuple((each.name, each.type) for each in self.params if isinstance(each.type, AttributeForm))


@dataclass(frozen=True, slots=True)
class Define:
    """`(define name value)`, a compile-time constant."""

    name: Ref
    value: Expr
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Import:
    path: str
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MeshForm:
    """`(mesh (axis size) …)`."""

    axes: tuple[tuple[Ref, Expr], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Module:
    """One file: its top-level forms in the order in which they are written."""

    forms: tuple[MeshForm | Import | Define | Function | OpForm, ...]
    source: Source = field(compare=False, repr=False)
