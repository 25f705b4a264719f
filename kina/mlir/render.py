"""Fills the templates: one macro per form of line. They lay out and decide nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined

from kina.mlir.emit_lines import Line

_FAMILIES = ("elementwise", "creation", "reduction", "contraction", "indexing", "collective", "function")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    folder = files("kina") / "mlir_templates"
    texts = {
        f"{name}.mlir.j2": (folder / f"{name}.mlir.j2").read_text(encoding="utf-8")
        for name in (*_FAMILIES, "module")
    }
    # MLIR is not HTML: what must be escaped is escaped where strings are made
    return Environment(loader=DictLoader(texts), undefined=StrictUndefined, keep_trailing_newline=True)  # noqa: S701


@lru_cache(maxsize=1)
def _forms() -> dict[str, Callable[..., str]]:
    """Every macro by its name; names are unique among the families."""
    found: dict[str, Callable[..., str]] = {}
    for family in _FAMILIES:
        module = _environment().get_template(f"{family}.mlir.j2").module
        for name, macro in vars(module).items():
            if callable(macro):
                found[name] = macro
    return found


def render_lines(lines: Iterable[Line]) -> list[str]:
    """The text of each line."""
    forms = _forms()
    return [forms[line.form](**line.fields) for line in lines]


def render_module(**fields: object) -> str:
    """The text of a module around lines that are text already."""
    return _environment().get_template("module.mlir.j2").render(fields)
