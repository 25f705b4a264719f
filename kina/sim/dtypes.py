"""Element types: Kina's and MLIR's names, NumPy's types."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

BF16 = np.dtype(ml_dtypes.bfloat16)

#: name in the typed IR or in MLIR text -> NumPy's type
DTYPES: Mapping[str, np.dtype[Any]] = MappingProxyType(
    {
        "f32": np.dtype(np.float32),
        "f64": np.dtype(np.float64),
        "f16": np.dtype(np.float16),
        "bf16": BF16,
        "i8": np.dtype(np.int8),
        "i16": np.dtype(np.int16),
        "i32": np.dtype(np.int32),
        "i64": np.dtype(np.int64),
        "ui8": np.dtype(np.uint8),
        "ui16": np.dtype(np.uint16),
        "ui32": np.dtype(np.uint32),
        "ui64": np.dtype(np.uint64),
        "i1": np.dtype(np.bool_),
        "bool": np.dtype(np.bool_),
    }
)

_NAMES = {dtype: name for name, dtype in DTYPES.items()}


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of an element type in the typed IR, NumPy's own where the IR has none."""
    return _NAMES.get(dtype, str(dtype))


def contiguous(x: Array) -> Array:
    """The array itself if its elements lie in order, else a copy.

    NumPy's own function makes rank 1 of rank 0.
    """
    return x if x.flags.c_contiguous else x.copy()


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype == BF16


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether sums of this type are kept in f32 until the end."""
    return dtype == BF16 or dtype == np.float16
