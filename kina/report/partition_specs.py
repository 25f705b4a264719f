"""Layouts as `jax.sharding.PartitionSpec`."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kina.diagnostics.finding import SetupError

if TYPE_CHECKING:
    from kina.api import Tensor


def partition_specs(tensors: Iterable[Tensor]) -> dict[str, Any]:
    """Name -> PartitionSpec; an axis of a pending sum is `unreduced`, as JAX calls it.

    Raises SetupError without jax, and if a tensor is pending otherwise, for which JAX has no word.
    """
    if importlib.util.find_spec("jax") is None:
        raise SetupError("partition specs are JAX's, which is not installed", "pip install 'kina[xla]'")
    from jax.sharding import PartitionSpec

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
    return found
