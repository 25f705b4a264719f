"""Ops without operands: indices are counted from where the device's part begins."""

from __future__ import annotations

from kina.mlir.emit_lines import Lines, Tensor
from kina.mlir.emit_site import Emitted, Site, typed
from kina.mlir.emit_text import FLOATS, number


def iota(site: Site) -> Emitted:
    """The index is global: a device's part begins at its offset. It is counted in i32, which is exact."""
    dim, element, shape = site.number("iota_dimension"), site.elements[0], site.shapes[0]
    axes = site.layouts[0][dim]
    if not axes:
        return (counted_up(site.lines, dim, element, shape, site.names[0]),)
    counted = "i32" if element in FLOATS else element
    local = counted_up(site.lines, dim, counted, shape)
    offset = site.mover.offset(axes, shape[dim])
    if counted != "i32":
        offset = site.lines.typed("convert", (offset,), counted, ())
    spread = site.lines.typed("broadcast_in_dim", (offset,), counted, shape, ", dims = []")
    if counted == element:
        return (site.lines.alike("add", (local, spread), site.names[0]),)
    total = site.lines.alike("add", (local, spread))
    return typed(site, kind="convert", operands=(total,))


def counted_up(lines: Lines, dim: int, element: str, shape: tuple[int, ...], wish: str = "") -> Tensor:
    return lines.put("iota", element, shape, {"dim": dim}, wish)


def constant(site: Site) -> Emitted:
    element, shape = site.elements[0], site.shapes[0]
    value = site.word("value")
    if value:
        return (site.lines.constant(number(value, element), element, shape, site.names[0]),)
    words = [number(word, element) for word in site.word("data").split()]
    return (site.lines.constant(nested(words, shape), element, shape, site.names[0]),)


def nested(words: list[str], shape: tuple[int, ...]) -> str:
    """Elements in row-major order in the brackets of their shape."""
    if 0 in shape:
        return ""
    for size in reversed(shape):
        words = [f"[{', '.join(words[at : at + size])}]" for at in range(0, len(words), size)]
    return words[0]
