"""Operand types and attributes that a declared op takes, drawn from what its declaration says."""

from __future__ import annotations

import random
from collections.abc import Sequence

from kina.frontend.ast import AttributeForm, Expr
from kina.frontend.builder import Arg
from kina.frontend.former import Declared
from kina.frontend.ir import DTYPE_BYTES, Attribute, TensorType
from kina.frontend.op_types import Env, size_names, types_of

#: Dtypes that an open one is drawn from: mostly f32, in which sums of parts are exact enough to be judged.
_OPEN = ("f32", "f32", "f32", "f64", "i32")
#: How far a number without bounds is drawn from its least, or a position from 0.
_SPREAD = 3


def draw_example(
    declared: Declared, rng: random.Random, sizes: Sequence[int]
) -> tuple[tuple[TensorType, ...], dict[str, Attribute]]:
    """Types of operands and some attributes; others keep their defaults. ProgramError if they do not fit."""
    form = declared.form
    env: Env = {}
    for name in size_names(form):
        if name.name not in env:
            open_dtype = any(name.name == type_.dtype.name for _, type_ in form.operands)
            drawn = rng.choice(_OPEN) if open_dtype else rng.choice(list(sizes))
            env[name.name] = Arg(name.span, (), drawn)
    types = tuple(types_of([type_ for _, type_ in form.operands], env, declared.evaluate))
    attributes = {
        name.name: _attribute(declared, each, env, types, rng)
        for name, each in form.attributes
        if each.default is None or rng.random() < 0.7
    }
    return types, attributes


def _attribute(
    declared: Declared, form: AttributeForm, env: Env, types: Sequence[TensorType], rng: random.Random
) -> Attribute:
    match form.kind.name:
        case "flag":
            return rng.random() < 0.5
        case "word":
            return rng.choice([choice.name for choice in form.choices])
        case "dtype":
            return rng.choice([dtype for dtype in DTYPE_BYTES if dtype.startswith(("f", "b"))])
        case "real":
            return rng.choice([-2.0, 0.5, 1.0, 3.0])
        case "position":
            return rng.randint(0, _SPREAD)
        case "numbers":
            return tuple([rng.randint(0, 2) for _ in range(types[0].rank if types else 1)])
        case _:
            least = _bound(declared, form.least, env, 0)
            return rng.randint(least, max(least, _bound(declared, form.most, env, least + _SPREAD)))


def _bound(declared: Declared, expr: Expr | None, env: Env, otherwise: int) -> int:
    value = declared.evaluate(env, expr) if expr is not None else otherwise
    return value if isinstance(value, int) else otherwise
