"""For each kind of op, instances of it: shapes, attributes and elements, edge cases among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kina.audit.generators import contraction, creation, elementwise, indexing, reduction, shaping
from kina.audit.instance import Instance, Maker
from kina.diagnostics.finding import ProgramError

Make = Callable[[Maker], Instance]

_MODULES = (elementwise, shaping, reduction, contraction, indexing, creation)
#: kind -> what makes an instance of it
MAKERS: Mapping[str, Make] = MappingProxyType(
    {kind: make for module in _MODULES for kind, make in module.MAKERS.items()}
)

#: Sizes that dims of one instance are drawn from: divisible by 2, 3, 4 and 6 or not, and 1.
PALETTES = ((4, 6, 12), (6,), (2, 4), (3, 6), (4, 5, 6), (1, 4, 6), (2, 3))
#: Those of small counter-examples.
SMALL = ((2,), (2, 3), (1, 2), (2, 4))

#: How many instances of a kind are enough, where it is more than USUAL.
USUAL = 12
_MORE = {
    "convert": 60,
    "compare": 24,
    "clamp": 16,
    "broadcast_in_dim": 24,
    "reshape": 40,
    "slice": 24,
    "pad": 40,
    "dynamic_slice": 16,
    "dynamic_update_slice": 16,
    "reduce": 36,
    "cumulative": 20,
    "dot_general": 30,
    "convolution": 60,
    "gather": 40,
    "scatter": 60,
}


def count(kind: str) -> int:
    """How many instances of a kind an audit looks at."""
    return _MORE.get(kind, USUAL)


def instances(
    kind: str, seed: int, number: int, palettes: Sequence[tuple[int, ...]] = PALETTES
) -> Iterator[Instance]:
    """`number` instances of a kind; equal seeds give equal ones. What the op refuses is drawn again."""
    make, made, turn = MAKERS[kind], 0, 0
    while made < number:
        rng = random.Random(f"{kind} {seed} {turn}")  # noqa: S311
        palette = palettes[turn % len(palettes)]
        turn += 1
        try:
            yield make(Maker(rng, palette))
        except ProgramError:
            if turn > 50 * number:
                raise
            continue
        made += 1
