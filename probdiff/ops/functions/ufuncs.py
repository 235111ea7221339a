"""Ufuncs that are no rows of the table themselves: each written in terms of those that are."""

from __future__ import annotations

import numpy as np

from probdiff.ops.dispatch import apply, composed, is_lifted, shape_of, ufuncs
from probdiff.ops.elementwise import rows
from probdiff.tree import Array


def _divmod(x: Array, y: Array) -> tuple[Array, Array]:
    return np.floor_divide(x, y), np.remainder(x, y)


def _logaddexp(x: Array, y: Array) -> Array:
    """log(1 + exp(x)) is a row of its own: its value and its derivative share one exponential."""
    if not is_lifted(x) and not shape_of(x) and x == 0:
        return apply(rows["softplus"], y)
    if not is_lifted(y) and not shape_of(y) and y == 0:
        return apply(rows["softplus"], x)
    return apply(rows["logaddexp"], x, y)


del ufuncs[np.logaddexp]
composed[np.logaddexp] = _logaddexp
composed[np.divmod] = _divmod
composed[np.degrees] = np.rad2deg
composed[np.radians] = np.deg2rad
