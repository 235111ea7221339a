"""Arrays in the form that machine code takes: C order, aligned, the processor's byte order, NumPy's own dtype object."""

from __future__ import annotations

from typing import Any

import numpy as np


def native_dtype(x: Any) -> np.dtype:
    """The dtype of `x` in the processor's byte order, as the one object that NumPy keeps for it.

    Machine code compares dtypes by address. NumPy has others that are equal: np.longlong, and those with metadata.
    """
    return np.dtype(x.dtype.str[1:])


def in_native_form(x: Any, dtype: np.dtype) -> np.ndarray:
    """The array itself if it has the form, else a view or a copy that has it."""
    x = np.require(x, dtype, ("C", "A"))
    return x if x.dtype is dtype else x.view(dtype)
