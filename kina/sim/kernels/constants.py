"""Constants: from the text of `dense<…>`, or from the typed IR's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from kina.sim.dtypes import DTYPES, Array, is_float

_WORD = re.compile(r"[^\s,\[\]]+")
_WHOLE = re.compile(r"-?\d+|0x[0-9a-fA-F]+")


def _number(word: str, dtype: np.dtype[Any]) -> Any:
    if word in ("true", "false"):
        return word == "true"
    if not is_float(dtype):
        # the typed IR may write a whole number as a decimal
        return _whole(word) if _WHOLE.fullmatch(word) else int(float(word))
    if word.startswith("0x"):
        # MLIR writes floats that have no decimal form (inf, NaN) as their bits
        return np.array([int(word, 16)], f"u{dtype.itemsize}").view(dtype)[0]
    return float(word)


def _whole(word: str) -> int:
    return int(word, 16) if word.startswith("0x") else int(word)


def dense(text: str, dtype_name: str, shape: tuple[int, ...]) -> Array:
    """The tensor that `dense<text>` stands for; a splat is a view that repeats one element.

    ValueError if the text does not hold numbers of the type, or not as many as the shape has elements.
    """
    dtype = DTYPES[dtype_name]
    count = int(np.prod(shape, dtype=np.int64))
    if text.startswith('"'):
        data = bytes.fromhex(text.strip('"').removeprefix("0x"))
        if len(data) == dtype.itemsize:
            return np.broadcast_to(np.frombuffer(data, dtype)[0], shape)
        if len(data) != count * dtype.itemsize:
            raise ValueError(f"{len(data)} bytes are not {count} elements of {dtype_name}")
        return np.frombuffer(data, dtype).reshape(shape)
    words = _WORD.findall(text)
    values = [_number(word, dtype) for word in words]
    if len(values) == 1 and "[" not in text:
        return np.broadcast_to(np.asarray(values[0]).astype(dtype), shape)
    if len(values) != count:
        raise ValueError(f"{len(values)} elements stand where the type has {count}")
    if not values:
        return np.empty(shape, dtype)
    if dtype.kind in "iu":
        return np.array(values, dtype).reshape(shape)
    return np.array([float(value) for value in values]).astype(dtype).reshape(shape)


def constant(attributes: Mapping[str, Any]) -> Array:
    """The constant of an op: `value` is a `dense` attribute or a splat's text; or `data` is a list."""
    value = attributes.get("value", "")
    text = getattr(value, "text", value)
    if not text or isinstance(text, bool):
        text = attributes.get("data", "")
    return dense(_plain(str(text)), attributes["dtype"], attributes["shape"])


def _plain(text: str) -> str:
    return text.replace("True", "true").replace("False", "false").strip()
