"""Forms that look up and update rows, and one_hot."""

from __future__ import annotations

from kina.frontend.forms.core import Bound, Form
from kina.frontend.forms.parameters import dtype, flag, integer, integers, tensor, words
from kina.frontend.ir import Attribute, TensorType
from kina.frontend.ops import OPS
from kina.frontend.ops.core import show


def _take(bound: Bound) -> tuple[int, ...]:
    table, ids, dim = bound.value("table"), bound.value("ids"), bound.number("dim")
    type_, index_rank = bound.builder.type_of(table), bound.builder.type_of(ids).rank
    if not 0 <= dim < type_.rank:
        bound.refuse("K105", f"`dim` of `take` is {dim}, but {type_} has {type_.rank} dims, counted from 0")
    before, after = range(dim), range(dim + index_rank, type_.rank - 1 + index_rank)
    sizes = tuple([1 if each == dim else size for each, size in enumerate(type_.shape)])
    return (
        bound.emit(
            "gather",
            (table, ids),
            offset_dims=(*before, *after),
            collapsed_slice_dims=(dim,),
            start_index_map=(dim,),
            index_vector_dim=index_rank,
            slice_sizes=sizes,
        ),
    )


def _scatter_rows(bound: Bound, combiner: str) -> tuple[int, ...]:
    operand, ids = bound.value("operand"), bound.value("ids")
    type_, ids_type = bound.builder.type_of(operand), bound.builder.type_of(ids)
    if type_.rank == 0:
        bound.refuse("K119", f"`{bound.call.name}` takes a tensor with at least one dim, not {type_}")
    shape = ids_type.shape + type_.shape[1:]
    missing = bound.type("updates") is None
    updates = bound.value("updates", TensorType(type_.dtype, shape) if missing else None)
    found = bound.builder.type_of(updates)
    if found.shape != shape:
        bound.refuse(
            "K116",
            f"the updates of `{bound.call.name}` have one row of {type_} for each of the ids {ids_type}: "
            f"{show(shape)}, not {found}",
        )
    return (
        bound.emit(
            "scatter",
            (operand, ids, updates),
            update_window_dims=tuple(range(ids_type.rank, len(shape))),
            inserted_window_dims=(0,),
            scatter_dims_to_operand_dims=(0,),
            index_vector_dim=ids_type.rank,
            combiner=combiner,
        ),
    )


def _row_form(combiner: str) -> Form:
    doc = {
        "add": "added",
        "set": "written",
        "max": "combined by maximum",
        "min": "combined by minimum",
        "mul": "multiplied",
    }
    return Form(
        f"scatter_{combiner}",
        (tensor("operand"), tensor("ids"), tensor("updates")),
        f"the tensor with the updates {doc[combiner]} at the rows that `ids` names",
        lambda bound: _scatter_rows(bound, combiner),
    )


def _one_hot(bound: Bound) -> tuple[int, ...]:
    ids, count, target = bound.value("ids"), bound.number("n"), bound.text("dtype")
    type_ = bound.builder.type_of(ids)
    if type_.dtype not in ("i32", "i64"):
        bound.refuse("K103", f"`one_hot` takes whole numbers, not {type_}")
    shape = (*type_.shape, count)
    numbers = bound.emit("iota", (), iota_dimension=type_.rank, dtype=type_.dtype, shape=shape)
    spread = bound.emit(
        "broadcast_in_dim", (ids,), broadcast_dimensions=tuple(range(type_.rank)), shape=shape
    )
    equal = bound.emit("compare", (spread, numbers), comparison_direction="EQ")
    return (equal if target == "bool" else bound.emit("convert", (equal,), dtype=target),)


def _with_attributes(bound: Bound, kind: str, operands: tuple[str, ...]) -> tuple[int, ...]:
    attributes: dict[str, Attribute] = {}
    for spec in OPS[kind].attributes:
        if not bound.has(spec.name):
            continue
        match spec.type:
            case "number":
                attributes[spec.name] = bound.number(spec.name)
            case "numbers":
                attributes[spec.name] = bound.numbers(spec.name)
            case "flag":
                attributes[spec.name] = bound.flag(spec.name)
            case _:
                attributes[spec.name] = bound.text(spec.name)
    return bound.builder.emit(kind, [bound.value(name) for name in operands], attributes, bound.call.span)


def _plain_form(kind: str) -> Form:
    """The op itself: operands by place, all attributes as options under their StableHLO names."""
    spec = OPS[kind]
    parameters = [tensor(name) for name in spec.operand_names]
    for each in spec.attributes:
        match each.type:
            case "number":
                parameters.append(integer(each.name, optional=True))
            case "numbers":
                parameters.append(integers(each.name, optional=True))
            case "flag":
                parameters.append(flag(each.name))
            case _:
                parameters.append(words(each.name, each.choices, optional=True))
    return Form(
        kind,
        tuple(parameters),
        f"{spec.doc}; options as in the StableHLO specification",
        lambda bound: _with_attributes(bound, kind, spec.operand_names),
    )


FORMS = (
    Form(
        "take",
        (tensor("table"), tensor("ids"), integer("dim", 0)),
        "the rows of a table that `ids` names, as in an embedding: a table [V D] and ids [B S] give [B S D];"
        " ids beyond the table are moved to its ends",
        _take,
    ),
    *(_row_form(combiner) for combiner in ("add", "set", "max", "min", "mul")),
    Form(
        "one_hot",
        (tensor("ids"), integer("n"), dtype("dtype", "f32")),
        "1 where the index along a new last dim of size n is the id, else 0",
        _one_hot,
    ),
    *(_plain_form(kind) for kind in ("gather", "scatter", "dot_general", "convolution")),
)
