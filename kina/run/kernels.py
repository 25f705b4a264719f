"""Functions of installed packages that compute declared ops in place of their bodies: `kina run --kernels`.

A package names such a function by an entry point of the group `kina.kernels`, under the name of the op:
`rotary = "my_package.kernels:rotary"`. It takes the operands as NumPy arrays, those of one device, and the
attributes and positions by name, and gives an array, or one for each result. It is code, so it comes from an
installed package and runs only where it is asked for; `--verify` holds it against the body of the op.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kina.diagnostics.finding import SetupError
from kina.mlir.syntax import AttributeValue, Function, Module, TensorType
from kina.sim.dtypes import DTYPES, Array, dtype_name
from kina.sim.kernels import Kernel

#: The entry points by which an installed package offers functions.
GROUP = "kina.kernels"


def installed_kernels(module: Module) -> dict[str, Kernel]:
    """The kernels of installed packages for functions of the module, by the functions' names.

    SetupError if a package cannot be loaded, offers something else, or two offer the same.
    """
    found: dict[str, Kernel] = {}
    offered: dict[str, Callable[..., Any] | None] = {}
    for function in module.functions:
        op = function.attributes.get("kina.op")
        if not isinstance(op, str):
            continue
        if op not in offered:
            offered[op] = _offered(op)
        compute = offered[op]
        if compute is not None:
            found[function.name] = _kernel(op, function, compute)
    return found


def _offered(op: str) -> Callable[..., Any] | None:
    """The function that a package offers for an op, None if none does."""
    from importlib.metadata import entry_points

    entries = tuple(entry_points(group=GROUP, name=op))
    if len({entry.value for entry in entries}) > 1:
        values = ", ".join(sorted(f"`{entry.value}`" for entry in entries))
        raise SetupError(f"several packages offer a function for `{op}`: {values}")
    if not entries:
        return None
    try:
        compute = entries[0].load()
    except Exception as fault:
        said = f"{type(fault).__name__}: {fault}"
        raise SetupError(f"`{entries[0].value}`, which computes `{op}`, cannot be loaded: {said}") from None
    if not callable(compute):
        raise SetupError(f"`{entries[0].value}`, which should compute `{op}`, is no function")
    return compute  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Call:
    """How the function of an op is called, and what it has to give."""

    op: str
    compute: Callable[..., Any]
    attributes: Mapping[str, Any]
    positions: tuple[str, ...]
    results: tuple[TensorType, ...]

    def __call__(self, operands: Sequence[Array], _: Mapping[str, Any]) -> tuple[Array, ...]:
        count = len(operands) - len(self.positions)
        places = [int(place) for place in operands[count:]]
        given = {**self.attributes, **dict(zip(self.positions, places, strict=True))}
        # What others hold too is not to be written into.
        made = self.compute(*[_guarded(operand) for operand in operands[:count]], **given)
        results = made if isinstance(made, tuple) else (made,)
        arrays = tuple(_own(np.asarray(result), operands) for result in results)
        found = ", ".join(f"{dtype_name(array.dtype)}{list(array.shape)}" for array in arrays)
        wanted = ", ".join(f"{type_.dtype}{list(type_.shape)}" for type_ in self.results)
        if [(array.shape, array.dtype) for array in arrays] != [
            (type_.shape, DTYPES[type_.dtype]) for type_ in self.results
        ]:
            raise TypeError(f"the function for `{self.op}` gives {found}, not {wanted}")
        return arrays


def _own(result: Array, operands: Sequence[Array]) -> Array:
    """The result, as a copy if it may be a view of an operand."""
    shared = any(np.may_share_memory(result, operand) for operand in operands)
    return result.copy() if shared else result


def _guarded(operand: Array) -> Array:
    view = operand.view()
    view.flags.writeable = False
    return view


def _kernel(op: str, function: Function, compute: Callable[..., Any]) -> Kernel:
    rows = _rows(function.attributes.get("kina.attributes"))
    attributes = {str(row[0]): row[1] for row in map(_rows, rows) if len(row) == 2}
    positions = tuple(str(name) for name in _rows(function.attributes.get("kina.positions")))
    return _Call(op, compute, attributes, positions, function.result_types)


def _rows(value: AttributeValue | None) -> tuple[AttributeValue, ...]:
    return value if isinstance(value, tuple) else ()
