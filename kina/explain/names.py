"""What `TENSOR[.DIM][@AXIS]` on the command line means in a program."""

from __future__ import annotations

from dataclasses import dataclass

from kina.diagnostics.finding import SetupError
from kina.frontend.ir import Program, Value
from kina.names import matching, near, the_one


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
                raise SetupError(f"the mesh has no axis `{after}`", near(after, axes, "its axes are"))
            name, axis = before, after
    before, sign, after = name.rpartition(".")
    if sign and after.isdecimal() and not _matches(program, name):
        name, dim = before, int(after[:10])
    value = find_value(program, name)
    if dim is not None and dim >= value.type.rank:
        raise SetupError(f"`{value.name}` has no dim {dim}", _dims(value))
    return Target(value, dim, axis)


def _matches(program: Program, name: str) -> bool:
    return bool(matching(name, {value.name: value for value in program.values}, program.entry))


def find_value(program: Program, name: str) -> Value:
    """The value of this name. UnknownNameError, which says what is near, if not exactly one has it."""
    values = {value.name: value for value in program.values}
    return values[the_one(name, values, program.entry, "tensor")]


def _dims(value: Value) -> str:
    rank = value.type.rank
    if rank == 0:
        return "it is a scalar"
    return (
        f"it is {value.type}, with dims 0 to {rank - 1}"
        if rank > 1
        else f"it is {value.type}, with dim 0 only"
    )
