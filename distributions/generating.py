"""Moment generating and characteristic functions of families that have no formula of them, as expectations."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.distributions.implicit import number
from probdiff.tree import Array

__all__ = ["expected_exponential", "is_bounded"]


def is_bounded(distribution: Any) -> bool:
    """Whether the support has two finite ends, so that all moments exist."""
    ends = (number(distribution.support.lower), number(distribution.support.upper))
    return all(bool(np.all(np.isfinite(end))) for end in ends)


def expected_exponential(distribution: Any, t: Array, factor: complex = 1.0) -> Array:
    """E[exp(factor t X)]; an array of t goes with the batch, or has the results along axes of its own."""
    shape = getattr(t, "shape", ())
    if shape and not distribution.batch_shape:
        each = [expected_exponential(distribution, one, factor) for one in np.ravel(t)]
        return np.reshape(np.stack(each), shape)
    return distribution.expect(lambda x: np.exp(factor * t * x))
