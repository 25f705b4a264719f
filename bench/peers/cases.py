"""Small programs whose annotations ask for more than can be; the mesh is x=4.

Each is in `bench/cases`: in Kina, as StableHLO with Shardy's annotations, and in MLIR's `shard` dialect
where that has the ops; and here in JAX, for its explicit mode.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "cases"


@dataclass(frozen=True, slots=True)
class Case:
    """`jax` takes `jax.numpy` and the arguments, which have these shapes and partition specs."""

    name: str
    about: str
    shapes: tuple[tuple[int, ...], ...]
    specs: tuple[tuple[str | None, ...], ...]
    jax: Callable[..., Any]

    def text(self, form: str) -> str:
        """The program as `kina`, `stablehlo.mlir` or `shard.mlir`; empty if it is not there."""
        path = FOLDER / f"{self.name.replace(' ', '_')}.{form}"
        return path.read_text(encoding="utf-8") if path.exists() else ""


CASES = (
    Case(
        "operands",
        "the operands of `add` are split on different dims",
        ((8, 8), (8, 8)),
        (("x", None), (None, "x")),
        lambda jnp, a, b: jnp.exp(a) + jnp.exp(b),
    ),
    Case(
        "batch and weights",
        "rows of the activation and columns of the weight claim one axis in `matmul`",
        ((8, 64), (64, 256)),
        (("x", None), (None, "x")),
        lambda _, a, b: a @ b,
    ),
    Case(
        "uneven",
        "a dim of 63 is split over 4 devices",
        ((63,),),
        (("x",),),
        lambda jnp, a: jnp.exp(a),
    ),
    Case(
        "minor dim of a reshape",
        "a reshape joins a whole dim and a split one behind it",
        ((2, 8),),
        ((None, "x"),),
        lambda jnp, a: jnp.exp(a.reshape(16)),
    ),
)
