"""Convolution: windows laid out as a matrix, then one batched matrix product per group."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from kina.sim.dtypes import Array
from kina.sim.kernels.contraction import matrix_product
from kina.sim.kernels.reduction import window_view
from kina.sim.kernels.shaping import pad


def convolution(lhs: Array, rhs: Array, attributes: Mapping[str, Any]) -> Array:
    """`convolution` of StableHLO with all its attributes (empty lists of strides and the like mean ones)."""
    rank = lhs.ndim - 2
    ones, zeros = (1,) * rank, (0,) * (2 * rank)
    strides = attributes["window_strides"] or ones
    padding = attributes["padding"] or zeros
    image = lhs.transpose(
        (
            attributes["input_batch_dimension"],
            attributes["input_feature_dimension"],
            *attributes["input_spatial_dimensions"],
        )
    )
    kernel = rhs.transpose(
        (
            attributes["kernel_output_feature_dimension"],
            attributes["kernel_input_feature_dimension"],
            *attributes["kernel_spatial_dimensions"],
        )
    )
    flips = attributes["window_reversal"] or (False,) * rank
    kernel = kernel[(slice(None), slice(None), *(slice(None, None, -1 if flip else 1) for flip in flips))]
    spread = attributes["lhs_dilation"] or ones
    image = pad(
        image,
        np.zeros((), lhs.dtype),
        {
            "edge_padding_low": (0, 0, *padding[0::2]),
            "edge_padding_high": (0, 0, *padding[1::2]),
            "interior_padding": (0, 0, *(step - 1 for step in spread)),
        },
    )
    gaps = attributes["rhs_dilation"] or ones
    found = _grouped(
        image, kernel, strides, gaps, attributes["feature_group_count"], attributes["batch_group_count"]
    )
    places = (
        attributes["output_batch_dimension"],
        attributes["output_feature_dimension"],
        *attributes["output_spatial_dimensions"],
    )
    return found.transpose(np.argsort(places))


def _grouped(
    image: Array, kernel: Array, strides: tuple[int, ...], gaps: tuple[int, ...], features: int, batches: int
) -> Array:
    """`[n, c, …]` by `[o, i, …]`, both dims of groups handled as one batch of matrix products."""
    n, c = image.shape[:2]
    o, i = kernel.shape[:2]
    window = kernel.shape[2:]
    view = window_view(image, (1, 1, *window), (1, 1, *strides), (1, 1, *gaps))
    places = view.shape[2 : 2 + len(window)]
    view = view.reshape((n, c, *places, *window))
    groups = features * batches
    # one of the two counts is 1: groups split the features of the image, or its batch
    split = view.reshape((batches, n // batches, features, c // features, *places, *window))
    rank = len(window)
    order = (0, 2, 1, *range(4, 4 + rank), 3, *range(4 + rank, 4 + 2 * rank))
    rows = split.transpose(order).reshape((groups, n // batches * prod(places), i * prod(window)))
    columns = kernel.reshape((groups, o // groups, i * prod(window))).swapaxes(1, 2)
    found = matrix_product(rows, columns).reshape((groups, n // batches, *places, o // groups))
    return found.transpose((1, 0, 2 + rank, *range(2, 2 + rank))).reshape((n // batches, o, *places))
