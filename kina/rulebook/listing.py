"""`kina rules list` as text: a line for each op, rule or relation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

from kina.datalog.rules import Rule, Rulebook
from kina.diagnostics.style import Style
from kina.report.tables import aligned
from kina.rulebook.catalogue import AttributeRole, OpEntry
from kina.rulebook.form import Form, Linearity
from kina.rulebook.usage import Usage, declared

#: The kinds of pending value; an op that passes all of them passes any.
KINDS = ("max", "min", "prod", "sum")
_HEADS = ("op", "rule", "factors that are not parallel; linear in")


def list_ops(entries: Iterable[OpEntry], style: Style) -> str:
    """A line for each kind, and one more for each further form that its attributes bring about."""
    rows = [row for entry in entries for row in _op_rows(entry)]
    return "".join(f"{line}\n" for line in (*aligned(_HEADS, rows, style), "", *LEGEND))


#: What the letters of a form mean.
LEGEND = (
    "(i,j) are dims by their factors, parallel unless it is said; i·j is a dim of two, the first is",
    "major; `_` stays whole; `1` has one element and no factor; of `?` no rule speaks. Linear in `a or b`:",
    "one of them may be pending; in `a and b`: all of them alike. `sum/none`: by attributes and dtypes.",
)


def list_attributes(entries: Iterable[OpEntry], style: Style) -> str:
    """A line for each attribute of each op: what it does to layouts, and where the rules say so."""
    rows = [
        (entry.kind, each.name, _places(each.places), role_text(each))
        for entry in entries
        for each in entry.attributes
    ]
    return _lines(("op", "attribute", "at", "role"), rows, style)


def _places(places: Iterable[str]) -> str:
    """Places, those of one file together: `layout.dl:11,12`."""
    found: dict[str, list[str]] = {}
    for place in places:
        file, _, line = place.rpartition(":")
        found.setdefault(file, []).append(line)
    return ", ".join(f"{file}:{','.join(lines)}" for file, lines in found.items())


def role_text(attribute: AttributeRole) -> str:
    """What an attribute does to layouts: `guards`, `guards and localised`, …"""
    return " and ".join(attribute.roles) or "not accounted for"


def list_rules(rules: Iterable[Rule], rulebook: Rulebook, style: Style) -> str:
    """A line for each of some rules: what it derives, where it is, and why."""
    rows = [
        (rule.name, declared(rulebook, rule.head.relation), rule.place, " ".join(rule.doc.split()))
        for rule in rules
    ]
    return _lines(("rule", "derives", "at", "because"), rows, style)


def list_relations(found: Mapping[str, Usage], style: Style) -> str:
    """A line for each relation: where it is declared, and the files that make and read it."""
    rows = []
    for usage in found.values():
        makers = "the program" if usage.relation.is_input else _stems(rule.place for rule in usage.makers)
        readers = _stems(use.rule.place for use in usage.readers) or "Kina"
        rows.append((usage.name, usage.relation.place, makers, readers))
    return _lines(("relation", "at", "made in", "read in"), rows, style)


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]], style: Style) -> str:
    return "".join(f"{line.rstrip()}\n" for line in aligned(heads, rows, style))


def _stems(places: Iterable[str]) -> str:
    """The files of places, each once: `layout, movement`."""
    return ", ".join(dict.fromkeys(PurePath(place.rpartition(":")[0]).stem for place in places))


def _op_rows(entry: OpEntry) -> Iterable[tuple[str, ...]]:
    by_einsum: dict[str, list[Form]] = {}
    for shown in entry.forms:
        by_einsum.setdefault(shown.form.einsum, []).append(shown.form)
    for number, (einsum, forms) in enumerate(by_einsum.items()):
        factors = _alternatives([factor_parts(form) for form in forms])
        linear = _alternatives([linear_parts(form, entry.operands) for form in forms])
        said = "; ".join(filter(None, (factors, linear and f"linear in {linear}")))
        yield (entry.kind if not number else "", einsum, said)


def _alternatives(texts: Sequence[Sequence[str]]) -> str:
    """Texts of the form `what: kinds` of several forms in one: where they differ, `what: sum/none`."""
    split = [dict(text.partition(": ")[::2] for text in each) for each in texts]
    what = dict.fromkeys(name for each in split for name in each)
    shown = []
    for name in what:
        kinds = "/".join(dict.fromkeys(each.get(name, "none") for each in split))
        shown.append(f"{name}: {kinds}".removesuffix(": "))
    return "; ".join(shown)


def factor_parts(form: Form) -> tuple[str, ...]:
    """The factors that are not parallel: `k reduced: sum`, `j free`."""
    found: dict[str, list[str]] = {}
    for role in form.roles:
        if role.role != "parallel":
            found.setdefault(f"{role.role}: {role.reduction}".rstrip(": "), []).append(role.letter)
    return tuple(f"{','.join(letters)} {role}" for role, letters in found.items())


def linear_parts(form: Form, operands: Sequence[str]) -> tuple[str, ...]:
    """In which operands the op is linear: `lhs or rhs: sum`, one of them pending; `lhs and rhs: sum`, all."""
    alone = _joined(form.linearity, operands, " or ", lambda each: each.alone)
    together = _joined(form.linearity, operands, " and ", lambda each: each.together)
    return (*alone, *together)


def _joined(
    linearity: Sequence[Linearity], operands: Sequence[str], word: str, kinds: object
) -> tuple[str, ...]:
    """The operands that take the same kinds, in one text."""
    assert callable(kinds)
    found: dict[tuple[str, ...], list[str]] = {}
    for name, each in zip(operands, linearity, strict=False):
        if kinds(each):
            found.setdefault(kinds(each), []).append(name)
    return tuple(f"{word.join(names)}: {kinds_text(which)}" for which, names in found.items())


def kinds_text(kinds: Sequence[str]) -> str:
    """Kinds of pending value, "any" for all of them."""
    return "any" if set(KINDS) <= set(kinds) else ", ".join(kinds)
