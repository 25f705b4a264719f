"""Ops that look elements up, write them at places, or sort them."""

from __future__ import annotations

from collections.abc import Sequence

from kina.mlir.emit_lines import Line, Lines, Tensor
from kina.mlir.emit_moves import combiner
from kina.mlir.emit_site import Emitted, Site, binding, several
from kina.mlir.emit_text import FLOATS, array, numbers


def gather(site: Site) -> Emitted:
    operand, indices = site.operands
    names = ("offset_dims", "collapsed_slice_dims", "operand_batching_dims", "start_indices_batching_dims")
    fields: dict[str, object] = {name: numbers(site.list(name)) for name in names}
    fields |= {
        "operand": operand.name,
        "indices": indices.name,
        "inputs": f"{operand.text}, {indices.text}",
        "start_index_map": numbers(site.list("start_index_map")),
        "index_vector_dim": site.number("index_vector_dim"),
        "sizes": array(site.spanned(site.list("slice_sizes"), site.wholes[0], operand.shape)),
        "sorted": "true" if site.flag("indices_are_sorted") else "false",
    }
    return (site.lines.put("gather", site.elements[0], site.shapes[0], fields, site.names[0]),)


_SCATTERED = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}


def scatter(site: Site) -> Emitted:
    word, element = site.word("combiner"), site.elements[0]
    names = (
        "update_window_dims",
        "inserted_window_dims",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "scatter_dims_to_operand_dims",
    )
    fields: dict[str, object] = {name: numbers(site.list(name)) for name in names}
    fields |= {
        "operands": ", ".join(each.name for each in site.operands),
        "inputs": ", ".join(each.text for each in site.operands),
        "index_vector_dim": site.number("index_vector_dim"),
        "sorted": "true" if site.flag("indices_are_sorted") else "false",
        "unique": "true" if site.flag("unique_indices") else "false",
        "combiner": combiner(_SCATTERED[word], element) if word != "set" else "",
        "element": f"tensor<{element}>",
    }
    return (site.lines.put("scatter", element, site.shapes[0], fields, site.names[0]),)


def sort(site: Site) -> Emitted:
    direction = "LT" if site.word("direction") == "ascending" else "GT"
    return sorted_by_first(
        site.lines, site.operands, site.number("dimension"), direction, site.flag("is_stable"), site.names
    )


def sorted_by_first(
    lines: Lines,
    operands: Sequence[Tensor],
    dim: int,
    direction: str,
    stable: bool,
    names: Sequence[str],
) -> Emitted:
    """All operands in the order of the first."""
    pairs = [
        f"%p{2 * i}: tensor<{each.element}>, %p{2 * i + 1}: tensor<{each.element}>"
        for i, each in enumerate(operands)
    ]
    key = operands[0].element
    word = "FLOAT" if key in FLOATS else "UNSIGNED" if key == "i1" else "SIGNED"
    results = several(lines, operands, names)
    fields: dict[str, object] = {
        "results": binding(results),
        "operands": ", ".join(each.name for each in operands),
        "types": ", ".join(each.text for each in operands),
        "dim": dim,
        "stable": "true" if stable else "false",
        "pairs": ", ".join(pairs),
        "direction": direction,
        "compare_type": word,
        "key": f"tensor<{key}>",
    }
    lines.lines.append(Line("sort", fields))
    return results
