"""The options that the benchmarks against peers share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers.schemes import SCHEMES, Scheme


@dataclass(frozen=True, slots=True)
class Values:
    """What to measure, and how often."""

    layers: tuple[int, ...]
    schemes: tuple[Scheme, ...]
    rounds: int


def parsed(name: str, about: str | None, arguments: Sequence[str], *, layers: str, rounds: int) -> Values:
    """The options of `python -m bench NAME`; `layers` and `rounds` are what is measured without them."""
    parser = argparse.ArgumentParser(prog=f"python -m bench {name}", description=about)
    parser.add_argument("--layers", default=layers, help=f"numbers of layers, {layers} by default")
    parser.add_argument("--schemes", default=",".join(SCHEMES), help=f"some of {', '.join(SCHEMES)}")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"turns of each tool, {rounds} by default")
    given = parser.parse_args(arguments)
    unknown = [scheme for scheme in given.schemes.split(",") if scheme not in SCHEMES]
    if unknown:
        parser.error(f"there is no scheme {unknown[0]}")
    return Values(
        tuple(int(each) for each in given.layers.split(",")),
        tuple(SCHEMES[scheme] for scheme in given.schemes.split(",")),
        given.rounds,
    )
