"""Linear algebra that differentiates in both modes (SciPy's own functions do not dispatch)."""

from __future__ import annotations

import numpy as np

from probdiff.errors import ShapeError
from probdiff.ops.dispatch import apply, shape_of
from probdiff.ops.linalg import SOLVE_TRIANGULAR
from probdiff.tree import Array


def solve_triangular(a: Array, b: Array, lower: bool = True, transpose: bool = False) -> Array:
    """The z with a z = b (or a^T z = b) for a triangular matrix a of shape (..., n, n).

    b has shape (n,) or (..., n, k). Only the triangle of a is read, and only it has a gradient.
    """
    if len(shape_of(a)) < 2:
        raise ShapeError(f"solve_triangular needs a matrix, got shape {shape_of(a)}")
    if len(shape_of(b)) == 1:
        z = apply(SOLVE_TRIANGULAR, a, np.reshape(b, (-1, 1)), lower=lower, transpose=transpose)
        return np.reshape(z, shape_of(z)[:-1])
    return apply(SOLVE_TRIANGULAR, a, b, lower=lower, transpose=transpose)
