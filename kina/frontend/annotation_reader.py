"""Reads `@name(key=value, …)`, which is not an S-expression: its brackets touch its name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kina.frontend.ast import ANNOTATION_KEYS, AnnotationForm, AnnotationItem, AxisList, AxisName, Number
from kina.frontend.ir import REDUCTIONS
from kina.frontend.tokens import SKIP, fail, number, quoted
from kina.source import Source, Span

_PIECE = re.compile(r"[^\s()\[\]{}\";|'`=,]+|[=,()]")


@dataclass(frozen=True, slots=True)
class _Piece:
    """A mark `= , ( )`, or a word with an empty mark."""

    mark: str
    word: str
    start: int
    end: int
    quoted: bool = False


def read_annotation(source: Source, start: int, end: int) -> AnnotationForm:
    """The annotation whose `@name` is `start` to `end`, with the argument list that touches it, if any.

    Raises ProgramError where the list is malformed.
    """
    name = source.text[start + 1 : end]
    if source.text[end : end + 1] != "(":
        return AnnotationForm(name, (), Span(source, start, end))
    items: list[AnnotationItem] = []
    piece = _next(source, end + 1, end)
    while piece.mark != ")":
        if items:
            if piece.mark != ",":
                fail(source, "K410", "a `,` is missing before this", piece.start, piece.end)
            piece = _next(source, piece.end, end)
        item = _item(source, piece, end)
        items.append(item)
        piece = _next(source, item.span.end, end)
    return AnnotationForm(name, tuple(items), Span(source, start, piece.end))


def _meant(word: str) -> str:
    """How a bare word is written that stands for a dim, a mesh axis or a kind, "" if it is a key."""
    if word.lstrip("-").isdigit():
        return f"a dim is written `axis={word.lstrip('-')}`, counted from 0"
    if word in REDUCTIONS:
        return f"a kind of pending value is written `kind={word}`"
    is_key = any(word in keys for keys in ANNOTATION_KEYS.values())
    return "" if is_key else f"a mesh axis is written `mesh={word}`"


def _item(source: Source, key: _Piece, opened: int) -> AnnotationItem:
    if key.mark:
        message = "an annotation's arguments are written `key=value`"
        fail(source, "K410", message, key.start, key.end, "such as `@sharded(axis=0, mesh=x)`")
    equals = _next(source, key.end, opened)
    if equals.mark != "=":
        message = f"`{key.word}` is not followed by `=` and a value"
        fail(source, "K410", message, key.start, key.end, _meant(key.word))
    piece = _next(source, equals.end, opened)
    value: Number | AxisName | AxisList
    if piece.mark == "(":
        value = _axes(source, piece, opened)
    elif piece.mark:
        fail(source, "K410", f"the value of `{key.word}` is missing", key.start, equals.end)
    else:
        value = _scalar(source, piece)
    span = Span(source, key.start, value.span.end)
    return AnnotationItem(key.word, value, Span(source, key.start, key.end), span)


def _axes(source: Source, first: _Piece, opened: int) -> AxisList:
    names: list[AxisName] = []
    piece = _next(source, first.end, opened)
    while piece.mark != ")":
        if names:
            if piece.mark != ",":
                fail(source, "K410", "a `,` is missing before this", piece.start, piece.end)
            piece = _next(source, piece.end, opened)
        if piece.mark:
            fail(source, "K410", "a list holds names of mesh axes", piece.start, piece.end)
        names.append(AxisName(piece.word, Span(source, piece.start, piece.end)))
        piece = _next(source, piece.end, opened)
    return AxisList(tuple(names), Span(source, first.start, piece.end))


def _scalar(source: Source, piece: _Piece) -> Number | AxisName:
    span = Span(source, piece.start, piece.end)
    value = None if piece.quoted else number(piece.word, span)
    return AxisName(piece.word, span) if value is None else Number(value, span)


def _next(source: Source, i: int, opened: int) -> _Piece:
    """The next word or mark at or after `i`; `opened` is where the argument list begins."""
    if blank := SKIP.match(source.text, i):
        i = blank.end()
    if i >= len(source.text):
        fail(source, "K001", "this `(` is never closed", opened, opened + 1)
    if source.text[i] == "|":
        end, word = quoted(source, i)
        return _Piece("", word, i, end, True)
    match = _PIECE.match(source.text, i)
    if match is None:
        fail(source, "K410", f"`{source.text[i]}` has no meaning in an annotation", i, i + 1)
    text = match.group()
    is_mark = text in ("=", ",", "(", ")")
    return _Piece(text if is_mark else "", "" if is_mark else text, i, match.end())
