"""Observations of vectors and their weights, checked, for the maxima of likelihoods that have closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from probdiff.errors import DataError
from probdiff.tree import Array

__all__ = ["scatter_factor", "weighted_rows"]


def weighted_rows(family: Any, x: Any, weights: Any) -> tuple[Array, Array]:
    """Observations, one a row, and weights that add up to one; DataError for what cannot be fitted."""
    owner = family.__name__
    x = np.asarray(x, dtype=float)
    if x.ndim != 2 or not x.size:
        raise DataError(f"{owner}.fit needs a matrix of observations, one a row, got shape {x.shape}.")
    if not np.all(np.isfinite(x)):
        raise DataError(f"{owner}.fit needs finite observations, got NaN or infinity.")
    w = np.ones(len(x)) if weights is None else np.asarray(weights, dtype=float)
    if w.shape != x.shape[:1]:
        raise DataError(f"{owner}.fit needs a weight for each observation, got shape {w.shape} for {len(x)}.")
    if not np.all(w >= 0) or not 0 < np.sum(w) < np.inf:
        raise DataError(f"{owner}.fit needs weights that are nonnegative, finite and not all zero.")
    return x[w > 0], w[w > 0] / np.sum(w)


def scatter_factor(family: Any, residuals: Array, w: Array) -> Array:
    """The Cholesky factor of Σ w r r'; DataError where the observations do not span the space."""
    scatter = (residuals * w[:, None]).T @ residuals
    rank = np.linalg.matrix_rank(residuals * np.sqrt(w)[:, None])
    if rank < scatter.shape[0]:
        raise DataError(
            f"{family.__name__}.fit: the observations lie in {rank} of {scatter.shape[0]} dimensions, where the "
            "likelihood has no maximum. Give more of them, or leave out variables that follow from others."
        )
    return np.linalg.cholesky(scatter)
