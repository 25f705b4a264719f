"""What a change of rules does to each op: placements gained, lost and changed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kina.datalog.tables import Row
from kina.facts.dump import operand_port, result_port
from kina.frontend.ir import Op
from kina.frontend.ops import OpSpec
from kina.rulebook.base import RuleBase
from kina.rulebook.catalogue import instances_of, operand_names
from kina.rulebook.causes import Reasons, Tuple
from kina.rulebook.changes import RuleChange
from kina.rulebook.delta import delta
from kina.rulebook.diff_declared import cause, declared_changes
from kina.rulebook.evaluate import Evaluation, evaluate
from kina.rulebook.form import form_of
from kina.rulebook.instances import Instance, program_of


@dataclass(frozen=True, slots=True)
class OpChange:
    """One thing that rules say of an op in one rule base and not in the other.

    `what` is "gained", "lost" or "changed"; `before` and `after` say what was and is, "" for nothing.
    `forms` are the einsums under both, `instances` those that it is so for, and `rules` have made it so.
    """

    op: str
    what: str
    before: str
    after: str
    forms: tuple[str, str]
    instances: tuple[str, ...]
    rules: tuple[str, ...]


#: Where a factor stands: (port, dim, elements above it), ports by name.
_Places = frozenset[tuple[str, int, int]]


@dataclass(frozen=True, slots=True)
class _Fact:
    """Something that rules say, in words, and the tuples that say it."""

    text: str
    tuples: tuple[Tuple, ...]


_NOTHING = _Fact("", ())


@dataclass(frozen=True, slots=True)
class _Said:
    """What rules say of one instance: how each factor is split, by where it stands, and everything else."""

    einsum: str
    splits: Mapping[_Places, _Fact]
    others: Mapping[str, _Fact]


def op_changes(
    base: RuleBase, head: RuleBase, changes: Sequence[RuleChange], solver: str = "auto"
) -> tuple[OpChange, ...]:
    """The changes of every op that both declare, in the order of the op table; those of several instances are
    one, and those of declarations come last.

    Raises SetupError if the engine cannot be used, ProgramError if rules are at fault.
    """
    declared = declared_changes(base, head)
    gone = {kind for kind, (what, *_) in declared.items() if what != "changed"}
    known = frozenset(instances_of(base))
    both = [each for each in instances_of(head) if each in known and each.kind not in gone]
    return (
        *_of_instances(base, head, changes, both, solver),
        *_of_declarations(base, head, declared, solver),
    )


def _of_declarations(
    base: RuleBase, head: RuleBase, declared: Mapping[str, tuple[str, str, str]], solver: str
) -> Iterator[OpChange]:
    """Ops that are declared by one only, or otherwise; with the einsum of the first instance."""
    if not declared:
        return
    forms = [_first_forms(each, declared, solver) for each in (base, head)]
    for kind, (what, old, new) in declared.items():
        (before, instance), (after, other) = (each.get(kind, ("", "")) for each in forms)
        texts = tuple(filter(None, [other or instance]))
        yield OpChange(kind, what, old, new, (before, after), texts, (cause(kind),))


def _first_forms(base: RuleBase, kinds: Collection[str], solver: str) -> dict[str, tuple[str, str]]:
    """The einsum of the first instance of each kind, and that instance; none of a kind without instances."""
    made = [each for each in instances_of(base) if each.kind in kinds]
    evaluation = evaluate(program_of(made, base.declared), base.compiled, solver)
    found: dict[str, tuple[str, str]] = {}
    for op, instance in zip(evaluation.program.ops, made, strict=True):
        if op.kind not in found:
            found[op.kind] = form_of(evaluation, op).einsum, instance.text
    return found


def _of_instances(
    base: RuleBase, head: RuleBase, changes: Sequence[RuleChange], made: Sequence[Instance], solver: str
) -> tuple[OpChange, ...]:
    """What is said otherwise of some ops."""
    program = program_of(made, head.declared)
    before, after = (evaluate(program, each.compiled, solver) for each in (base, head))
    found: dict[tuple[str, str, str, str], list[tuple[int, tuple[str, str], _Fact, _Fact]]] = {}
    for op, instance in zip(program.ops, made, strict=True):
        spec = head.table[op.kind]
        one, two = _said(before, op, instance, spec), _said(after, op, instance, spec)
        for what, old, new in (*_splits(one, two), *_others(one, two)):
            key = (op.kind, what, old.text, new.text)
            found.setdefault(key, []).append((op.id, (one.einsum, two.einsum), old, new))
    if not found:
        return ()
    effect = delta(base.compiled, head.compiled, changes, after.facts, solver)
    reasons = [
        Reasons(each.rules.rulebook, each.tables.rows, changes, effect, is_base)
        for each, is_base in ((before, True), (after, False))
    ]
    out = []
    for key, places in found.items():
        _, forms, old, new = places[0]
        rules = dict.fromkeys([*reasons[0].of(old.tuples), *reasons[1].of(new.tuples)])
        texts = tuple(made[number].text for number, *_ in places)
        out.append(OpChange(*key, forms, texts, tuple(rules) or effect.rules))
    return tuple(out)


def _said(evaluation: Evaluation, op: Op, instance: Instance, spec: OpSpec) -> _Said:
    names = _port_names(evaluation, op, instance, spec)
    einsum = form_of(evaluation, op).einsum
    return _Said(einsum, dict(_factors(evaluation, op, names)), dict(_rest(evaluation, op, names)))


def _port_names(evaluation: Evaluation, op: Op, instance: Instance, spec: OpSpec) -> dict[str, str]:
    """What each port is called: by the op table, `result` where there is one."""
    name = evaluation.facts.op_names[op.id]
    operands = operand_names(spec, len(instance.operands))
    results = ["result"] if len(op.results) == 1 else [f"result {pos}" for pos in range(len(op.results))]
    return {
        **{operand_port(name, pos): operand for pos, operand in enumerate(operands)},
        **{result_port(name, pos): result for pos, result in enumerate(results)},
    }


def _factors(evaluation: Evaluation, op: Op, names: Mapping[str, str]) -> Iterator[tuple[_Places, _Fact]]:
    """Each factor by its places, and how it is split; the numbers that rules give to factors do not count."""
    places: dict[int, set[tuple[str, int, int]]] = {}
    tuples: dict[int, list[Tuple]] = {}
    for row in evaluation.rows("factor", op.id):
        _, port, dim, factor = row
        places.setdefault(int(factor), set()).add((_named(names, port), int(dim), 0))
        tuples.setdefault(int(factor), []).append(("factor", row))
    for row in evaluation.rows("factor_within", op.id):
        _, port, dim, factor, major, _ = row
        places.setdefault(int(factor), set()).add((_named(names, port), int(dim), int(major)))
        tuples.setdefault(int(factor), []).append(("factor_within", row))
    reduced: dict[int, list[str]] = {}
    for row in evaluation.rows("factor_reduced", op.id):
        reduced.setdefault(int(row[1]), []).append(str(row[2]))
        tuples.setdefault(int(row[1]), []).append(("factor_reduced", row))
    order = list(names.values())
    for factor, found in places.items():
        listed = sorted(found, key=lambda place: (_rank(order, place[0]), *place[1:]))
        text = "split " + ", ".join(f"{port} dim {dim}{_below(major)}" for port, dim, major in listed)
        pending = "".join(f" to a pending {kind}" for kind in sorted(reduced.get(factor, ())))
        yield frozenset(found), _Fact(text + pending, tuple(tuples[factor]))


def _named(names: Mapping[str, str], port: object) -> str:
    """What a port is called; one that a rule made up goes by its own name."""
    return names.get(str(port), str(port))


def _rank(order: Sequence[str], name: str) -> int:
    return order.index(name) if name in order else len(order)


def _below(major: int) -> str:
    return f" below {major}" if major > 1 else ""


def _rest(evaluation: Evaluation, op: Op, names: Mapping[str, str]) -> Iterator[tuple[str, _Fact]]:
    """What is said beside factors, by what it is about."""

    def fact(text: str, relation: str, row: Row) -> tuple[str, _Fact]:
        return text, _Fact(text, ((relation, row),))

    for relation, how in (("linear_alone", "alone"), ("linear_together", "with the others")):
        for row in evaluation.rows(relation, op.id):
            yield fact(f"a pending {row[2]} of {_named(names, row[1])} passes {how}", relation, row)
    for row in evaluation.rows("counted_once", op.id):
        yield fact(f"{_named(names, row[1])} counts once in a pending result", "counted_once", row)
    for row in evaluation.rows("shape_keeping", op.id):
        yield fact("layouts pass before anything is computed", "shape_keeping", row)
    for (kind, name), roles in evaluation.attribute_roles().items():
        if kind == op.kind:
            tuples = tuple(evaluation.attribute_tuples(kind, name))
            yield f"attribute {name}", _Fact(f"`{name}` {' and '.join(roles)}", tuples)


def _splits(one: _Said, two: _Said) -> Iterator[tuple[str, _Fact, _Fact]]:
    """Factors that came, went, or are split otherwise: at more or fewer dims, or to another pending value."""
    gone = {at: fact for at, fact in one.splits.items() if two.splits.get(at, _NOTHING).text != fact.text}
    come = {at: fact for at, fact in two.splits.items() if one.splits.get(at, _NOTHING).text != fact.text}
    for places, fact in gone.items():
        other = next((each for each in come if each & places), None)
        if other is None:
            yield "lost", fact, _NOTHING
        else:
            yield "changed", fact, come.pop(other)
    for fact in come.values():
        yield "gained", _NOTHING, fact


def _others(one: _Said, two: _Said) -> Iterator[tuple[str, _Fact, _Fact]]:
    for about in dict.fromkeys([*one.others, *two.others]):
        old, new = one.others.get(about, _NOTHING), two.others.get(about, _NOTHING)
        if old.text != new.text:
            yield ("changed" if old.text and new.text else "lost" if old.text else "gained"), old, new
