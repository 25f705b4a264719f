"""From the typed IR to facts: the relations that `rules/program.dl` declares as input."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from kina.facts.axes import axes_facts, axes_word
from kina.facts.entry import entry_text
from kina.facts.names import encode
from kina.facts.reshape import common_factors
from kina.frontend.ir import Annotation, Attribute, Op, Program, Value
from kina.frontend.ops import OPS

#: No number above this reaches a fact: both engines compute in 32 bits.
LARGEST = 2**31 - 1

Fact = tuple[str | int, ...]


class _Named(Protocol):
    """A relation, by its ground name."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one program.

    `value_names` and `op_names` give the encoded name of each value and op by its id; `priorities`
    are those that occur, lowest first; `entry` is the text of the entry file.
    """

    relations: dict[str, list[Fact]]
    value_names: tuple[str, ...]
    op_names: tuple[str, ...]
    priorities: tuple[int, ...]
    derived: bool
    entry: str

    def given(self, inputs: Iterable[_Named]) -> dict[str, list[Fact]]:
        """The facts of the `inputs` of some rules; those of another rule base may be others than these."""
        return {each.name: self.relations.get(each.name, []) for each in inputs}


def dump(program: Program) -> Facts:
    """The facts of a program, in the order of its values and ops."""
    names = tuple(encode(value.name) for value in program.values)
    ops = tuple(names[op.results[0]] for op in program.ops)
    relations: dict[str, list[Fact]] = {name: [] for name in _RELATIONS}
    for op in program.ops:
        _dump_op(program, op, names, ops[op.id], relations)
    _dump_values(program, names, relations)
    _dump_annotations(program, names, relations)
    derived = any(op.origin == "derived" for op in program.ops)
    priorities = tuple(sorted({int(fact[3]) for fact in relations["given_sharded"]})) or (0,)
    relations["given_priority"] = [(priority,) for priority in priorities]
    _dump_mesh(program, relations)
    return Facts(
        relations,
        names,
        ops,
        priorities,
        derived,
        entry_text(priorities, derived, [file.name for file in program.rules]),
    )


def write(facts: Facts, folder: Path, relations: tuple[str, ...]) -> None:
    """Write each of the input `relations` as `<name>.facts`, and the entry file as `main.dl`, into `folder`.

    OSError if the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in relations:
        rows = facts.relations.get(name, [])
        text = "".join("\t".join(map(str, row)) + "\n" for row in rows)
        (folder / f"{name}.facts").write_text(text, encoding="utf-8", newline="\n")
    (folder / "main.dl").write_text(facts.entry, encoding="utf-8", newline="\n")


_RELATIONS = (
    "mesh_axis",
    "op_kind",
    "op_operand",
    "op_result",
    "op_derived",
    "op_checked",
    "op_declared",
    "op_list",
    "op_list_negative",
    "op_list_length",
    "op_number",
    "op_word",
    "op_reshape_factor",
    "value_dim",
    "value_rank",
    "value_dtype",
    "value_weight",
    "value_constant",
    "value_splat",
    "value_used_once",
    "value_cotangent",
    "value_derived",
    "program_parameter",
    "program_result",
    "given_sharded",
    "given_fixed",
    "given_replicated",
    "given_pending",
    "given_priority",
)


def _dump_op(
    program: Program, op: Op, names: tuple[str, ...], name: str, relations: dict[str, list[Fact]]
) -> None:
    relations["op_kind"].append((name, encode(op.kind)))
    for pos, value in enumerate(op.operands):
        relations["op_operand"].append((name, pos, operand_port(name, pos), names[value]))
    for pos, value in enumerate(op.results):
        relations["op_result"].append((name, pos, result_port(name, pos), names[value]))
    if op.origin == "derived":
        relations["op_derived"].append((name,))
        relations["value_derived"].extend((names[value],) for value in op.results)
    if program.rules or op.kind not in OPS:
        relations["op_checked"].append((name,))
    if op.kind not in OPS:
        relations["op_declared"].append((name,))
    for key, attribute in op.attributes:
        _dump_attribute(name, encode(key), attribute, relations)
    if op.kind == "reshape":
        before = program.type_of(op.operands[0]).shape
        after = program.type_of(op.results[0]).shape
        ports = operand_port(name, 0), result_port(name, 0)
        relations["op_reshape_factor"].extend(
            (name, ports[factor.side], factor.dim, factor.number, factor.major, factor.size)
            for factor in common_factors(before, after)
        )


#: What stands behind the last `/` of a port id: of a result before its position, and of a parameter.
RESULT, PARAMETER = "r", "in"


def operand_port(op: str, pos: int) -> str:
    """The id of operand position `pos` of the op with the encoded name `op`."""
    return f"{op}/{pos}"


def result_port(op: str, pos: int) -> str:
    """The id of result position `pos` of the op with the encoded name `op`."""
    return f"{op}/{RESULT}{pos}"


def parameter_port(value: str) -> str:
    """The id of the place where the parameter with the encoded name `value` enters."""
    return f"{value}/{PARAMETER}"


def _dump_attribute(op: str, name: str, value: Attribute, relations: dict[str, list[Fact]]) -> None:
    match value:
        case bool() | int() if 0 <= value <= LARGEST:
            relations["op_number"].append((op, name, int(value)))
        case tuple():
            relations["op_list_length"].append((op, name, len(value)))
            for index, number in enumerate(value):
                kind = "op_list" if number >= 0 else "op_list_negative"
                relations[kind].append((op, name, index, abs(number)))
        case str() if len(value) > 64:
            # The elements of a written constant decide nothing, and can be long.
            relations["op_word"].append((op, name, "long"))
        case _:
            relations["op_word"].append((op, name, encode(str(value))))


def _dump_values(program: Program, names: tuple[str, ...], relations: dict[str, list[Fact]]) -> None:
    weights = value_weights(program)
    uses = Counter(value for op in program.ops for value in op.operands)
    uses.update(program.results)
    for value in program.values:
        name = names[value.id]
        relations["value_rank"].append((name, value.type.rank))
        relations["value_dim"].extend((name, dim, size) for dim, size in enumerate(value.type.shape))
        relations["value_dtype"].append((name, value.type.dtype))
        relations["value_weight"].append((name, weights[value.id]))
        if value.id in program.constants:
            relations["value_constant"].append((name,))
        if value.splat is not None:
            relations["value_splat"].append((name, splat_word(value)))
        if uses[value.id] == 1:
            relations["value_used_once"].append((name,))
    relations["value_cotangent"].extend((names[one], names[two]) for one, two in program.cotangents)
    relations["program_parameter"].extend(
        (names[value], pos, parameter_port(names[value])) for pos, value in enumerate(program.parameters)
    )
    relations["program_result"].extend((names[value], pos) for pos, value in enumerate(program.results))


def value_weights(program: Program) -> tuple[int, ...]:
    """The bytes of each value, scaled so that the sums that the rules form stay below 2^31.

    The rules add at most one price for each port of an op, each at most twice the weight times the
    size of an axis.
    """
    allowed, largest = _weight_scale(program)
    if largest == 0:
        return (0,) * len(program.values)
    return tuple(-(-value.type.bytes * allowed // largest) for value in program.values)


def bytes_of_weight(program: Program, weight: int) -> int:
    """The bytes that a weight, or a sum of weights, stands for, to the nearest."""
    allowed, largest = _weight_scale(program)
    return (weight * largest + allowed // 2) // allowed


def _weight_scale(program: Program) -> tuple[int, int]:
    """The weight of the largest value, and its bytes."""
    ports = max((len(op.operands) + len(op.results) for op in program.ops), default=1)
    longest = max((axis.size for axis in program.mesh.axes), default=1)
    allowed = max(1, LARGEST // (4 * ports * longest))
    return allowed, max((value.type.bytes for value in program.values), default=0)


def splat_word(value: Value) -> str:
    """The repeated element of a constant as a shortest decimal: "0", "1.5", "-inf"."""
    number = float(value.splat or "0")
    return str(int(number)) if number.is_integer() else repr(number)


def _dump_annotations(program: Program, names: tuple[str, ...], relations: dict[str, list[Fact]]) -> None:
    sizes = {axis.name: axis.size for axis in program.mesh.axes}
    for note in program.annotations:
        name = names[note.value]
        live = tuple(axis for axis in note.axes if sizes[axis] > 1)
        match note.kind:
            case "sharded":
                dim = note.dim if note.dim is not None else 0
                relations["given_fixed"].append((name, dim))
                if live:
                    relations["given_sharded"].append((name, dim, axes_word(live), note.priority))
            case "closed":
                rank = program.type_of(note.value).rank
                relations["given_fixed"].extend((name, dim) for dim in range(rank))
            case "replicated":
                relations["given_replicated"].extend((name, encode(axis)) for axis in live)
            case "pending":
                relations["given_pending"].extend((name, encode(axis), _reduction(note)) for axis in live)
    relations["given_fixed"] = list(dict.fromkeys(relations["given_fixed"]))


def _reduction(note: Annotation) -> str:
    return note.reduction or "sum"


def _dump_mesh(program: Program, relations: dict[str, list[Fact]]) -> None:
    relations["mesh_axis"] = [
        (encode(axis.name), axis.size, pos) for pos, axis in enumerate(program.mesh.axes) if axis.size > 1
    ]
    used = {axis for note in program.annotations for axis in note.axes}
    sizes = {axis.name: axis.size for axis in program.mesh.axes if axis.size > 1 and axis.name in used}
    dims = {size for value in program.values for size in value.type.shape}
    dims |= {int(fact[5]) for fact in relations["op_reshape_factor"]}
    dims |= {int(fact[2]) for fact in relations["op_number"] if fact[1] == "feature_group_count"}
    relations.update(axes_facts(sizes, dims))
