"""Results of a run as an `.npz` file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np

from kina.diagnostics.finding import SetupError
from kina.output import reason, resolved
from kina.run.ports import result_names
from kina.run.session import Session
from kina.run.shards import assemble
from kina.sim.dtypes import Array


def arrays(session: Session, per_device: bool) -> dict[str, Array]:
    """The results of the last step: whole under their names, or the parts of each device as NAME@DEVICE.

    A result of unknown layout cannot be assembled and is always written in parts; so is every result if
    several processes share the mesh, each of which writes the parts that it has.
    """
    found: dict[str, Array] = {}
    executor = session.executor
    in_parts = per_device or executor.process[1] > 1
    names = result_names(session.signature.results)
    for index, (name, port) in enumerate(zip(names, session.signature.results, strict=True)):
        shards = executor.parts(index)
        if in_parts or not port.known:
            found.update({f"{name}@{device}": x for device, x in zip(executor.devices, shards, strict=True)})
        else:
            found[name] = assemble(session.signature.grid, port, shards)
    return found


def outputs_path(path: str, process: int, processes: int) -> Path:
    """The file that a process writes: the one that was named, or OUT.0.npz, OUT.1.npz, … of several."""
    named = Path(path)
    return named if processes == 1 else named.with_name(f"{named.stem}.{process}{named.suffix}")


def write_outputs(path: str, session: Session, per_device: bool) -> None:
    """Write the file, whole or not at all. SetupError if it cannot be written."""
    target = outputs_path(path, *session.executor.process)
    try:
        handle, draft = tempfile.mkstemp(
            prefix=f".{target.name[:100]}-", suffix=".npz", dir=resolved(target).parent
        )
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez(file, **arrays(session, per_device))  # type: ignore[arg-type]
            Path(draft).replace(target)
        finally:
            Path(draft).unlink(missing_ok=True)
    except OSError as problem:
        raise SetupError(f"cannot write `{path}`: {reason(problem)}") from problem
