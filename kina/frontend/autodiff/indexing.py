"""Derivatives of lookups: a gather's cotangent is scattered, a scatter's is gathered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from kina.frontend.autodiff.tape import Contributions, Rule, Step, Tape
from kina.frontend.ir import Attribute, TensorType


def _gather(tape: Tape, step: Step) -> Contributions:
    operand, indices = step.op.operands
    sizes = step.numbers("slice_sizes")
    map_, at = step.numbers("start_index_map"), step.number("index_vector_dim")
    shape = tape.shape(operand)
    limits = tuple([shape[dim] - sizes[dim] for dim in map_])
    attributes: dict[str, Attribute] = {
        "update_window_dims": step.numbers("offset_dims"),
        "inserted_window_dims": step.numbers("collapsed_slice_dims"),
        "input_batching_dims": step.numbers("operand_batching_dims"),
        "scatter_indices_batching_dims": step.numbers("start_indices_batching_dims"),
        "scatter_dims_to_operand_dims": map_,
        "index_vector_dim": at,
        "combiner": "add",
        "indices_are_sorted": step.number("indices_are_sorted") == 1,
    }
    held = _held(tape, indices, at, limits)
    return tape.emit_all("scatter", (tape.zeros(operand), held, step.cotangent), attributes)[0], None


def _held(tape: Tape, indices: int, at: int, limits: tuple[int, ...]) -> int:
    """The indices moved into bounds, as a gather moves them; a scatter would leave out what lies outside."""
    type_ = tape.type_of(indices)
    if len(set(limits)) <= 1:
        scalar = TensorType(type_.dtype, ())
        bounds = [tape.constant(each, scalar) for each in (0, max(limits, default=0))]
    else:
        bounds = [tape.constant(0, type_), _per_part(tape, type_, at, limits)]
    return tape.emit("clamp", (bounds[0], indices, bounds[1]))


def _per_part(tape: Tape, type_: TensorType, at: int, numbers: tuple[int, ...]) -> int:
    """A tensor of the type of the indices that repeats a number for each part of an index."""
    text = " ".join(map(str, numbers))
    row = tape.emit("constant", (), data=text, dtype=type_.dtype, shape=(len(numbers),))
    return tape.emit("broadcast_in_dim", (row,), broadcast_dimensions=(at,), shape=type_.shape)


def _scatter(tape: Tape, step: Step) -> Contributions:
    if step.word("combiner") == "add":
        g = step.cotangent
        return g, None, _added(tape, step, g) if step.wants[2] else None
    return _overwritten(tape, step)


def _added(tape: Tape, step: Step, g: int) -> int:
    """The cotangents of updates that were added: none for those that fell outside."""
    taken = _taken(tape, step, g)
    inside = _inside(tape, step)
    return taken if inside is None else tape.where(inside, taken)


def _taken(tape: Tape, step: Step, value: int) -> int:
    """What stands in `value`, which is like the operand, at the places of the updates."""
    indices, windows = step.operand(1), _window_sizes(tape, step)
    attributes: dict[str, Attribute] = {
        "offset_dims": step.numbers("update_window_dims"),
        "collapsed_slice_dims": step.numbers("inserted_window_dims"),
        "operand_batching_dims": step.numbers("input_batching_dims"),
        "start_indices_batching_dims": step.numbers("scatter_indices_batching_dims"),
        "start_index_map": step.numbers("scatter_dims_to_operand_dims"),
        "index_vector_dim": step.number("index_vector_dim"),
        "slice_sizes": windows,
        "indices_are_sorted": step.number("indices_are_sorted") == 1,
    }
    return tape.emit_all("gather", (value, indices), attributes)[0]


def _window_sizes(tape: Tape, step: Step) -> tuple[int, ...]:
    operand, _, updates = step.op.operands
    dropped = {*step.numbers("inserted_window_dims"), *step.numbers("input_batching_dims")}
    sizes = iter([tape.shape(updates)[dim] for dim in step.numbers("update_window_dims")])
    return tuple([1 if dim in dropped else next(sizes) for dim in range(len(tape.shape(operand)))])


def _inside(tape: Tape, step: Step) -> int | None:
    """For each update whether its index lies in bounds; None if no index has parts."""
    operand, indices, updates = step.op.operands
    map_, at = step.numbers("scatter_dims_to_operand_dims"), step.number("index_vector_dim")
    sizes, shape, type_ = _window_sizes(tape, step), tape.shape(operand), tape.type_of(indices)
    limits = tuple([shape[dim] - sizes[dim] for dim in map_])
    if not limits:
        return None
    single = len(set(limits)) == 1
    bound = tape.constant(limits[0], type_) if single else _per_part(tape, type_, at, limits)
    inside = tape.emit(
        "and",
        (
            tape.compare(indices, tape.constant(0, type_), "GE"),
            tape.compare(indices, bound, "LE"),
        ),
    )
    if at < type_.rank:
        inside = tape.emit("reduce", (inside,), dimensions=(at,), kind="and")
    windows = step.numbers("update_window_dims")
    batch = [dim for dim in range(len(tape.shape(updates))) if dim not in windows]
    return tape.broadcast(inside, batch, tape.shape(updates))


def _overwritten(tape: Tape, step: Step) -> Contributions:
    """Where updates overwrite: each update gets a number, and what is found in its place afterwards tells
    whether it is the one that stayed."""
    operand, indices, updates = step.op.operands
    type_, update_type = (replace(tape.type_of(each), dtype="i32") for each in (operand, updates))
    count = update_type.elements
    ids = tape.emit("iota", (), iota_dimension=0, dtype="i32", shape=(count,))
    ids = tape.emit("add", (ids, tape.constant(1, replace(update_type, shape=(count,)))))
    ids = tape.emit("reshape", (ids,), shape=update_type.shape)
    stayed = tape.emit_all("scatter", (tape.constant(0, type_), indices, ids), dict(step.op.attributes))[0]
    outside = inside = None
    if step.wants[0]:
        outside = tape.where(tape.compare(stayed, tape.constant(0, type_), "EQ"), step.cotangent)
    if step.wants[2]:
        won = tape.compare(_taken(tape, step, stayed), ids, "EQ")
        inside = tape.where(won, _taken(tape, step, step.cotangent))
    return outside, None, inside


RULES: Mapping[str, Rule] = {"gather": _gather, "scatter": _scatter}
