"""What `TENSOR[.DIM][@AXIS]` on the command line means in a program."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from kina.diagnostics.finding import SetupError
from kina.frontend.ir import Program, Value

#: Names that a message lists.
_LISTED = 5


@dataclass(frozen=True, slots=True)
class Target:
    """A tensor, or one dim of it, and perhaps one mesh axis: what a question is about."""

    value: Value
    dim: int | None = None
    axis: str | None = None

    def __str__(self) -> str:
        dim = "" if self.dim is None else f".{self.dim}"
        axis = "" if self.axis is None else f"@{self.axis}"
        return f"{self.value.name}{dim}{axis}"


def find_target(program: Program, text: str) -> Target:
    """The tensor, dim and axis that `text` names.

    A tensor goes by its full name or by an ending of it that no other tensor has: `wo`, `layer[3].wo`,
    `gpt.layer[3].wo`. A last part that is a number is a dim. Raises SetupError, naming what is near, if
    there is no such tensor, dim or axis, or more than one tensor.
    """
    axes = [axis.name for axis in program.mesh.axes]
    name, dim, axis = text, None, None
    if not _matches(program, name):
        before, sign, after = name.rpartition("@")
        if sign:
            if after not in axes:
                raise SetupError(f"the mesh has no axis `{after}`", _near(after, axes, "its axes are"))
            name, axis = before, after
    before, sign, after = name.rpartition(".")
    if sign and after.isdecimal() and not _matches(program, name):
        name, dim = before, int(after[:10])
    value = find_value(program, name)
    if dim is not None and dim >= value.type.rank:
        raise SetupError(f"`{value.name}` has no dim {dim}", _dims(value))
    return Target(value, dim, axis)


def _matches(program: Program, name: str) -> list[Value]:
    """The tensor of this full name, else the entry's own of this name, else those whose names end so."""
    full = {value.name: value for value in program.values}
    for exact in (name, f"{program.entry}.{name}"):
        if exact in full:
            return [full[exact]]
    return [value for value in program.values if value.name.endswith(f".{name}")] if name else []


def find_value(program: Program, name: str) -> Value:
    found = _matches(program, name)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"`{value.name}`" for value in found[:_LISTED])
        more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        raise SetupError(f"`{name}` is the name of {len(found)} tensors", f"say which: {listed}{more}")
    raise SetupError(f"there is no tensor `{name}`", _near(name, _known(program), "near it:"))


def _known(program: Program) -> list[str]:
    """Full names first, then their last parts."""
    names = [value.name for value in program.values]
    return list(dict.fromkeys([*names, *(name.rpartition(".")[2] for name in names)]))


def _near(name: str, known: Sequence[str], words: str) -> str:
    """Close names; all of them if they are few."""
    near = list(known) if len(known) <= _LISTED else difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f"{words} " + ", ".join(f"`{each}`" for each in near) if near else ""


def _dims(value: Value) -> str:
    rank = value.type.rank
    if rank == 0:
        return "it is a scalar"
    return (
        f"it is {value.type}, with dims 0 to {rank - 1}"
        if rank > 1
        else f"it is {value.type}, with dim 0 only"
    )
