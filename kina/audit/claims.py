"""What rules claim of attributes, held against what devices do with them: by changing an attribute's value.

An attribute is said to guard rules, to be localised, or not to matter (`attribute_guards`,
`attribute_localised`, `attribute_indifferent`). What is claimed of a declared op is carried out by Kina
(`attribute_follows`), and wrong claims of these show in placements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from kina.audit.allowed import MESHES, Allowed, allowed
from kina.audit.example import attribute_text
from kina.audit.execute import Built, UnbuildableError, build
from kina.audit.instance import PLACE, Instance
from kina.audit.op_rule import Derived, OpRule, derive
from kina.audit.outcome import FalseClaim
from kina.audit.trial import attempt
from kina.diagnostics.finding import ProgramError
from kina.frontend.builder import Builder
from kina.frontend.ir import Attribute
from kina.frontend.ops import OPS
from kina.rulebook.base import RuleBase

#: Of the instances of an op so many are looked at.
_LOOKED_AT = 24
#: Of each instance so many other values of an attribute are tried, and placements of it.
_VALUES, _PLACES = 4, 3
#: Without an effect in so many trials a claim that there is one counts as false.
_ENOUGH = 12


@dataclass(frozen=True, slots=True)
class _Changed:
    """Instance `number` with another value of an attribute, which is all that differs."""

    number: int
    name: str
    instance: Instance


def false_claims(derived: Derived, base: RuleBase, solver: str, seed: int) -> tuple[FalseClaim, ...]:
    """What is claimed of attributes of the op and not so, one of each kind."""
    kind, numbers = derived.instances[0].op.kind, range(min(_LOOKED_AT, len(derived.instances)))
    if kind not in OPS or not derived.instances[0].spec.attributes:
        return ()
    roles = derived.evaluation.attribute_roles()
    attributes = derived.instances[0].spec.attributes
    claims = {each.name: roles.get((kind, each.name), ()) for each in attributes}
    # Of a text it mostly matters whether it is there, and that decides whether another attribute is.
    seen = _Seen(claims, frozenset(each.name for each in attributes if each.type == "text"))
    changed = [each for number in numbers for each in _changes(derived, number)]
    others = derive([each.instance for each in changed], base.compiled, solver) if changed else None
    built = [_some(derived.instances[number], derived.rules[number]) for number in numbers]
    for number in numbers:
        for each in built[number]:
            seen.look(derived.instances[number], *each)
    for place, change in enumerate(changed):
        assert others is not None
        seen.compare(derived, others, place, change, built[change.number], (seed, change.number))
    return tuple(seen.false())


def _some(instance: Instance, rule: OpRule) -> list[tuple[Allowed, Built | None]]:
    """A few placements that split something over one axis, with the op as one device executes it."""
    every = allowed(instance, rule, [mesh for mesh in MESHES if len(mesh.axes) == 1])
    single = (each for each in every if each.split and each.passing is None)
    return [(each, _built(instance, each)) for each in islice(single, 2 * _PLACES)]


@dataclass(slots=True)
class _Seen:
    """What was seen of each attribute, beside what is claimed of it.

    Attributes in `localised` had another value on a device, and those in `guards` changed what rules say.
    """

    claims: Mapping[str, tuple[str, ...]]
    texts: frozenset[str]
    found: dict[tuple[str, str], FalseClaim] = field(default_factory=dict)
    trials: Counter[str] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    localised: set[str] = field(default_factory=set)
    guards: set[str] = field(default_factory=set)

    def object(self, name: str, role: str, why: str) -> None:
        self.found.setdefault((name, role), FalseClaim(name, role, why))

    def look(self, instance: Instance, each: Allowed, built: Built | None) -> None:
        """Notes which attributes have another value on a device than in the op."""
        if built is None:
            return
        for name, (here, there) in _local_values(built).items():
            if name in self.claims:
                self.trials[name] += 1
                if here == there:
                    continue
                self.localised.add(name)
                if "localised" not in self.claims[name]:
                    self.object(
                        name,
                        _role(self.claims[name]),
                        f"each device has {name}={attribute_text(there)} for {attribute_text(here)},"
                        f" of {_placed(instance, each)}",
                    )

    def compare(
        self,
        derived: Derived,
        others: Derived,
        place: int,
        change: _Changed,
        placed: Sequence[tuple[Allowed, Built | None]],
        seed: tuple[int, int],
    ) -> None:
        """Notes what another value of an attribute changes; `placed` are placements of the op as it was."""
        name, before, after = change.name, derived.instances[change.number], others.instances[place]
        self.changes[name] += 1
        both = [attribute_text(each.op.attribute(name)) for each in (before, after)]
        values = f"{name}={' and '.join(both)}"
        one, two = derived.rules[change.number], others.rules[place]
        # Tuples that do not fit the op hold its name, which differs.
        if replace(one, strays=()) != replace(two, strays=()):
            self.guards.add(name)
            if "does not matter" in self.claims[name]:
                self.object(name, "does not matter", f"the rules say something else for {values}")
        for each, here in placed[:_PLACES]:
            there = _built(after, each)
            if here is None or there is None:
                continue
            if _depends_on_place(here) != _depends_on_place(there):
                self.localised.add(name)
                if "localised" not in self.claims[name]:
                    self.object(
                        name,
                        _role(self.claims[name]),
                        f"whether devices differ depends on it: {values}, of {_placed(before, each)}",
                    )
            if (
                "does not matter" in self.claims[name]
                and attempt(here, seed, 1).ok
                and not attempt(there, seed, 1).ok
            ):
                self.object(
                    name, "does not matter", f"{_placed(before, each)} is right for one of {values} only"
                )

    def false(self) -> Iterator[FalseClaim]:
        """All that is claimed and not so."""
        yield from self.found.values()
        for name, roles in self.claims.items():
            if "localised" in roles and self.trials[name] >= _ENOUGH and name not in self.localised:
                yield FalseClaim(
                    name, "localised", f"on each device it is what it is, in {self.trials[name]} placements"
                )
            if (
                roles == ("guards",)
                and name not in self.texts
                and self.changes[name] >= _ENOUGH
                and name not in self.guards
            ):
                yield FalseClaim(
                    name, "guards", f"the rules say the same for {self.changes[name]} other values"
                )


def _role(roles: Sequence[str]) -> str:
    return " and ".join(roles) or "is not spoken of"


def _placed(instance: Instance, each: Allowed) -> str:
    texts = each.placement.texts(instance)
    count = len(instance.operand_types)
    return f"{', '.join(texts[:count])} to {', '.join(texts[count:])}"


def _built(instance: Instance, each: Allowed) -> Built | None:
    try:
        return build(instance, each.placement)
    except UnbuildableError:
        # That is wrong for another reason, and reported as a placement.
        return None


def _local_values(built: Built) -> dict[str, tuple[Attribute, Attribute]]:
    """Each attribute with its value in the op and in that which one device executes, if that is one op."""
    op = built.instance.op
    main = built.module.main
    local = [each for each in main.body.ops if each.kind == op.kind]
    if len(local) != 1:
        return {}
    here = dict(local[0].attributes)
    found: dict[str, tuple[Attribute, Attribute]] = {}
    for name, value in op.attributes:
        there = here.get(name)
        if isinstance(there, bool | int | float | str | tuple):
            found[name] = value, there  # type: ignore[assignment]
    if "shape" in dict(op.attributes):
        shape = op.attribute("shape")
        found["shape"] = shape, main.values[local[0].results[0]].type.shape
    return found


def _depends_on_place(built: Built) -> bool:
    """Whether devices execute something that depends on which one it is."""
    return any(op.kind == "partition_id" for op in built.module.main.body.ops)


def _changes(derived: Derived, number: int) -> Iterator[_Changed]:
    """The instance with other values of each attribute: those of other instances, and some near its own."""
    instance = derived.instances[number]
    for name, value in instance.op.attributes:
        seen = [each.op.attribute(name) for each in derived.instances]
        count = 0
        for other in dict.fromkeys([*_near(value), *seen]):
            made = _with(instance, name, other) if other != value else None
            if made is not None and count < _VALUES:
                count += 1
                yield _Changed(number, name, made)


def _near(value: Attribute) -> Iterator[Attribute]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (value + 1, value - 1)
        case tuple():
            yield value[::-1]
            for place in range(len(value)):
                yield (*value[:place], value[place] + 1, *value[place + 1 :])
        case _:
            return


def _with(instance: Instance, name: str, value: Attribute) -> Instance | None:
    """The instance with another value of an attribute; None if the op does not take that."""
    program, op = instance.program, instance.op
    builder = Builder(list(program.values[: min(op.results)]), list(program.ops[:-1]))
    try:
        results = builder.emit(op.kind, op.operands, {**dict(op.attributes), name: value}, PLACE)
    except ProgramError:
        return None
    if len(results) != len(op.results):
        return None
    values, ops = tuple(builder.values), tuple(builder.ops)
    return replace(instance, program=replace(program, values=values, ops=ops, results=results))
