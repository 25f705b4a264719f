"""A call with arguments like those of an earlier one: what was formed then is written out once more.

What a call makes depends on its function, on the types of its tensors and on its literals; what stands around
it gives names and numbers. So of a hundred alike layers one is formed. Calls that reach outside of what they
make, by annotations, parameters or gradients, are formed anew each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kina.frontend.builder import Arg
from kina.frontend.former import OP_LIMIT, STEP_LIMIT, Definition, FormedCall, Former
from kina.frontend.names import Names
from kina.frontend.renumber import renumbered_op, renumbered_value
from kina.source import Span


@dataclass(frozen=True, slots=True)
class Call:
    """A call before its body is formed: `key` is all that the body depends on, None if that is not known."""

    key: object
    path: str
    arguments: tuple[int, ...]
    values: int
    ops: int
    steps: int
    paths: int
    callees: int
    outside: tuple[int, ...]


def begin(
    former: Former, callee: Definition, given: Mapping[str, Arg], path: str, inside_of: Span | None
) -> Call:
    """The call of a function that is now entered; library code is seen from the call `inside_of`."""
    builder = former.builder
    return Call(
        _key(former, callee, given, inside_of is None),
        path,
        tuple([value for arg in given.values() for value in arg.values]),
        len(builder.values),
        len(builder.ops),
        former.steps,
        len(former.made_paths),
        len(former.callees),
        _outside(former),
    )


def _key(former: Former, callee: Definition, given: Mapping[str, Arg], visible: bool) -> object:
    builder = former.builder
    if former.recorded is not None or any(param.annotations for param in callee.function.params):
        return None
    if builder.span_for != former.span_for:
        return None  # places are those of an op that is turned round
    parts: list[object] = [id(callee), id(former.frame.visible), builder.origin, former.inside, visible]
    places: dict[int, int] = {}
    for name, arg in given.items():
        if arg.literal is not None:
            parts.append((name, repr(arg.literal)))
            continue
        if len(arg.values) != 1:
            return None
        value = builder.values[arg.values[0]]
        # One tensor given twice is another case than two of one type.
        parts.append((name, value.type, value.splat, places.setdefault(value.id, len(places))))
    return tuple(parts)


def _outside(former: Former) -> tuple[int, ...]:
    """Grows with all that a call can change besides the values and ops that it makes."""
    notes = former.annotations
    return (
        notes.added,
        len(notes.findings),
        len(former.parameters),
        len(former.cotangents),
        len(former.carried),
        len(former.initial),
        former.gradients,
    )


def remember(former: Former, call: Call, result: Arg) -> None:
    """Keep what the body of the call made, if it can be written out again."""
    if call.key is None or call.outside != _outside(former):
        return
    values = tuple(former.builder.values[call.values :])
    ops = tuple(former.builder.ops[call.ops :])
    prefix, place = f"{call.path}.", former.outermost
    paths = tuple(former.made_paths[call.paths :])
    if not all(name.startswith(prefix) for name in (*[value.name for value in values], *paths)):
        return
    if _meets(former.names, {value.name for value in values}) or _meets(former.paths, set(paths)):
        return
    spans = [each.span for each in values] + [each.span for each in ops]
    if place is not None and any(span is not place for span in spans):
        return
    known = {*call.arguments, *[value.id for value in values]}
    if not known.issuperset([*result.values, *[value for op in ops for value in op.operands]]):
        return
    callees = frozenset(former.callees[call.callees :])
    steps = former.steps - call.steps
    former.formed_calls[call.key] = FormedCall(
        len(prefix), call.arguments, values, ops, result, paths, callees, former.depth, steps
    )


def _meets(names: Names, own: set[str]) -> bool:
    """Whether one of a call's own names has its number from a name outside."""
    bases = {name.rpartition("#")[0] for name in own if "#" in name}
    return any(base in names.taken for base in bases - own)


def again(former: Former, call: Call) -> Arg | None:
    """The results of a call like an earlier one, written out here; None if there is none that fits."""
    formed = former.formed_calls.get(call.key)
    if formed is None or not _fits(former, formed):
        return None
    prefix = f"{call.path}."
    names = [prefix + value.name[formed.prefix :] for value in formed.values]
    paths = [prefix + path[formed.prefix :] for path in formed.paths]
    if not (former.names.taken.isdisjoint(names) and former.paths.taken.isdisjoint(paths)):
        return None
    former.names.taken.update(names)
    former.paths.taken.update(paths)
    former.made_paths.extend(paths)
    former.steps += formed.steps
    former.callees.extend(formed.callees)
    number = dict(zip(formed.arguments, call.arguments, strict=True))
    number.update([(value.id, new) for new, value in enumerate(formed.values, call.values)])
    builder, place = former.builder, former.outermost
    builder.values.extend(
        [
            renumbered_value(value, number[value.id], name, place)
            for value, name in zip(formed.values, names, strict=True)
        ]
    )
    builder.ops.extend(
        [renumbered_op(op, index, number, place) for index, op in enumerate(formed.ops, call.ops)]
    )
    result = formed.result
    return Arg(result.span, tuple([number[value] for value in result.values]), result.literal)


def _fits(former: Former, formed: FormedCall) -> bool:
    """Whether to form the call would come to an end; if not, that is done, and says why."""
    return (
        former.depth <= formed.depth
        and former.steps + formed.steps <= STEP_LIMIT
        and len(former.builder.ops) + len(formed.ops) <= OP_LIMIT
        and formed.callees.isdisjoint(map(id, former.calls))
    )
