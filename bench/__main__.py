"""`make bench`: every table of times; `python -m bench NAME…` for some of them."""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import startup, training_step

TABLES: dict[str, Callable[[], None]] = {"startup": startup.main, "training_step": training_step.main}


def main() -> None:
    """Run the benchmarks that are named, all of them without names."""
    for name in sys.argv[1:] or TABLES:
        if name not in TABLES:
            raise SystemExit(f"no benchmark {name}; there are {', '.join(TABLES)}")
        TABLES[name]()


if __name__ == "__main__":
    main()
