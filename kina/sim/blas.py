"""How many threads BLAS uses while device threads share the cores."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def limited(devices: int, threads: int | None = None) -> Iterator[None]:
    """Give each device its share of the cores, at least one thread, and restore the limit afterwards.

    BLAS would start one thread per core in each device's product, so that they fight for the same cores.
    """
    with threadpool_limits(limits=threads or max(1, cores() // devices), user_api="blas"):
        yield
