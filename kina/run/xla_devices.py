"""Inside the child that runs XLA: the devices that jax sees, in the order of the mesh."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import prod
from typing import Any

#: How jax compiles a module for given devices has changed in this version.
OLDEST = (0, 8)
#: What to do if processes do not meet.
MEET = "every process names the same coordinator and number of processes, and has a number of its own"


class RefusedError(Exception):
    """Surroundings that do not fit; `help` says what to do."""

    def __init__(self, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.help = help_


def begin(
    mesh: Sequence[int],
    platform: str,
    coordinator: str | None,
    processes: int | None,
    process: int | None,
    patience: int,
) -> list[Any]:
    """The devices of the mesh, row-major, of this process and of the others that share it.

    Raises RefusedError if there are too few.
    """
    import jax

    if jax.__version_info__ < OLDEST:
        raise RefusedError(f"jax {jax.__version__} is too old", "pip install --upgrade 'kina[xla]'")
    wanted, count = prod(mesh), 1
    if coordinator is not None:
        count = _meet(coordinator, processes, process, patience)
    if wanted % count:
        raise RefusedError(f"the mesh has {wanted} devices, which {count} processes do not divide")
    jax.config.update("jax_num_cpu_devices", wanted // count)  # type: ignore[no-untyped-call]
    try:
        found = jax.devices() if platform == "auto" else jax.devices(platform)
    except RuntimeError as problem:
        raise RefusedError(
            f"jax has no devices of platform `{platform}`: {_first_line(problem)}",
            "`--platform cpu` takes CPU devices, as many as the mesh has",
        ) from None
    return _in_order(mesh, _shared(found, wanted, count))


def _meet(coordinator: str, processes: int | None, process: int | None, patience: int) -> int:
    """Wait for all processes; how many they are."""
    import jax
    from jax._src import distributed

    jax.config.update("jax_cpu_collectives_implementation", "gloo")  # type: ignore[no-untyped-call]
    address = None if coordinator == "auto" else coordinator
    try:
        jax.distributed.initialize(address, processes, process, initialization_timeout=patience)
    except (RuntimeError, ValueError) as problem:
        raise RefusedError(
            f"the processes do not meet at `{coordinator}`: {_first_line(problem)}",
            MEET,
        ) from None
    return int(distributed.global_state.num_processes or 1)


def _first_line(problem: Exception) -> str:
    return (str(problem).strip() or type(problem).__name__).splitlines()[0][:300]


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
