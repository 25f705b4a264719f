"""`make bench`: every table; `python -m bench NAME [OPTION…]` for one of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from bench import collectives, order, propagation, startup, steps

TABLES: dict[str, Callable[[Sequence[str]], None]] = {
    "startup": lambda _: startup.main(),
    "propagation": propagation.main,
    "collectives": collectives.main,
    "steps": steps.main,
    "order": order.main,
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
