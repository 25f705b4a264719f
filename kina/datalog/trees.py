"""The syntax trees of rule files, kept between runs as JSON: reading them is a fraction of parsing.

A node is a list: the number of its class and its fields; -1 and the two ends of a span; -2 and the members of
a tuple.
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from kina import __version__
from kina.datalog import cache as kept
from kina.datalog import syntax
from kina.source import Source, Span

_SPAN, _TUPLE = -1, -2

#: The classes of nodes, by number.
CLASSES: tuple[type, ...] = (
    syntax.Variable,
    syntax.Wildcard,
    syntax.Number,
    syntax.Text,
    syntax.Arithmetic,
    syntax.Aggregate,
    syntax.Atom,
    syntax.Negation,
    syntax.Comparison,
    syntax.Metadata,
    syntax.Clause,
    syntax.Column,
    syntax.Declaration,
    syntax.Type,
    syntax.Directive,
    syntax.Component,
    syntax.Init,
    syntax.Include,
    syntax.Once,
)
_NUMBERS = {each: number for number, each in enumerate(CLASSES)}
_FIELDS = {each: tuple(field.name for field in fields(each)) for each in CLASSES}


@lru_cache(maxsize=128)
def parse(source: Source) -> syntax.RuleFile:
    """The syntax tree of a rule file, as `grammar.parse` gives and raises.

    A process that adds rules to the rule base, or compares two, asks for most files several times.
    """
    key = _key(source.text)
    match kept.read(key):
        case {"items": list(items)} if (known := _file(items, source)) is not None:
            return known
    tree = _parsed(source)
    kept.write(key, {"items": [_written(item) for item in tree.items]})
    return tree


def _parsed(source: Source) -> syntax.RuleFile:
    # The parser is made when it is needed, which takes as long as to read all trees.
    from kina.datalog import grammar

    return grammar.parse(source)


def _key(text: str) -> str:
    return kept.digest([b"tree", *_code(), text.encode("utf-8", "surrogateescape")])


@cache
def _code() -> tuple[bytes, ...]:
    """What trees depend on beside the text."""
    here = Path(__file__)
    files = [here, *(here.with_name(name) for name in ("grammar.py", "syntax.py"))]
    return __version__.encode(), *(file.read_bytes() for file in files)


def _written(node: Any) -> Any:
    match node:
        case None | bool() | int() | str():
            return node
        case Span():
            return [_SPAN, node.start, node.end]
        case tuple():
            return [_TUPLE, *map(_written, node)]
    kind = type(node)
    return [_NUMBERS[kind], *[_written(getattr(node, name)) for name in _FIELDS[kind]]]


def _file(items: list[Any], source: Source) -> syntax.RuleFile | None:
    """The tree that was written so; None if something else was."""

    def node(data: Any) -> Any:
        if type(data) is not list:
            return data
        number = data[0]
        if number == _SPAN:
            return Span(source, data[1], data[2])
        members = [node(each) for each in data[1:]]
        return tuple(members) if number == _TUPLE else CLASSES[number](*members)

    try:
        return syntax.RuleFile(source, tuple([node(item) for item in items]))
    except (TypeError, IndexError):
        return None
