"""Names what stands in a rule file where the grammar does not go on."""

from __future__ import annotations

import re

from lark import Token
from lark.exceptions import UnexpectedInput, UnexpectedToken

from kina.diagnostics.finding import Finding, error
from kina.source import Source, Span

#: Words that Soufflé reserves, which therefore name nothing in a rule file.
RESERVED = frozenset(
    {"autoinc", "band", "bor", "bxor", "bnot", "bshl", "bshr", "bshru", "land", "lor", "lxor", "lnot"}
    | {"match", "contains", "mean", "range", "count", "sum", "min", "max", "cat", "ord", "strlen", "substr"}
    | {"to_float", "to_number", "to_string", "to_unsigned", "as", "nil", "true", "false", "float", "unsigned"}
    | {"input", "output", "printsize", "stateful", "overridable", "eqrel", "inline", "no_inline", "magic"}
    | {"no_magic", "brie", "btree", "btree_delete", "debug_delta", "recursive_iteration_cnt"}
    | {"__FILE__", "__LINE__", "__INCL__"}
)

#: What stands at a character that opens a construct of Soufflé outside the subset.
_CONSTRUCTS = (
    (
        re.compile(r"\.(pragma|plan|functor|printsize|limitsize|lattice|override|number_type|symbol_type)\b"),
        "`{}`",
    ),
    (re.compile(r"#[a-z]*"), "the preprocessor line `{}`"),
    (re.compile(r"@![a-zA-Z_]*"), "the debugging atom `{}`"),
    (re.compile(r"@[a-zA-Z_]\w*"), "the user-defined functor `{}`"),
    (re.compile(r"\$\w*"), "the algebraic constructor `{}`"),
    (re.compile(r"\["), "a record"),
    (re.compile(r"\|"), "a union of types"),
    (re.compile(r";"), "`;` between alternatives"),
    (re.compile(r"\^"), "the power `^`"),
    (re.compile(r"->|::"), "`{}`"),
    (re.compile(r"[0-9]+\.[0-9]+"), "the float number `{}`"),
    (re.compile(r"0[xb][0-9a-fA-F]+"), "the number `{}`, which is not decimal"),
    (re.compile(r"[0-9]+u"), "the unsigned number `{}`"),
    (re.compile(r'"[^"\n]*\\[^"\n]*"'), "a string with a backslash"),
    (re.compile(r"choice-domain"), "`{}`"),
)

_HELP = "`docs/rules-language.md` lists what a rule file may hold"


def unsupported(what: str, span: Span) -> Finding:
    return error("K802", f"{what} is outside the rule language", span, notes=(_HELP,))


def explain(source: Source, fault: UnexpectedInput) -> Finding:
    """The finding for the place where lexer or parser stopped, naming the construct where it is known."""
    text = source.text
    token = fault.token if isinstance(fault, UnexpectedToken) else None
    if token is not None and token.type == "$END":
        end = len(text.rstrip())
        return error("K801", "the file ends inside a clause or directive", Span(source, max(0, end - 1), end))
    start = token.start_pos if token is not None else fault.pos_in_stream
    assert start is not None
    end = token.end_pos if token is not None else start + 1
    span = Span(source, start, end or start + 1)
    before = text[max(0, start - 200) : start]
    for pattern, what in _CONSTRUCTS:
        if match := pattern.match(text, start):
            return unsupported(what.format(match.group()), Span(source, start, match.end()))
    if text[start] == '"':
        return error("K801", "a string does not end on its line", span)
    if token is None or not isinstance(fault, UnexpectedToken):
        return error("K801", f"the character `{text[start]}` has no place here", span)
    return _explain_token(before, token, span, frozenset(fault.expected))


def _explain_token(before: str, token: Token, span: Span, expected: frozenset[str]) -> Finding:
    word = str(token)
    if word == "(" and re.search(r"\.(input|output)\s+[\w.]+\s*$", before):
        return error(
            "K803", "a directive has parameters, which can read and write any file", span, notes=(_HELP,)
        )
    previous = re.search(r"\b(\w+)\s*$", before)
    if previous and previous.group(1) in RESERVED and token.type != "DOC":
        return unsupported(f"`{previous.group(1)}`", span)
    if word == "-" and re.search(r"\bchoice$", before):
        return unsupported("`choice-domain`", span)
    if token.type == "NAME" and re.search(r"\b0$", before):
        return unsupported("a number that is not decimal", span)
    if word in RESERVED:
        place = " in this place" if word in {"count", "sum", "min", "max"} else ""
        return unsupported(f"`{word}`{place}", span)
    if "IF" in expected:
        if word == ",":
            return unsupported("a clause with several heads", span)
        if word == "<=":
            return unsupported("subsumption by `<=`", span)
    if word == "." and re.search(r"[0-9]$", before) and re.match(r"\.[0-9]", span.source.text[span.start :]):
        return unsupported("a float number", span)
    if word in {".type", ".comp", ".init", ".include", ".once"}:
        return unsupported(f"`{word}` inside a component", span)
    if word == "," and re.search(r"\.(input|output)\s+[\w.]+\s*$", before):
        return unsupported("a directive for several relations", span)
    if word == "," and re.search(r"\.decl\s+\w+\s*$", before):
        return unsupported("a declaration of several relations", span)
    if word == "<" and re.search(r"\.(comp|init)\b[^{}]*$", before):
        return unsupported("a component with type parameters", span)
    if word == "(" and re.search(r"\b[a-zA-Z_]\w*\s*$", before):
        return unsupported("a functor or an atom inside a term", span)
    if token.type == "DOC":
        return error(
            "K801", "`///` stands where it documents nothing", span, "only above `.decl`, `.type` or a clause"
        )
    return error("K801", f"`{word}` has no place here", span)
