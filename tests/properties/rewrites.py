"""Changes of a program that must not change its layouts or its plan, made on the typed IR."""

from __future__ import annotations

import random
from dataclasses import replace

from kina.frontend.ir import Op, Program

#: Kinds whose operands may be swapped.
COMMUTATIVE = frozenset({"add", "multiply", "maximum", "minimum", "and", "or", "xor"})


def shuffled(program: Program, rng: random.Random) -> Program:
    """The program with its ops in another topological order, and its parameters in another order."""
    ready: list[Op] = []
    missing = {op.id: 0 for op in program.ops}
    users: dict[int, list[Op]] = {}
    made = {value for op in program.ops for value in op.results}
    for op in program.ops:
        needs = {value for value in op.operands if value in made}
        missing[op.id] = len(needs)
        for value in needs:
            users.setdefault(value, []).append(op)
        if not needs:
            ready.append(op)
    order: list[Op] = []
    while ready:
        op = ready.pop(rng.randrange(len(ready)))
        order.append(op)
        for value in op.results:
            for user in users.get(value, ()):
                missing[user.id] -= 1
                if missing[user.id] == 0:
                    ready.append(user)
    parameters = list(program.parameters)
    rng.shuffle(parameters)
    return renumbered(replace(program, parameters=tuple(parameters)), order)


def renumbered(program: Program, order: list[Op]) -> Program:
    """The program with its ops in `order`, and all ids new in that order."""
    sequence = [*program.parameters, *(value for op in order for value in op.results)]
    ids = {old: new for new, old in enumerate(sequence)}
    ops = tuple(
        replace(
            op,
            id=number,
            operands=tuple(ids[value] for value in op.operands),
            results=tuple(ids[value] for value in op.results),
        )
        for number, op in enumerate(order)
    )
    return replace(
        program,
        values=tuple(replace(program.values[old], id=ids[old]) for old in sequence),
        ops=ops,
        parameters=tuple(ids[value] for value in program.parameters),
        results=tuple(ids[value] for value in program.results),
        annotations=tuple(replace(note, value=ids[note.value]) for note in program.annotations),
        constants=frozenset(ids[value] for value in program.constants),
        cotangents=tuple((ids[one], ids[two]) for one, two in program.cotangents),
    )


def swapped(program: Program, rng: random.Random) -> Program:
    """The program with the operands of some commutative ops swapped."""
    ops = tuple(
        replace(op, operands=op.operands[::-1]) if op.kind in COMMUTATIVE and rng.random() < 0.7 else op
        for op in program.ops
    )
    return replace(program, ops=ops)


def renamed(program: Program, rng: random.Random) -> Program:
    """The program with other names, in no relation to the old ones, some of them odd."""
    numbers = list(range(len(program.values)))
    rng.shuffle(numbers)
    odd = ("v {}", 'w"{}"', "x\t{}", "y\n{}", "zä{}", "q,{}", "r\\{}", "{}")
    names = [odd[number % len(odd)].format(number) for number in numbers]
    return replace(
        program,
        values=tuple(replace(value, name=name) for value, name in zip(program.values, names, strict=True)),
    )


def unit_dims_exchanged(program: Program) -> Program:
    """The program with reshapes that add dims of size 1 as broadcast_in_dim, and the other way round."""
    return replace(program, ops=tuple(_exchanged(program, op) for op in program.ops))


def _exchanged(program: Program, op: Op) -> Op:
    if op.kind not in ("reshape", "broadcast_in_dim"):
        return op
    before, after = program.type_of(op.operands[0]).shape, program.type_of(op.results[0]).shape
    if op.kind == "broadcast_in_dim":
        dims = op.attribute("broadcast_dimensions")
        assert isinstance(dims, tuple)
        stretched = any(before[dim] != after[place] for dim, place in enumerate(dims))
        added = [size for place, size in enumerate(after) if place not in dims]
        if stretched or any(size != 1 for size in added) or not added:
            return op
        return replace(op, kind="reshape", attributes=(("shape", after),))
    places: list[int] = []
    for place, size in enumerate(after):
        if len(places) < len(before) and size == before[len(places)]:
            places.append(place)
        elif size != 1:
            return op
    if len(places) != len(before) or len(before) == len(after):
        return op
    attributes = (("broadcast_dimensions", tuple(places)), ("shape", after))
    return replace(op, kind="broadcast_in_dim", attributes=attributes)
