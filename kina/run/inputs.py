"""Where the inputs of a run come from: drawn by seed, or read from an `.npz` file."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from kina.diagnostics.finding import Finding, Help, ProgramError, SetupError, error
from kina.output import reason
from kina.run.ports import RunPort
from kina.sim.dtypes import BF16, DTYPES, Array, dtype_name, is_float


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
            return np.full(port.shape, port.first).astype(dtype)
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

    SetupError if it cannot be opened or is no `.npz` file.
    """
    try:
        if in_parts:
            return _mapped(Path(path))
        with np.load(Path(path), allow_pickle=False) as data:
            if not isinstance(data, np.lib.npyio.NpzFile):
                raise SetupError(f"`{path}` is no `.npz` file", "`numpy.savez` writes one")
            return {name: data[name] for name in data.files}
    except OSError as problem:
        raise SetupError(f"`{path}` cannot be read: {reason(problem)}") from problem
    except (ValueError, EOFError, zipfile.BadZipFile) as problem:
        raise SetupError(f"`{path}` is no `.npz` file of plain arrays: {problem}") from problem


def _mapped(path: Path) -> dict[str, Array]:
    """The arrays of an `.npz` file, mapped from it; those that are compressed are read."""
    found: dict[str, Array] = {}
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        for info in archive.infolist():
            if info.compress_type != zipfile.ZIP_STORED:
                with archive.open(info) as member:
                    array = np.lib.format.read_array(member, allow_pickle=False)
            else:
                array = _mapped_member(path, file, info.header_offset)
            found[info.filename.removesuffix(".npy")] = array
    return found


def _mapped_member(path: Path, file: IO[bytes], start: int) -> Array:
    """The array of a stored member whose header begins at `start`."""
    file.seek(start)
    # the lengths of the name and of the extra field end the fixed part of the header
    name, extra = struct.unpack("<26xHH", file.read(30))
    file.seek(start + 30 + name + extra)
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("objects are no numbers")
    if not np.prod(shape):
        return np.zeros(shape, dtype)
    return np.memmap(path, dtype, "r", file.tell(), shape, "F" if fortran else "C")


def from_arrays(
    arrays: Mapping[str, Array], ports: Sequence[RunPort], devices: Sequence[int], count: int, file: str
) -> list[Array | Mapping[int, Array]]:
    """For each argument its whole tensor, or an array for each of `devices` if `NAME@0`, … are given.

    There are `count` devices; this process may need the parts of some of them only.

    ProgramError K701 that lists every argument whose array is missing or has another shape or dtype.
    """
    findings: list[Finding] = []
    used: set[str] = set()
    found: list[Array | Mapping[int, Array]] = []
    parts = _parts(arrays, count)
    for port in ports:
        short = port.name.rpartition(".")[2]
        in_parts = next((name for name in (port.name, short) if name in parts), None)
        if in_parts is not None:
            used.update(parts[in_parts])
            shape = port.type.shape
            names = {device: f"{in_parts}@{device}" for device in devices}
            found.append(
                {device: _taken(arrays, name, port, shape, file, findings) for device, name in names.items()}
            )
            continue
        name = port.name if port.name in arrays else short
        used.add(name)
        found.append(_taken(arrays, name, port, port.shape, file, findings))
    for name in sorted(set(arrays) - used):
        findings.append(
            error(
                "K701",
                f"`{file}` has an array `{name}`, which is no argument",
                ports[0].span if ports else None,
            )
        )
    if findings:
        raise ProgramError(*findings)
    return found


def _parts(arrays: Mapping[str, Array], count: int) -> dict[str, list[str]]:
    """Name of a tensor -> the names of its parts, `NAME@DEVICE`, of which there are at most `count`."""
    known = {str(device) for device in range(count)}
    found: dict[str, list[str]] = {}
    for full in arrays:
        name, at, device = full.rpartition("@")
        if at and device in known:
            found.setdefault(name, []).append(full)
    return found


def _taken(
    arrays: Mapping[str, Array],
    name: str,
    port: RunPort,
    shape: tuple[int, ...],
    file: str,
    findings: list[Finding],
) -> Array:
    """The array if it fits; otherwise a finding, and zeros that nobody will read."""
    dtype = DTYPES[port.type.dtype]
    array = arrays.get(name)
    if array is None:
        help_ = Help(f"arrays in the file: {', '.join(sorted(arrays)[:8]) or 'none'}")
        missing = name if "@" in name else port.name
        findings.append(error("K701", f"`{file}` has no array `{missing}`", port.span, helps=(help_,)))
        return np.zeros((), dtype)
    if dtype == BF16 and array.dtype == np.dtype("V2"):
        array = array.view(BF16)  # NumPy writes types that it does not know as bare bytes
    if array.shape != shape or array.dtype != dtype:
        shown, wanted = _type(array.dtype, array.shape), _type(dtype, shape)
        findings.append(error("K701", f"`{name}` of `{file}` is {shown}, not {wanted}", port.span))
    return array


def _type(dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> str:
    return f"{dtype_name(dtype)}[{','.join(map(str, shape))}]"
