"""Ops that move elements, with bounds and sizes as they are on one device."""

from __future__ import annotations

from kina.mlir.emit_lines import Line
from kina.mlir.emit_site import Emitted, Site, binding, several, typed
from kina.mlir.emit_text import numbers


def broadcast(site: Site) -> Emitted:
    return typed(site, f", dims = {numbers(site.list('broadcast_dimensions'))}")


def transpose(site: Site) -> Emitted:
    return typed(site, f", dims = {numbers(site.list('permutation'))}")


def sliced(site: Site) -> Emitted:
    """Bounds are global; on a split dim the slice is the whole dim, and its limit the size of the shard."""
    limits = site.spanned(site.list("limit_indices"), site.wholes[0], site.operands[0].shape)
    bounds = zip(site.list("start_indices"), limits, site.list("strides"), strict=True)
    listed = ", ".join([f"{a}:{b}" if step == 1 else f"{a}:{b}:{step}" for a, b, step in bounds])
    return typed(site, f" [{listed}]")


def dynamic_slice(site: Site) -> Emitted:
    return typed(site, f", sizes = {numbers(site.shapes[0])}")


def concatenate(site: Site) -> Emitted:
    return typed(site, f", dim = {site.number('dimension')}")


def pad(site: Site) -> Emitted:
    low, high, between = (
        numbers(site.list(name)) for name in ("edge_padding_low", "edge_padding_high", "interior_padding")
    )
    return typed(site, f", low = {low}, high = {high}, interior = {between}")


def reverse(site: Site) -> Emitted:
    return typed(site, f", dims = {numbers(site.list('dimensions'))}")


def barrier(site: Site) -> Emitted:
    if not site.operands:
        return ()
    results = several(site.lines, site.operands, site.names)
    fields: dict[str, object] = {
        "results": binding(results),
        "operands": ", ".join(each.name for each in site.operands),
        "types": ", ".join(each.text for each in site.operands),
    }
    site.lines.lines.append(Line("optimization_barrier", fields))
    return results


def reshard(site: Site) -> Emitted:
    return site.operands
