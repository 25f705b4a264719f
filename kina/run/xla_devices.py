"""Inside the child that runs XLA: the devices that jax sees, in the order of the mesh."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import prod
from typing import Any

from kina.run.xla_meeting import RefusedError, first_line

#: How jax compiles a module for given devices has changed in this version.
OLDEST = (0, 8)


def check(mesh: Sequence[int], processes: int) -> None:
    """RefusedError if jax is too old, or if processes cannot share the mesh evenly."""
    import jax

    if jax.__version_info__ < OLDEST:
        raise RefusedError(f"jax {jax.__version__} is too old", "pip install --upgrade 'kina[xla]'")
    if prod(mesh) % processes:
        raise RefusedError(
            f"the mesh has {prod(mesh)} devices, which {processes} processes do not divide",
            "each process has the same number of devices",
        )


def begin(mesh: Sequence[int], platform: str, processes: int = 1) -> list[Any]:
    """The devices of the mesh, row-major, of this process and of the others that share it.

    Raises RefusedError if there are too few.
    """
    import jax

    wanted = prod(mesh)
    check(mesh, processes)
    jax.config.update("jax_num_cpu_devices", wanted // processes)  # type: ignore[no-untyped-call]
    try:
        found = jax.devices() if platform == "auto" else jax.devices(platform)
    except RuntimeError as problem:
        raise RefusedError(
            f"jax has no devices of platform `{platform}`: {first_line(problem)}",
            "`--platform cpu` takes CPU devices, as many as the mesh has",
        ) from None
    return _in_order(mesh, _shared(found, wanted, processes))


def _shared(found: Sequence[Any], wanted: int, processes: int) -> list[Any]:
    """The same number of devices from each process."""
    by_process: defaultdict[int, list[Any]] = defaultdict(list)
    for device in found:
        by_process[device.process_index].append(device)
    each = wanted // processes
    for number in range(processes):
        if len(by_process[number]) < each:
            kind = found[0].platform
            there = len(by_process[number]) if processes > 1 else len(found)
            raise RefusedError(
                f"the mesh needs {each} devices{f' of process {number}' if processes > 1 else ''}; jax sees "
                f"{there} of platform `{kind}`",
                "`--platform cpu` takes CPU devices, as many as the mesh has" if kind != "cpu" else "",
            )
    return [device for number in range(processes) for device in by_process[number][:each]]


def _in_order(mesh: Sequence[int], devices: list[Any]) -> list[Any]:
    """The devices as jax lays them out for the mesh: where they are wired in a grid, neighbours stay such."""
    from jax.experimental import mesh_utils

    laid = mesh_utils.create_device_mesh(tuple(mesh), devices, allow_split_physical_axes=True)
    return list(laid.flat)
