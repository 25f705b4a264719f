"""Messages between two processes over pipes: a line of JSON, and arrays as bare bytes behind it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import BufferedReader
from typing import IO, Any

import numpy as np

from kina.sim.dtypes import DTYPES, Array, dtype_name

Message = dict[str, Any]


def send(stream: IO[bytes], message: Message, arrays: Sequence[Array] = ()) -> None:
    """Write a message. OSError if nobody reads any more."""
    head = {**message, "arrays": [[dtype_name(array.dtype), list(array.shape)] for array in arrays]}
    stream.write(json.dumps(head).encode() + b"\n")
    for array in arrays:
        stream.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    stream.flush()


def receive(stream: BufferedReader) -> tuple[Message, list[Array]] | None:
    """The next message with its arrays; None if the other process has ended."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        return None
    message: Message = json.loads(line)
    arrays = []
    for dtype, shape in message.pop("arrays"):
        data = np.empty(int(np.prod(shape)) * DTYPES[dtype].itemsize, np.uint8)
        if not _filled(stream, data.data):
            return None
        arrays.append(data.view(DTYPES[dtype]).reshape(shape))
    return message, arrays


def _filled(stream: BufferedReader, view: memoryview) -> bool:
    """Whether the stream had as many bytes as the view is long; they are in it."""
    while view:
        count = stream.readinto(view)
        if not count:
            return False
        view = view[count:]
    return True
