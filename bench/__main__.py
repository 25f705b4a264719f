"""`make bench`: every table; `python -m bench NAME [OPTION…]` is one of them, `--quick` a small run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from bench import chain, collectives, conflicts, order, propagation, startup, steps

TABLES: dict[str, Callable[[Sequence[str]], None]] = {
    "startup": startup.main,
    "propagation": propagation.main,
    "collectives": collectives.main,
    "steps": steps.main,
    "order": order.main,
    "conflicts": conflicts.main,
    "chain": chain.main,
}
#: Options of a run of all tables in a quarter of an hour, and in three minutes, on two cores.
WHOLE: dict[str, str] = {"startup": "--small", "steps": "--rounds 3", "order": "--most 3"}
QUICK: dict[str, str] = {
    "startup": "--small",
    "propagation": "--layers 1,12 --rounds 1",
    "collectives": "--layers 1",
    "steps": "--model small --layers 2 --rounds 3 --schemes tensor",
    "chain": "--layers 24 --rounds 1",
    "order": "--schemes fsdp_flat,two_inputs --most 1",
}


def main() -> None:
    """Run the benchmark that is named, all of them without a name."""
    name, *options = sys.argv[1:] or [""]
    if name in ("", "--quick"):
        chosen = QUICK if name else WHOLE
        for each, table in TABLES.items():
            print(f"\n## {each}\n", flush=True)
            table(chosen.get(each, "").split())
        return
    if name not in TABLES:
        raise SystemExit(f"no benchmark {name}; there are {', '.join(TABLES)}")
    TABLES[name](options)


if __name__ == "__main__":
    main()
