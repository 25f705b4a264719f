"""Annotations: what `@sharded(axis=0, mesh=data)` asks of a value, checked against mesh and type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from kina.diagnostics.finding import Edit, Finding, Help, Label, ProgramError, error
from kina.frontend.ast import ANNOTATION_KEYS, AnnotationForm, AnnotationItem, AxisList, AxisName, Number
from kina.frontend.ir import REDUCTIONS, Annotation, Mesh, TensorType
from kina.frontend.suggest import did_you_mean
from kina.source import Span

#: Mesh axes that annotations may name, at most: lists of axes are enumerated.
AXES_LIMIT = 6

#: Mesh axes that a help offers.
_LISTED = 3


@dataclass(frozen=True, slots=True)
class SizePlace:
    """Where the size of a dim stands in a type, and the number that says it, if that is written somewhere."""

    span: Span
    number: Span | None


@dataclass(slots=True)
class Annotations:
    """The annotations of a program so far, and the findings about them.

    `sizes` has the places of the sizes of values whose types are written.
    """

    mesh: Mesh
    by_value: dict[int, list[Annotation]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    sizes: dict[int, Sequence[SizePlace]] = field(default_factory=dict)
    #: how many values were given annotations
    added: int = 0

    def add(
        self,
        value: int,
        name: str,
        type_: TensorType,
        forms: Sequence[AnnotationForm],
    ) -> None:
        """Records the annotations of a value that is called `name`; faults become findings.

        Messages say the name as the program does, without the number that tells it from others of that name.
        """
        self.added += 1
        name = name.rpartition("#")[0] or name
        for form in forms:
            try:
                annotation = interpret(self.mesh, value, form)
                if annotation.dim is not None:
                    _check_size(self.mesh, name, type_, annotation, annotation.dim, self.sizes.get(value, ()))
                _check_reduction(name, type_, annotation)
                self._join(name, annotation)
            except ProgramError as fault:
                self.findings.extend(fault.findings)

    def follow(self, value: int, name: str, leader: int) -> None:
        """Gives a value, which is called `name`, the annotations of another; faults become findings."""
        self.added += 1
        for annotation in self.by_value.get(leader, ()):
            try:
                self._join(name, replace(annotation, value=value))
            except ProgramError as fault:
                self.findings.extend(fault.findings)

    def _join(self, name: str, new: Annotation) -> None:
        others = self.by_value.setdefault(new.value, [])
        for other in others:
            if _says_the_same(other, new):
                return
            fault = _clash(name, other, new)
            if fault is not None:
                raise ProgramError(fault)
        others.append(new)

    def all(self) -> tuple[Annotation, ...]:
        """Every annotation, by value; ProgramError with all findings, if there are any."""
        every = tuple([annotation for value in sorted(self.by_value) for annotation in self.by_value[value]])
        self._check_count(every)
        if self.findings:
            # each layer, and each call of a function, says the same of the same place
            raise ProgramError(*dict.fromkeys(self.findings))
        return every

    def _check_count(self, every: Sequence[Annotation]) -> None:
        used: dict[str, Span] = {}
        for annotation in every:
            if annotation.kind == "replicated":
                continue
            for axis in annotation.axes:
                used.setdefault(axis, annotation.span)
        if len(used) > AXES_LIMIT:
            message = f"{len(used)} mesh axes are annotated, and Kina plans for {AXES_LIMIT} at most"
            self.findings.append(error("K412", message, list(used.values())[AXES_LIMIT]))


def interpret(mesh: Mesh, value: int, form: AnnotationForm) -> Annotation:
    """What one annotation of `value` says; ProgramError if it says nothing that the mesh allows."""
    if form.name not in ANNOTATION_KEYS:
        message = (
            f"`@{form.name}` is no annotation; those are `@sharded`, `@replicated`, `@closed` and `@pending`"
        )
        raise ProgramError(error("K401", message, form.span, helps=did_you_mean(form.name, ANNOTATION_KEYS)))
    items = _items(form)
    match form.name:
        case "closed":
            return Annotation(value, "closed", form.span)
        case "replicated":
            everything = tuple([axis.name for axis in mesh.axes])
            axes = _axes(mesh, form, items) if "mesh" in items else everything
            return Annotation(value, "replicated", form.span, axes=axes)
        case "pending":
            return Annotation(
                value, "pending", form.span, axes=_axes(mesh, form, items), reduction=_reduction(items)
            )
    dim = _whole(items, "axis", form)
    axes = _axes(mesh, form, items)
    return Annotation(value, "sharded", form.span, dim, axes, _priority(items))


def _items(form: AnnotationForm) -> dict[str, AnnotationItem]:
    items: dict[str, AnnotationItem] = {}
    keys = ANNOTATION_KEYS[form.name]
    for item in form.items:
        if item.key not in keys:
            takes = ", ".join([f"`{key}`" for key in keys]) or "no arguments"
            message = f"`@{form.name}` has no argument `{item.key}`; it takes {takes}"
            raise ProgramError(error("K410", message, item.key_span, helps=did_you_mean(item.key, keys)))
        if item.key in items:
            raise ProgramError(error("K410", f"`{item.key}` is given twice", item.key_span))
        items[item.key] = item
    return items


def _whole(items: dict[str, AnnotationItem], key: str, form: AnnotationForm) -> int:
    if key not in items:
        raise ProgramError(
            error("K410", f"`@{form.name}` does not say `{key}=`, the dim that it splits", form.span)
        )
    value = items[key].value
    if not isinstance(value, Number) or not isinstance(value.value, int):
        raise ProgramError(error("K410", f"`{key}` is no whole number", value.span))
    return value.value


def _priority(items: dict[str, AnnotationItem]) -> int:
    if "priority" not in items:
        return 0
    value = items["priority"].value
    if isinstance(value, Number) and isinstance(value.value, int) and 0 <= value.value < 1 << 31:
        return value.value
    raise ProgramError(error("K409", "a priority is a whole number from 0 on", value.span))


def _reduction(items: dict[str, AnnotationItem]) -> str:
    if "kind" not in items:
        return "sum"
    value = items["kind"].value
    if isinstance(value, AxisName) and value.name in REDUCTIONS:
        return value.name
    said = value.span.text
    message = f"`{said}` is no kind of pending value; those are `sum`, `max`, `min` and `prod`"
    raise ProgramError(error("K411", message, value.span, helps=did_you_mean(said, REDUCTIONS)))


def _axes(mesh: Mesh, form: AnnotationForm, items: dict[str, AnnotationItem]) -> tuple[str, ...]:
    known = [axis.name for axis in mesh.axes]
    if "mesh" not in items:
        if len(known) == 1:
            return (known[0],)
        listed = ", ".join([f"`{name}`" for name in known])
        message = f"`@{form.name}` does not say which mesh axis it means: the mesh has {listed}"
        either = " or ".join([f"`mesh={name}`" for name in known[:_LISTED]])
        help_ = Help(f"write {either}, or `mesh=({','.join(known[:2])})` for both in turn")
        raise ProgramError(error("K404", message, form.span, helps=(help_,)))
    value = items["mesh"].value
    names = value.names if isinstance(value, AxisList) else (value,)
    if not names:
        message = "this list names no mesh axis"
        raise ProgramError(
            error("K410", message, value.span, helps=(Help("a dim that stays whole is said by `@closed`"),))
        )
    return _known_axes(known, names, form)


def _known_axes(
    known: list[str], names: Sequence[AxisName | Number], form: AnnotationForm
) -> tuple[str, ...]:
    axes: list[str] = []
    for name in names:
        text = name.name if isinstance(name, AxisName) else name.span.text
        if text not in known:
            listed = ", ".join([f"`{axis}`" for axis in known])
            message = f"the mesh has no axis `{text}`; it has {listed}"
            raise ProgramError(error("K403", message, name.span, helps=did_you_mean(text, known)))
        if text in axes:
            raise ProgramError(error("K406", f"`{text}` stands twice in one annotation", name.span))
        axes.append(text)
    return tuple(axes)


def _check_reduction(name: str, type_: TensorType, annotation: Annotation) -> None:
    if type_.dtype == "bool" and annotation.reduction in ("sum", "prod"):
        message = f"`{name}` is bool, and truth values have no {annotation.reduction}"
        helps = (Help("`kind=min` is true if all parts are, `kind=max` if any is"),)
        raise ProgramError(error("K411", message, annotation.span, helps=helps))


def _check_size(
    mesh: Mesh, name: str, type_: TensorType, annotation: Annotation, dim: int, sizes: Sequence[SizePlace]
) -> None:
    if not 0 <= dim < type_.rank:
        has = "has no dims" if type_.rank == 0 else f"has dims 0 to {type_.rank - 1}"
        message = f"`{name}` has no dim {dim}: {type_} {has}"
        helps = (Help(f"dims count from 0: the last one is {type_.rank - 1}"),) if type_.rank else ()
        raise ProgramError(error("K405", message, annotation.span, helps=helps))
    parts = 1
    for axis in annotation.axes:
        parts *= mesh.size(axis)
    size = type_.shape[dim]
    if size % parts:
        raise ProgramError(_indivisible(name, size, parts, annotation, sizes[dim] if sizes else None))


def _indivisible(
    name: str, size: int, parts: int, annotation: Annotation, place: SizePlace | None
) -> Finding:
    over = size % parts
    are = "is" if over == 1 else "are"
    by = annotation.axes[0] if len(annotation.axes) == 1 else f"({','.join(annotation.axes)})"
    below, above = size - over, size - over + parts
    message = f"dim {annotation.dim} of `{name}` has size {size}, which `{by}` = {parts} does not divide"
    edits = (Edit(place.number, str(above)),) if place is not None and place.number is not None else ()
    fits = f"sizes that fit: {below}, {above}" if below else f"sizes that fit: {above}"
    beside = place is not None and place.span.line == annotation.span.line
    return error(
        "K402",
        message,
        annotation.span,
        f"{over} of {size} {are} left over",
        labels=(Label(place.span, "" if beside else "its size"),) if place else (),
        helps=(Help(fits, proposed=edits),),
    )


def _says_the_same(old: Annotation, new: Annotation) -> bool:
    return (old.kind, old.dim, old.axes, old.priority, old.reduction) == (
        new.kind, new.dim, new.axes, new.priority, new.reduction
    )  # fmt: skip


def _clash(name: str, old: Annotation, new: Annotation) -> Finding | None:
    """What two annotations of one value cannot both say."""
    shared = [axis for axis in new.axes if axis in old.axes]
    kinds = {old.kind, new.kind}
    at = ""
    if kinds == {"sharded"} and old.dim == new.dim:
        what = "to different mesh axes" if old.axes != new.axes else "different priorities"
        code, message = "K408", f"two annotations give dim {new.dim} of `{name}` {what}"
    elif not shared:
        return None
    elif kinds == {"pending"}:
        code = "K408"
        message = f"two annotations make `{name}` pending on `{shared[0]}` by different kinds"
    elif kinds == {"sharded"}:
        code, at = "K406", "one axis can split one dim only"
        message = f"`{shared[0]}` splits both dim {old.dim} and dim {new.dim} of `{name}`"
    elif kinds == {"sharded", "pending"}:
        code, message = "K406", f"`{shared[0]}` both splits `{name}` and is pending on it"
    elif kinds == {"sharded", "replicated"}:
        code, message = "K407", f"`{name}` is both split over `{shared[0]}` and kept whole along it"
    else:
        return None
    helps = (_without(new, "the second"), _without(old, "the first"))
    return error(code, message, new.span, at, labels=(Label(old.span, "and this"),), helps=helps)


def _without(annotation: Annotation, which: str) -> Help:
    """To take one of two annotations away, if it is of this place alone."""
    span = annotation.span
    spaced = span.source.text[max(0, span.start - 1) : span.start] == " "
    edits = (Edit(replace(span, start=span.start - spaced), ""),) if span.text.startswith("@") else ()
    return Help(f"take {which} away: `{span.text}`", proposed=edits)


def refuse(span: Span, what: str) -> NoReturn:
    """Raises K413: the annotation at `span` stands on something that is no single tensor."""
    raise ProgramError(error("K413", f"an annotation stands on {what}, not on one tensor", span))
