"""Arrays in the form that machine code takes: C order, aligned, this processor's bytes, NumPy's own dtype object."""

from __future__ import annotations

from typing import Any

import numpy as np


def in_native_form(x: Any, dtype: np.dtype) -> np.ndarray:
    """The array itself if it has the form, else a view or a copy that has it."""
    array: np.ndarray = np.require(x, dtype, ("C", "A"))
    return array if array.dtype is dtype else array.view(dtype)
