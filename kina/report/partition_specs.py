"""Layouts as `jax.sharding.PartitionSpec`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from kina.arguments import a_text
from kina.diagnostics.finding import SetupError, UnknownNameError
from kina.names import the_one

if TYPE_CHECKING:
    from kina.api import Tensor


class Specs(dict[str, Any]):
    """A dictionary by full names, which also finds an ending of a name that no other of them has.

    To JAX it is a tree, as a dictionary is, of which `jax.tree.map` makes a plain one.
    """

    def __init__(self, specs: dict[str, Any], entry: str) -> None:
        super().__init__(specs)
        self.entry = entry

    def __missing__(self, name: str) -> Any:
        """Raises UnknownNameError, which is a KeyError, if no name ends so, or more than one does."""
        name = a_text("name", name, "the name of a tensor")
        return self[the_one(name, list(self), self.entry, "tensor")]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        """The spec of a name or an ending, `default` if there is none."""
        try:
            return self[name]
        except UnknownNameError:
            return default


def partition_specs(tensors: Iterable[Tensor], entry: str) -> Specs:
    """Name -> PartitionSpec; an axis of a pending sum is `unreduced`, as JAX calls it.

    Raises SetupError without jax, and if a tensor is pending otherwise, for which JAX has no word.
    """
    if importlib.util.find_spec("jax") is None:
        raise SetupError("partition specs are JAX's, which is not installed", "pip install 'kina[xla]'")
    from jax.sharding import PartitionSpec

    _register()
    spec: Any = PartitionSpec
    found = {}
    for tensor in tensors:
        others = [reduction for _, reduction in tensor.pending if reduction != "sum"]
        if others:
            raise SetupError(
                f"`{tensor.name}` is a pending {others[0]}, which JAX's partition specs cannot say"
            )
        dims = [axes[0] if len(axes) == 1 else (axes or None) for axes in tensor.layout]
        unreduced = {axis for axis, _ in tensor.pending}
        found[tensor.name] = spec(*dims, unreduced=unreduced) if unreduced else spec(*dims)
    return Specs(found, entry)


@cache
def _register() -> None:
    """Make it known to JAX, which takes what it does not know for a leaf."""
    from jax.tree_util import register_pytree_node

    def flattened(specs: dict[str, Any]) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        return tuple(specs.values()), tuple(specs)

    def made(names: tuple[str, ...], values: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(names, values, strict=True))

    of_any: Any = Specs
    register_pytree_node(of_any, flattened, made)
