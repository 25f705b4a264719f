"""Keeps the memory of large arrays in the process while steps run.

glibc maps a large array on its own and gives it back as soon as it is freed, so that the system clears the
same pages again for the next one. While memory is kept, all arrays come from one heap that does not shrink.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

#: Numbers of glibc's settings, from its `malloc.h`.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -3, -4, -8

#: No array is mapped on its own, the heap never shrinks, and threads have no heaps of their own, which would
#: be too small for large arrays.
_KEPT = ((_ARENA_MAX, 1), (_MMAP_MAX, 0), (_TRIM_THRESHOLD, -1))

#: glibc's defaults. Its thresholds grow with arrays that are freed, but no longer once one was set: so they
#: are set to where they would end.
_DEFAULTS = ((_ARENA_MAX, 0), (_MMAP_MAX, 65536), (_MMAP_THRESHOLD, 32 << 20), (_TRIM_THRESHOLD, 64 << 20))


class _Keepers:
    """How many have asked to keep memory and have not ended; the settings are the process's own."""

    def __init__(self) -> None:
        self.count = 0
        self.lock = threading.Lock()

    def enter(self) -> None:
        with self.lock:
            self.count += 1
            if self.count == 1:
                _apply(_KEPT)

    def leave(self) -> None:
        with self.lock:
            self.count -= 1
            if not self.count:
                _apply(_DEFAULTS)
                _give_back()


_KEEPERS = _Keepers()


@contextmanager
def kept() -> Iterator[None]:
    """Keep freed memory in the process until the last of these ends, in whatever thread; then give it back.

    Does nothing where the C library is not glibc. How many heaps there may be glibc looks up once: if the
    process had few threads before, later threads share one heap too.
    """
    _KEEPERS.enter()
    try:
        yield
    finally:
        _KEEPERS.leave()


@cache
def _library() -> Any:
    """The C library if it is glibc, else None."""
    if sys.platform != "linux":
        return None
    import ctypes

    library = ctypes.CDLL(None)
    known = all(hasattr(library, name) for name in ("gnu_get_libc_version", "mallopt", "malloc_trim"))
    return library if known else None


def _apply(settings: tuple[tuple[int, int], ...]) -> None:
    library = _library()
    if library is not None:
        for number, value in settings:
            library.mallopt(number, value)


def _give_back() -> None:
    library = _library()
    if library is not None:
        library.malloc_trim(0)
