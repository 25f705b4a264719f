"""`make bench`: every table; `python -m bench NAME [OPTION…]` for one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from bench import propagation, startup, training_step

TABLES: dict[str, Callable[[Sequence[str]], None]] = {
    "startup": lambda _: startup.main(),
    "training_step": lambda _: training_step.main(),
    "propagation": propagation.main,
}


def main() -> None:
    """Run the benchmark that is named, all of them without a name."""
    name, *options = sys.argv[1:] or [""]
    if name and name not in TABLES:
        raise SystemExit(f"no benchmark {name}; there are {', '.join(TABLES)}")
    for table in [name] if name else TABLES:
        TABLES[table](options)


if __name__ == "__main__":
    main()
