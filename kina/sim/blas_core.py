"""Which of its cores' kernels OpenBLAS uses, where it would not find the fitting ones by itself."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

_VARIABLE = "OPENBLAS_CORETYPE"
_PROCESSORS = Path("/proc/cpuinfo")

#: AMD's cores with these (Zen 4 and later) run OpenBLAS's kernels of this name, and it takes them for Zen 4.
_FLAGS = frozenset(("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl", "avx512_bf16"))
_CORE = "Cooperlake"


def choose_core(processors: Path = _PROCESSORS) -> None:
    """Ask OpenBLAS for kernels with AVX-512 on AMD's cores, unless the user asked for any or NumPy is loaded.

    OpenBLAS 0.3.31, which NumPy's wheels bring, does not know Zen 5 and takes kernels for AVX2, at half the
    speed (OpenBLAS issue 6029). It reads the variable once, when it is loaded; another BLAS does not read it.
    """
    if "numpy" not in sys.modules:
        os.environ.update(core_variable(processors))


def core_variable(processors: Path = _PROCESSORS) -> dict[str, str]:
    """The variable that asks for them in a new process; none where OpenBLAS, or the user, knows better."""
    if _VARIABLE in os.environ:
        return {}
    try:
        with processors.open(encoding="utf-8", errors="replace") as lines:
            core = fitting_core(lines)
    except OSError:
        return {}
    return {} if core is None else {_VARIABLE: core}


def fitting_core(lines: Iterable[str]) -> str | None:
    """The kernels to ask for, given lines as in `/proc/cpuinfo`: its first processor stands for all."""
    said: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            break
        said[name.strip()] = value.strip()
    fits = said.get("vendor_id") == "AuthenticAMD" and _FLAGS.issubset(said.get("flags", "").split())
    return _CORE if fits else None
