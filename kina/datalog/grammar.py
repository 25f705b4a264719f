"""Reads one rule file: the subset of Soufflé's language that `docs/rules-language.md` describes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedInput

from kina.datalog import syntax
from kina.datalog.syntax_errors import RESERVED, explain, unsupported
from kina.diagnostics.finding import ProgramError, error
from kina.source import Source, Span

#: Operators nested deeper than this in one term are refused, so that no later stage overflows.
DEPTH_LIMIT = 100

_GRAMMAR = r"""
start: item*
?item: clause | decl | type | directive | comp | init | include | once
once: ".once"
include: INCLUDE STRING
type: meta ".type" NAME (SUBTYPE | "=") NAME
decl: meta ".decl" NAME "(" [_columns] ")"
_columns: column ("," column)*
column: NAME ":" NAME
directive: (INPUT | OUTPUT) qname
comp: ".comp" NAME [":" NAME] "{" _member* "}"
_member: clause | decl | directive
init: ".init" NAME "=" NAME
meta: (DOC | annotation)*
annotation: "@[" _entry ("," _entry)* "]"
_entry: entry
entry: NAME ["=" STRING]
clause: meta atom [IF _body] "."
_body: _premise ("," _premise)*
_premise: atom | negation | comparison
atom: qname "(" [_terms] ")"
_terms: term ("," term)*
negation: "!" atom
comparison: side OPERATOR side | side "=" side
?side: term | aggregate
aggregate: COUNT ":" "{" _body "}" | FOLD term ":" "{" _body "}"
?term: sum
?sum: product | sum (PLUS | MINUS) product -> arithmetic
?product: unary | product (TIMES) unary -> arithmetic
?unary: MINUS unary -> negative | primary
?primary: NAME -> variable | "_" -> wildcard | NUMBER -> number | STRING -> text | group
group: "(" term ")"
qname: NAME | QNAME

INCLUDE: ".include"
INPUT: ".input"
OUTPUT: ".output"
COUNT.3: /count\b/
FOLD.3: /(sum|min|max)\b/
SUBTYPE.2: "<:"
IF.2: ":-"
PLUS: "+"
MINUS: "-"
TIMES: "*" | "/" | "%"
OPERATOR: "!=" | "<=" | ">=" | "<" | ">"
NAME: /(?:[a-zA-Z]|_(?=[a-zA-Z0-9_]))[a-zA-Z0-9_]*/
QNAME.2: /[a-zA-Z_][a-zA-Z0-9_]*(\.[a-zA-Z_][a-zA-Z0-9_]*)+/
NUMBER: /[0-9]+/
STRING: /"[^"\\\n\r\t]*"/
DOC.2: /\/\/\/[^\n]*/
COMMENT: /\/\/(?!\/)[^\n]*/ | /\/\*(.|\n)*?\*\//
%ignore COMMENT
%ignore /[ \t\r\n\f]+/
"""


class _Builder(Transformer[Token, syntax.RuleFile]):
    """Turns each reduced production into a node; children include the punctuation, for the spans."""

    def __init__(self) -> None:
        super().__init__(visit_tokens=False)
        self.source = Source("", "")

    def _span(self, children: list[Any]) -> Span:
        first, last = children[0], children[-1]
        start = first.start_pos if isinstance(first, Token) else first.span.start
        end = last.end_pos if isinstance(last, Token) else last.span.end
        return Span(self.source, int(start or 0), int(end or 0))

    def start(self, children: list[Any]) -> syntax.RuleFile:
        return syntax.RuleFile(self.source, tuple(children))

    def once(self, children: list[Any]) -> syntax.Once:
        return syntax.Once(self._span(children))

    def include(self, children: list[Any]) -> syntax.Include:
        return syntax.Include(str(children[1])[1:-1], self._span(children))

    def type(self, children: list[Any]) -> syntax.Type:
        (doc, metadata), _, name, relation, base = children
        alias = str(relation) == "="
        return syntax.Type(self._name(name), str(base), alias, metadata, doc, self._span(children[1:]))

    def decl(self, children: list[Any]) -> syntax.Declaration:
        doc, metadata = children[0]
        columns = tuple(child for child in children if isinstance(child, syntax.Column))
        return syntax.Declaration(self._name(children[2]), columns, metadata, doc, self._span(children[1:]))

    def column(self, children: list[Any]) -> syntax.Column:
        return syntax.Column(self._name(children[0]), str(children[2]), self._span(children))

    def directive(self, children: list[Any]) -> syntax.Directive:
        word, name = children
        return syntax.Directive(str(word)[1:], name[0], self._span([word, name[1]]))

    def comp(self, children: list[Any]) -> syntax.Component:
        base = self._name(children[3]) if str(children[2]) == ":" else None
        members = (syntax.Declaration, syntax.Directive, syntax.Clause)
        items = tuple(child for child in children if isinstance(child, members))
        return syntax.Component(self._name(children[1]), base, items, self._span(children))

    def init(self, children: list[Any]) -> syntax.Init:
        return syntax.Init(self._name(children[1]), self._name(children[3]), self._span(children))

    def meta(self, children: list[Any]) -> tuple[str, tuple[syntax.Metadata, ...]]:
        lines = [str(child)[3:].removeprefix(" ").rstrip() for child in children if isinstance(child, Token)]
        entries = [entry for child in children if not isinstance(child, Token) for entry in child]
        return "\n".join(lines), tuple(entries)

    def annotation(self, children: list[Any]) -> list[syntax.Metadata]:
        return [child for child in children if isinstance(child, syntax.Metadata)]

    def entry(self, children: list[Any]) -> syntax.Metadata:
        text = str(children[2])[1:-1] if len(children) > 2 else ""
        return syntax.Metadata(str(children[0]), text, self._span(children))

    def clause(self, children: list[Any]) -> syntax.Clause:
        doc, metadata = children[0]
        body = tuple(child for child in children[2:] if not isinstance(child, Token))
        return syntax.Clause(children[1], body, metadata, doc, self._span(children[1:]))

    def atom(self, children: list[Any]) -> syntax.Atom:
        name, token = children[0]
        arguments = tuple(child for child in children[1:] if not isinstance(child, Token))
        return syntax.Atom(name, arguments, self._span([token, children[-1]]))

    def negation(self, children: list[Any]) -> syntax.Negation:
        return syntax.Negation(children[1], self._span(children))

    def comparison(self, children: list[Any]) -> syntax.Comparison:
        left, operator, right = children
        return syntax.Comparison(str(operator), left, right, self._span(children))

    def aggregate(self, children: list[Any]) -> syntax.Aggregate:
        counts = str(children[0]) == "count"
        rest = children[1:] if counts else children[2:]
        body = tuple(child for child in rest if not isinstance(child, Token))
        return syntax.Aggregate(str(children[0]), None if counts else children[1], body, self._span(children))

    def arithmetic(self, children: list[Any]) -> syntax.Arithmetic:
        left, operator, right = children
        return self._operation(str(operator), left, right, self._span(children))

    def negative(self, children: list[Any]) -> syntax.Term:
        span = self._span(children)
        operand = children[1]
        if isinstance(operand, syntax.Number) and operand.value > 0:
            return syntax.Number(-operand.value, span)
        return self._operation("-", syntax.Number(0, span), operand, span)

    def _operation(
        self, operator: str, left: syntax.Term, right: syntax.Term, span: Span
    ) -> syntax.Arithmetic:
        depth = 1 + max(getattr(left, "depth", 0), getattr(right, "depth", 0))
        if depth > DEPTH_LIMIT:
            raise ProgramError(error("K801", f"a term nests more than {DEPTH_LIMIT} operators", span))
        return syntax.Arithmetic(operator, left, right, span, depth)

    def group(self, children: list[Any]) -> Any:
        return children[1]

    def variable(self, children: list[Any]) -> syntax.Variable:
        return syntax.Variable(self._name(children[0]), self._span(children))

    def wildcard(self, children: list[Any]) -> syntax.Wildcard:
        return syntax.Wildcard(self._span(children))

    def number(self, children: list[Any]) -> syntax.Number:
        span = self._span(children)
        value = int(children[0]) if len(children[0]) < 20 else 10**20
        if value > 2**31 - 1:
            raise ProgramError(error("K810", "a number is above 2147483647", span, "numbers have 32 bits"))
        return syntax.Number(value, span)

    def text(self, children: list[Any]) -> syntax.Text:
        return syntax.Text(str(children[0])[1:-1], self._span(children))

    def qname(self, children: list[Any]) -> tuple[str, Token]:
        for part in str(children[0]).split("."):
            self._allow(part, children[0])
        return str(children[0]), children[0]

    def _name(self, token: Token) -> str:
        self._allow(str(token), token)
        return str(token)

    def _allow(self, word: str, token: Token) -> None:
        if word in RESERVED:
            raise ProgramError(unsupported(f"`{word}`", self._span([token])))


@cache
def _parser() -> tuple[Callable[[str], Any], _Builder]:
    builder = _Builder()
    lark = Lark(
        _GRAMMAR,
        parser="lalr",
        lexer="basic",
        transformer=builder,
        keep_all_tokens=True,
        maybe_placeholders=False,
    )
    return lark.parse, builder


def parse(source: Source) -> syntax.RuleFile:
    """The syntax tree of a rule file; raises ProgramError (K801, K802, K803, K810) at the first fault."""
    run, builder = _parser()
    builder.source = source
    try:
        tree = run(source.text)
    except UnexpectedInput as fault:
        raise ProgramError(explain(source, fault)) from None
    assert isinstance(tree, syntax.RuleFile)
    return tree
