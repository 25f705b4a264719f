"""Where the inputs of a run come from: drawn by seed, or read from an `.npz` file."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from kina.diagnostics.finding import SetupError
from kina.output import reason
from kina.run.ports import RunPort
from kina.sim.dtypes import DTYPES, Array, is_float

#: What reading a damaged archive, or one of other things than arrays, raises.
_DAMAGED: tuple[type[Exception], ...] = (
    *(ValueError, EOFError, KeyError, NotImplementedError, RuntimeError),
    *(struct.error, zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)


@dataclass(frozen=True, slots=True)
class Draw:
    """Random values that depend on the seed, the step and the place of the argument only."""

    seed: int

    def generator(self, step: int, index: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, step, index])

    def whole(self, port: RunPort, step: int, index: int) -> Array:
        """A whole tensor for the argument number `index`.

        Floats are normal, those of several dims scaled by 2 over the root of the largest dim, so that
        products keep their size; whole numbers are below the argument's limit, or from 1 to 8.
        """
        rng = self.generator(step, index)
        dtype = DTYPES[port.type.dtype]
        if port.first is not None:
            return np.full(port.shape, port.first, dtype)
        if dtype == np.bool_:
            return np.asarray(rng.random(port.shape) < 0.5)
        if not is_float(dtype):
            low, high = (0, port.below) if port.below is not None else (1, 9)
            return rng.integers(low, high, port.shape).astype(dtype)
        wide = np.float64 if dtype == np.float64 else np.float32
        values = np.asarray(rng.standard_normal(port.shape, dtype=wide))
        if len(port.shape) > 1:
            scale = min(1.0, 2.0 / max(1.0, float(max(port.shape)) ** 0.5))
            np.multiply(values, scale, out=values)
        if port.positive:
            np.abs(values, out=values)
        return values.astype(dtype, copy=False)


def read_npz(path: str, in_parts: bool = False) -> dict[str, Array]:
    """The arrays of a file by name; `in_parts` leaves them in the file, where slices are read from.

    SetupError if it cannot be opened, is no `.npz` file, or holds what is no array of numbers.
    """
    try:
        # an archive only: NumPy takes any other file for its own, and advises to trust it
        if not zipfile.is_zipfile(path):
            with Path(path).open("rb"):
                raise _no_npz(path)
        return _read(Path(path), in_parts)
    except OSError as problem:
        raise SetupError(f"`{path}` cannot be read: {reason(problem)}") from problem
    except _DAMAGED as problem:
        raise _no_npz(path) from problem


def _no_npz(path: str) -> SetupError:
    return SetupError(f"`{path}` is no `.npz` file of arrays", "`numpy.savez` writes one")


def _read(path: Path, in_parts: bool) -> dict[str, Array]:
    """The arrays of an `.npz` file; `in_parts` maps from it those that are not compressed."""
    found: dict[str, Array] = {}
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name in found:
                raise SetupError(f"`{path}` has two arrays `{name}`", "each array has a name of its own")
            with archive.open(info) as member:
                shape, _, dtype = _header(member)
                if dtype.hasobject:
                    message = f"`{name}` of `{path}` is an array of objects, not of numbers"
                    raise SetupError(message, "`.astype(…)` makes numbers of them before they are written")
            if in_parts and info.compress_type == zipfile.ZIP_STORED and 0 not in shape:
                found[name] = _mapped_member(path, file, info.header_offset)
                continue
            with archive.open(info) as member:
                found[name] = np.lib.format.read_array(member, allow_pickle=False)
    return found


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and element type of the array that begins here. ValueError if none does."""
    version = np.lib.format.read_magic(member)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    return read(member)


def _mapped_member(path: Path, file: IO[bytes], start: int) -> Array:
    """The array of a stored member whose header begins at `start`."""
    file.seek(start)
    # the lengths of the name and of the extra field end the fixed part of the header
    name, extra = struct.unpack("<26xHH", file.read(30))
    file.seek(start + 30 + name + extra)
    shape, fortran, dtype = _header(file)
    return np.memmap(path, dtype, "r", file.tell(), shape, "F" if fortran else "C")
