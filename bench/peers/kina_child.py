"""`kina` with its engine timed: the arguments are those of `kina`, the last line of stderr is the engine's.

`engine SECONDS PROCESSOR`: from the moment that Soufflé or clingo is given the facts until it has ended,
without what Kina does before and after; processor time is that of the engine's process, its start included.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import ParamSpec, TypeVar

#: Solver -> the function that gives the engine its facts and waits for it.
ENGINES = {
    "souffle": ("kina.datalog.souffle_engine", "run_child"),
    "clingo": ("kina.datalog.clingo_engine", "ask"),
}

P = ParamSpec("P")
R = TypeVar("R")


def timed(run: Callable[P, R], spent: list[float]) -> Callable[P, R]:
    """The function, which adds wall and processor seconds of each call to `spent`."""

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        start, used = time.perf_counter(), _processor()
        try:
            return run(*args, **kwargs)
        finally:
            spent[0] += time.perf_counter() - start
            spent[1] += _processor() - used

    return wrapped


def _processor() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Run `kina`, say what its engine took, and end as `kina` does."""
    from kina.__main__ import command

    spent = [0.0, 0.0]
    # only the engine that is used is imported, as in `kina`
    engine, function = ENGINES[sys.argv[sys.argv.index("--solver") + 1]]
    module = import_module(engine)
    setattr(module, function, timed(getattr(module, function), spent))
    code = command()
    sys.stderr.write(f"engine {spent[0]} {spent[1]}\n")
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
