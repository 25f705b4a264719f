"""The op table: every kind of the typed IR, its operands, attributes and result types.

Kinds, operand order, attributes and meanings are those of the StableHLO specification, except that
a region is an attribute (`kind` of reduce, `combiner` of scatter, `direction` of sort), that hints
which change no value (precision, algorithm) are left out, and that arithmetic on truth values is
refused, where StableHLO would silently read `add` as `or`. Kinds of Kina's own have the section "Kina".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops import contraction, creation, elementwise, indexing, reduction, shaping
from kina.frontend.ops.core import (
    AttributeSpec,
    OpError,
    OpSpec,
    Results,
    check_type,
    listing,
)

__all__ = ["OPS", "AttributeSpec", "OpError", "OpSpec", "check_type", "complete", "infer"]

_MODULES = (elementwise, shaping, reduction, contraction, indexing, creation)
OPS: Mapping[str, OpSpec] = MappingProxyType(
    {spec.kind: spec for module in _MODULES for spec in module.SPECS}
)

Completed = tuple[tuple[str, Attribute], ...]


def complete(
    kind: str,
    operands: Sequence[TensorType],
    attributes: Mapping[str, Attribute],
    table: Mapping[str, OpSpec] = OPS,
) -> Completed:
    """All attributes of the kind, sorted by name, defaults filled in.

    OpError K104 on a wrong number of operands, K120 on an unknown or missing attribute or one of a
    wrong type, K121 on a word that is not a choice.
    """
    spec = table[kind]
    _check_count(spec, len(operands))
    for name in attributes:
        if name not in spec.by_name:
            known = listing([f"`{each}`" for each in spec.by_name]) or "none"
            raise OpError("K120", f"`{kind}` has no attribute `{name}`", f"its attributes: {known}")
    return tuple(
        (name, _value(spec, spec.by_name[name], operands, attributes)) for name in sorted(spec.by_name)
    )


def _check_count(spec: OpSpec, count: int) -> None:
    if spec.least <= count and (spec.most is None or count <= spec.most):
        return
    wanted = f"{spec.least}" if spec.least == spec.most else f"at least {spec.least}"
    raise OpError("K104", f"`{spec.kind}` takes {wanted} operand{'s' if wanted != '1' else ''}, not {count}")


def _value(
    spec: OpSpec, attribute: AttributeSpec, operands: Sequence[TensorType], given: Mapping[str, Attribute]
) -> Attribute:
    value = given.get(attribute.name)
    if value is None:
        default = attribute.default
        if default is None:
            raise OpError("K120", f"`{spec.kind}` needs `{attribute.name}`: {attribute.doc}")
        return default(operands, given) if callable(default) else default
    if not _has_type(attribute.type, value):
        raise OpError(
            "K120", f"`{attribute.name}` of `{spec.kind}` is a {_TYPE_WORDS[attribute.type]}, not {value!r}"
        )
    if attribute.choices and value not in attribute.choices:
        choices = listing([f"`{choice}`" for choice in attribute.choices])
        raise OpError("K121", f"`{attribute.name}` of `{spec.kind}` is one of {choices}, not `{value}`")
    return value


_TYPE_WORDS = {
    "number": "whole number",
    "flag": "truth value",
    "word": "word",
    "dtype": "dtype",
    "text": "text",
    "numbers": "list of whole numbers",
    "real": "number",
    "position": "whole number",
}


def _has_type(type_: str, value: Attribute) -> bool:
    match type_:
        case "number" | "position":
            return isinstance(value, int) and not isinstance(value, bool)
        case "flag":
            return isinstance(value, bool)
        case "real":
            return isinstance(value, float)
        case "numbers":
            return isinstance(value, tuple) and all(type(each) is int for each in value)
        case _:
            return isinstance(value, str)


def infer(
    kind: str,
    operands: Sequence[TensorType],
    attributes: Mapping[str, Attribute],
    table: Mapping[str, OpSpec] = OPS,
) -> Results:
    """The result types of an op with complete attributes. OpError, without a place, if it cannot be."""
    results = table[kind].infer(kind, operands, attributes)
    for result in results:
        check_type(result, f"the result of `{kind}`")
    return results
