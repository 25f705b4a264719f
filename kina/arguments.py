"""Arguments of the Python interface: what does not fit is named before anything is done."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from operator import index
from typing import Any

from kina.diagnostics.finding import ArgumentError, SetupError

#: Types whose values are shown in messages; other values may be large, or have a `repr` that fails.
_SHOWN = (str, bytes, int, float, complex)
#: Characters of a value that a message shows.
_MOST = 40


def shown(value: object) -> str:
    """A value in a message: with its type, and short."""
    if value is None:
        return "None"
    type_ = type(value).__name__
    if type(value) is bool:
        return repr(value)
    if type(value) not in _SHOWN:
        return f"of type `{type_}`"
    # only the beginning: a whole number may have too many digits to print
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**_MOST else "…"
    return f"{text if len(text) <= _MOST else text[:_MOST] + '…'}, of type `{type_}`"


def refused(name: str, value: object, wanted: str) -> ArgumentError:
    """The error that an argument is not what is wanted."""
    return ArgumentError(f"`{name}` is {shown(value)}, not {wanted}")


def a_text(name: str, value: Any, wanted: str = "a string") -> str:
    if not isinstance(value, str):
        raise refused(name, value, wanted)
    return value


def a_flag(name: str, value: Any) -> bool:
    """True or False, also NumPy's."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise refused(name, value, "True or False")
    return bool(value)


def a_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number, also one of NumPy's. SetupError if it is out of range."""
    limits = f"from {least} on" if most is None else f"from {least} to {most}"
    try:
        number = index(value)
    except TypeError:
        raise refused(name, value, f"a whole number {limits}") from None
    if isinstance(value, bool):
        raise refused(name, value, f"a whole number {limits}")
    if number < least or (most is not None and number > most):
        raise SetupError(f"`{name}` is {shown(number).partition(',')[0]}, which is not {limits}")
    return number


def a_choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of the words that are known. SetupError for another word."""
    listed = ", ".join(known)
    if a_text(name, value, f"one of {listed}") not in known:
        raise SetupError(f"there is no {name} `{value}`", f"there are {listed}")
    return str(value)


def a_path(name: str, value: Any, wanted: str = "a path") -> str:
    """A path as a string: of a string, or of what has a path as a string."""
    try:
        path = os.fspath(value)
    except TypeError:
        raise refused(name, value, wanted) from None
    if not isinstance(path, str) or not path or "\0" in path:
        raise refused(name, value, wanted)
    return path


def some_paths(name: str, values: Any) -> tuple[str, ...]:
    """Several paths: of a list, a tuple or another series, which a single path is not."""
    wanted = "a list of paths"
    if isinstance(values, (str, bytes, os.PathLike, Mapping)) or not isinstance(values, Iterable):
        raise refused(name, values, wanted)
    return tuple([a_path(f"{name}[{place}]", each) for place, each in enumerate(values)])


def a_mapping(name: str, values: Any, wanted: str) -> dict[str, Any]:
    """A mapping whose keys are strings."""
    if not isinstance(values, Mapping):
        raise refused(name, values, wanted)
    for key in values:
        if not isinstance(key, str):
            raise ArgumentError(f"a key of `{name}` is {shown(key)}, not a string")
    return dict(values)


def mesh_sizes(values: Any) -> tuple[tuple[str, int], ...]:
    """Names of mesh axes with their sizes; None stands for none."""
    found = {} if values is None else a_mapping("mesh", values, "a mapping from mesh axes to sizes")
    return tuple((axis, a_number(f"mesh[{axis!r}]", size, 1, 2**31 - 1)) for axis, size in found.items())
