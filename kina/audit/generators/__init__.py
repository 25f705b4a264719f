"""For each kind of op, instances of it: shapes, attributes and elements, edge cases among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from kina.audit.generators import contraction, creation, elementwise, indexing, reduction, shaping
from kina.audit.instance import Instance, Maker
from kina.diagnostics.finding import ProgramError
from kina.frontend.body import Declarations
from kina.frontend.ir import DTYPE_BYTES
from kina.frontend.op_examples import draw_example
from kina.frontend.ops.core import FLOATS

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
_DECLARED = 24
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
    "convolution": 44,
    "gather": 40,
    "scatter": 40,
}


def count(kind: str) -> int:
    """How many instances of a kind an audit looks at."""
    return _MORE.get(kind, USUAL if kind in MAKERS else _DECLARED)


def makers(declarations: Declarations | None) -> Mapping[str, Make]:
    """What makes instances of each kind, of those that are declared too."""
    if declarations is None:
        return MAKERS
    declared = {kind: partial(_declared, declarations, kind) for kind in declarations.visible.ops}
    return {**MAKERS, **declared}


def _declared(declarations: Declarations, kind: str, maker: Maker) -> Instance:
    """An instance of a declared op; ProgramError or OpError if what is drawn does not suit it."""
    declared = declarations.visible.ops[kind]
    maker.declarations, maker.builder.table = declarations, declarations.table
    types, attributes = draw_example(declared, maker.rng, maker.sizes)
    operands = [maker.parameter(type_.dtype, type_.shape) for type_ in types]
    forms = (*(type_ for _, type_ in declared.form.operands), *declared.form.results)
    labels = [[size.span.text for size in form.shape] for form in forms]
    made = maker.instance(kind, operands, attributes, labels)
    declarations.body(kind, types, made.op.attributes)
    # An op that is meant for floats does little with whole numbers, and nearly every placement is right.
    open_dtypes = [type_.dtype.name not in DTYPE_BYTES for _, type_ in declared.form.operands]
    odd = any(each and type_.dtype not in FLOATS for each, type_ in zip(open_dtypes, types, strict=True))
    return replace(made, odd=odd)


def instances(
    kind: str,
    seed: int,
    number: int,
    palettes: Sequence[tuple[int, ...]] = PALETTES,
    declarations: Declarations | None = None,
) -> Iterator[Instance]:
    """`number` instances of a kind; equal seeds give equal ones. What the op refuses is drawn again.

    ProgramError if it refuses nearly everything.
    """
    make, made, turn = makers(declarations)[kind], 0, 0
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
